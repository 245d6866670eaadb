"""Asking a local model: exact probabilities, the paper's protocol, and going on where
it was.
"""

import json
import math
import re
from pathlib import Path

import pytest
import torch
from tiny_model import in_full, save_tiny_model
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from commands import python, refused
from headway.errors import HeadwayError
from headway.intervals import wilson
from headway.terminal import cli
from headway_experiments.language import (
    FORMULATIONS,
    Asked,
    Cell,
    LocalModel,
    answered,
    ask_local,
    cells,
    questions,
)
from headway_experiments.language.loading import PACKAGED, located


def test_the_room_loads_no_library_of_language_models_before_one_is_asked():
    libraries = "transformers gguf inspect_ai openai"
    code = f"""
import sys, headway_experiments.language
print([name for name in "{libraries}".split() if name in sys.modules])
"""
    assert python(code) == "[]\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_tiny_model(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def model(folder):
    return LocalModel(str(folder))


@pytest.mark.parametrize("form", ["chat", "completion"])
@pytest.mark.parametrize("name", ["equations", "lives-with", "relatives"])
def test_the_probabilities_are_those_of_whole_texts(folder, form, name):
    """Answer by answer, without a cache."""
    model = LocalModel(str(folder), form)
    (question,) = questions(name, 1, count=1)
    said, ended = in_full(model, question)
    assert model.answers(question)[0] == pytest.approx(said, abs=1e-3)
    assert model.answers(question)[1] == pytest.approx(ended, abs=1e-3)


def asked(folder, **more):
    what = {"form": "chat", "places": (("equations", 1), ("functions", 2)), "n": 4}
    return Asked(str(folder), **{**what, **more})


@pytest.fixture
def counting(model, monkeypatch):
    """Ask the module's model; count how often, and interrupt what is asked further."""

    class Counting:
        device = model.device
        count = 0
        stop_after = None

        def answers(self, question):
            if self.count == self.stop_after:
                raise KeyboardInterrupt
            self.count += 1
            return model.answers(question)

    made = Counting()
    monkeypatch.setattr(
        "headway_experiments.language.asking.LocalModel", lambda *_, **__: made
    )
    return made


def without_times(replies):
    return [{**vars(reply), "seconds": 0} for reply in replies]


def test_an_asking_that_stops_goes_on_where_it_was(counting, folder, tmp_path):
    whole = ask_local(asked(folder), tmp_path / "whole")
    counting.stop_after = 3
    counting.count = 0
    with pytest.raises(KeyboardInterrupt):
        ask_local(asked(folder), tmp_path / "parts")
    with (tmp_path / "parts" / "asked.jsonl").open("a") as file:
        file.write('{"formulation": "equ')  # as a kill leaves it
    counting.stop_after = None
    counting.count = 0
    watched = []
    told = ask_local(
        asked(folder), tmp_path / "parts", lambda *done: watched.append(done)
    )
    assert counting.count == 8 - 3
    assert watched == [(n, 8) for n in range(4, 9)]
    assert without_times(told) == without_times(whole)
    ask_local(asked(folder), tmp_path / "parts")
    assert counting.count == 8 - 3


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (
            {"seed": 1},
            "^seed = 1 is not allowed: it must be 0, as in .*, or in another --folder$",
        ),
        ({"form": None}, "^form = None is not allowed: it must be 'chat', as in "),
        (
            {"places": (("equations", 2),)},
            r"^places = \[\['equations', 2\]\] is not allowed: ",
        ),
    ],
)
def test_a_folder_holds_one_asking(counting, folder, tmp_path, other, said):
    ask_local(asked(folder), tmp_path)
    with pytest.raises(HeadwayError, match=said):
        ask_local(asked(folder, **other), tmp_path)


def test_cells_sum_up_what_was_answered(counting, folder, tmp_path):
    replies = ask_local(asked(folder), tmp_path)
    first, second = cells(replies)
    assert first.formulation == "equations"
    assert first.depth == 1
    assert first.count == 4
    assert first.chance == 0.25
    assert first.majority == 0.25
    assert first.argmax == sum(one.argmax == one.correct for one in replies[:4]) / 4
    assert second.expectation == pytest.approx(
        sum(x.expectation for x in replies[4:]) / 4
    )
    one = replies[0]
    ends = [math.exp(log_p) for log_p in replies[0].ended]
    assert one.expectation == pytest.approx(ends[one.rank] / sum(ends), abs=1e-4)
    assert first.interval("argmax") == wilson(4 * first.argmax, 4)


def test_the_command_asks_and_goes_on(folder, tmp_path, capsys):
    words = ["ask", "--model", str(folder), "--formulation", "equations", "kingdoms"]
    words += [
        "--depth",
        "1..2",
        "--n",
        "3",
        "--folder",
        str(tmp_path / "out"),
        "--threads",
        "1",
    ]
    cli.main(words)
    told = capsys.readouterr().out
    assert "equations" in told
    assert "–" in told
    kept = json.loads((tmp_path / "out" / "cells.json").read_text())
    assert [(cell["formulation"], cell["depth"]) for cell in kept["cells"]] == [
        ("equations", 1),
        ("equations", 2),
        ("kingdoms", 1),
        ("kingdoms", 2),
    ]
    kept_lines = (tmp_path / "out" / "asked.jsonl").read_bytes()
    cli.main([*words[:4], "equations,kingdoms", *words[6:]])
    assert (tmp_path / "out" / "asked.jsonl").read_bytes() == kept_lines


def test_a_model_without_enough_context_says_so(tmp_path):
    model = LocalModel(str(save_tiny_model(tmp_path, positions=64)))
    (question,) = questions("equations", 5, count=1)
    with pytest.raises(HeadwayError, match=r"does not fit into the 64 of"):
        model.answers(question)


def test_packaged_weights_are_checked(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADWAY_CACHE", str(tmp_path))
    weights = PACKAGED["smollm2"]
    kept = tmp_path / weights.sha256[:12] / "SmolLM2-135M-Instruct.Q4_1.gguf"
    kept.parent.mkdir()
    kept.write_bytes(b"GGUF, cut off")
    with pytest.raises(
        HeadwayError, match=r"is not the file that is meant: its SHA-256"
    ):
        located("smollm2")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda line: line.pop("said"), "asked.jsonl, line 2: said is missing"),
        (
            lambda line: line.update(rank="x"),
            "asked.jsonl, line 2: rank = 'x' is not allowed",
        ),
        (
            lambda line: line.update(number=0),
            "asked.jsonl, line 2 is not what is asked there",
        ),
    ],
)
def test_replies_that_are_damaged_are_one_clear_line(
    counting, folder, tmp_path, change, said
):
    ask_local(asked(folder), tmp_path)
    path = tmp_path / "asked.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    change(lines[1])
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    with pytest.raises(HeadwayError, match=said):
        answered(asked(folder), tmp_path)


def test_answers_that_are_not_finite_are_refused_before_anything_is_written(tmp_path):
    folder = tmp_path / "model"
    place = tmp_path / "out"
    save_tiny_model(folder)
    model = LocalModel(str(folder))
    next(model.model.parameters()).data.fill_(torch.nan)
    model.model.save_pretrained(folder)
    with pytest.raises(HeadwayError):
        ask_local(asked(folder), place)
    assert not place.exists()
    (question,) = questions("equations", 1, count=1)
    with pytest.raises(
        HeadwayError, match=r"^the model answers with values that are not finite"
    ):
        model.answers(question)
    ledger = asked(folder).ledger(place)
    with ledger.writing("cpu"):
        ledger.add({"fine": 1.0})
        for value in (math.nan, -math.inf):
            with pytest.raises(HeadwayError, match=r"cannot write .*asked\.jsonl"):
                ledger.add({"said": [0.0, value]})
        assert ledger.lines() == [{"fine": 1.0}]


def config_of(folder, **more):
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **more}))


EVIL = """
from pathlib import Path
Path(__file__).with_name("ran").write_text("")
Path({mark!r}).write_text("")
from transformers import GPT2Config as Config, GPT2LMHeadModel as Model
"""


def test_the_python_of_a_models_folder_is_not_run(tmp_path, monkeypatch):
    folder = tmp_path / "model"
    mark = tmp_path / "ran"
    save_tiny_model(folder)
    (folder / "evil.py").write_text(EVIL.format(mark=str(mark)))
    auto = {"AutoConfig": "evil.Config", "AutoModelForCausalLM": "evil.Model"}
    config_of(folder, model_type="evil", auto_map=auto)
    inputs = []
    monkeypatch.setattr("builtins.input", lambda *words: inputs.append(words) or "y")
    with pytest.raises(HeadwayError, match="cannot be loaded"):
        LocalModel(str(folder))
    assert not inputs
    assert not mark.exists()


def test_pickled_weights_are_not_loaded(tmp_path):
    save_tiny_model(tmp_path)
    (tmp_path / "model.safetensors").rename(tmp_path / "pytorch_model.bin")
    with pytest.raises(HeadwayError, match="cannot be loaded"):
        LocalModel(str(tmp_path))


@pytest.mark.parametrize("named", ["sdpa", "flash_attention_2", "somebody/kernels", 7])
def test_attention_is_eager_whatever_a_folder_says(tmp_path, named):
    """A kernel of a hub is a program, too."""
    save_tiny_model(tmp_path)
    config_of(tmp_path, _attn_implementation=named)
    assert LocalModel(str(tmp_path)).model.config._attn_implementation == "eager"


@pytest.mark.parametrize("known", ["", "a is 1. b is a. What is b?"])
def test_a_tokenizer_that_lacks_words_is_one_line(tmp_path, known):
    save_tiny_model(tmp_path, template=None)
    vocab = {word: i for i, word in enumerate(["<end>", *dict.fromkeys(known.split())])}
    made = Tokenizer(models.WordLevel(vocab))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<end>").save_pretrained(
        tmp_path
    )
    complaint = refused(
        "ask", "--model", tmp_path, "--n", "1", "--folder", tmp_path / "out"
    )
    assert re.search(r"the tokenizer of .* cannot read '(a is 1|\w = )", complaint)
    assert not (tmp_path / "out").exists()


ROOT = Path(__file__).parents[2]
RESULTS = sorted((ROOT / "results" / "language_models").glob("*.json"))


def first_look_up(cell):
    """The page's words on a cell of depth 1: the share that is right by argmax, and
    guessing.
    """
    low, high = cell["intervals"]["argmax"]
    return f"{cell['argmax']:.2f} ({low:.2f}–{high:.2f})", f"{cell['chance']:.2f}"


@pytest.fixture(params=RESULTS, ids=lambda path: path.stem)
def result(request):
    return json.loads(request.param.read_text())


def test_the_page_has_what_one_look_up_gives(result):
    page = (ROOT / "docs" / "language-models.md").read_text(encoding="utf-8")
    cells = [cell for cell in result["cells"] if cell["depth"] == 1]
    assert {cell["formulation"] for cell in cells} == set(FORMULATIONS)
    for cell in cells:
        (row,) = re.findall(
            rf"^\| {cell['formulation']} \| [01]\.\d.*", page, re.MULTILINE
        )
        for part in first_look_up(cell):
            assert part in row


def test_intervals_and_chance_are_those_of_the_counts(result):
    for told in result["cells"]:
        fields = {name: value for name, value in told.items() if name != "intervals"}
        cell = Cell(**fields)
        assert json.loads(json.dumps(cell.to_json())) == told
        assert told["chance"] == 1 / FORMULATIONS[cell.formulation].answers(cell.chains)
