"""Prompts on a local model, from the command line and from Python."""

import json

import pytest
from tiny_model import save_tiny_model

from headway import HeadwayError
from headway.training.files import read_json
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
