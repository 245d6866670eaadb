"""Prompts on a local model, from the command line and from Python."""

import json

import pytest
from tiny_model import save_tiny_model

from headway import HeadwayError
from headway.find import gap_of
from headway.tasks.prompts import pairs_in
from headway.training.files import read_json
from headway_experiments.language import LocalModel, prompts_of, study_prompts
from headway_experiments.verbs.language import prompts

TEMPLATE = """
clean = "a{X}b{Y}c"
corrupted = "a{Z}b{Y}c"
right = "{X}"
wrong = "{Z}"
count = 32
[lists]
X = ["1", "2", "3", "4"]
Y = ["5", "6", "7", "8"]
Z = ["1", "2", "3", "4"]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_tiny_model(str(tmp_path_factory.mktemp("model")), template=None)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(TEMPLATE.replace("count = 32", "count = 16"))
    return path


def test_the_verb_says_what_there_is_to_explain_and_leaves_all_of_it(
    folder, file, tmp_path, capsys
):
    out = tmp_path / "found.json"
    prompts(file, model=folder, sequences=8, out=out, metric="loss")
    shown = capsys.readouterr().out
    assert "the right answer is likelier than the wrong one in" in shown
    assert "direct effect on" in shown
    found = read_json(out)
    assert found["file"] == "own.toml"
    parts = {"gap", "kept", "circuit", "cuts", "others", "direct"}
    assert set(found) == {"model", "file", *parts}
    assert found["gap"]["pairs"] == 8
    named = {
        head
        for head, does in found["circuit"]["circuit"].items()
        if does != "exchanged"
    }
    assert {cut["head"] for cut in found["cuts"]} == named
    others = {cut["head"] for cut in found["others"]}
    assert others
    assert not others & named
    assert "likeliest heads beside the circuit" in " ".join(shown.split())


def test_logits_are_computed_where_texts_end_and_are_the_same(folder, file):
    local = LocalModel(folder, "completion")
    task = prompts_of(local, pairs_in(file), metric="loss")
    whole = gap_of(local.model, task, 8)
    shapes = []
    hook = local.model.register_forward_hook(
        lambda _, __, output: shapes.append(output.logits.shape[1])
    )
    study = study_prompts(local, task, 8)
    hook.remove()
    assert set(shapes) == {1}
    assert study.gap.clean == pytest.approx(whole.clean, abs=1e-5)
    assert not local.model._forward_pre_hooks  # pyright: ignore[reportPrivateUsage]
    assert gap_of(local.model, task, 8) == whole


def test_what_cannot_be_is_refused_in_one_line(folder, file, tmp_path):
    with pytest.raises(HeadwayError, match="sequences = 4"):
        prompts(file, model=folder, sequences=4)
    with pytest.raises(HeadwayError, match=r"ends in .json"):
        prompts(file, model=folder, out=tmp_path / "found.txt")
    pair = {"clean": "ab", "corrupted": "aé", "right": "c", "wrong": "d"}
    lines = tmp_path / "own.jsonl"
    lines.write_text(json.dumps(pair))
    with pytest.raises(HeadwayError):
        prompts(lines, model=folder)
