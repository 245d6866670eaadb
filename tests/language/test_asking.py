"""Asking a local model: exact probabilities, the paper's protocol, and going on where it was."""

import json
import math

import pytest
import torch
from tiny_model import save_tiny_model

from headway import cli
from headway.errors import HeadwayError
from headway.intervals import wilson
from headway.language import questions
from headway.language.accuracy import cells
from headway.language.asking import Asked, answered, ask
from headway.language.formulations import places
from headway.language.local import Answers, LocalModel, best, expectation
from headway.language.weights import PACKAGED, located


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
    found = model.answers(question)
    prompt = model.prompt(question)
    options, _ = model.options(question)
    for option, said, ended in zip(options, found.said, found.ended, strict=True):
        answer = torch.tensor(option)
        with torch.no_grad():
            logits = model.model(torch.cat([prompt, answer])[None]).logits[0].log_softmax(-1)
        before = logits[len(prompt) - 1 : -1]
        expected = before.gather(1, answer[:, None]).sum().item()
        assert said == pytest.approx(expected, abs=1e-3)
        stop = logits[-1].exp()[model.stops].sum().log().item()
        assert ended == pytest.approx(expected + stop, abs=1e-3)


@pytest.mark.parametrize("form", ["chat", "completion"])
def test_what_is_kept_changes_no_answer(folder, form):
    fresh, keeping = (LocalModel(str(folder), form, keep=keep) for keep in (False, True))
    for question in questions("lives-with", 2, count=3):
        for _ in range(2):
            expected, told = fresh.answers(question), keeping.answers(question)
            assert told.said == pytest.approx(expected.said, abs=1e-4)
            assert told.ended == pytest.approx(expected.ended, abs=1e-4)
        drawn = [
            model.sample(question, 20, torch.Generator().manual_seed(1))
            for model in (fresh, keeping)
        ]
        assert drawn[0] == drawn[1]


def test_the_forms_ask_as_they_say(folder):
    (question,) = questions("equations", 1, count=1)
    chat, completion = (LocalModel(str(folder), form) for form in ("chat", "completion"))
    assert chat.tokenizer.decode(chat.prompt(question)) == f"<{question.prompt}>="
    told = completion.tokenizer.decode(completion.prompt(question))
    assert told == f"{question.prompt}\nAnswer:"
    for model, lead in ((chat, ""), (completion, " ")):
        options = map(model.tokenizer.decode, model.options(question)[0])
        assert list(options) == [f"{lead}{text}" for text in question.acceptable]


def test_exact_expectation_is_what_the_protocol_comes_to(model):
    """5 000 draws of each of four questions: of those that are acceptable, as many are right as
    expected, and as many are acceptable as are expected to be."""
    kept = right = expected_right = expected_kept = 0.0
    for seed in range(4):
        (question,) = questions("equations", 2, count=1, seed=seed)
        answers = model.answers(question)
        drawn = model.sample(question, 5_000, torch.Generator().manual_seed(seed))
        acceptable = [text for text in drawn if text in question.acceptable]
        kept += len(acceptable)
        right += acceptable.count(question.correct)
        expected_right += len(acceptable) * expectation(answers, question)
        expected_kept += 5_000 * math.exp(torch.tensor(answers.ended).logsumexp(0).item())
    low, high = wilson(right, int(kept))
    assert low <= expected_right / kept <= high
    assert high - low < 0.05
    low, high = wilson(kept, 20_000)
    assert low <= expected_kept / 20_000 <= high


def test_the_best_answer_and_the_expected_one_are_told_apart():
    (question,) = questions("equations", 1, count=1)
    right = question.acceptable.index(question.correct)
    said, ended = [-9.0] * 4, [-9.0] * 4
    said[right], ended[right - 1] = -1.0, -1.0
    answers = Answers(said, ended)
    assert best(answers, question) == question.correct
    assert expectation(answers, question) < 0.01
    assert expectation(Answers(said, [-math.inf] * 4), question) == 0


def asked(folder, **more):
    places = (("equations", 1), ("functions", 2))
    return Asked(str(folder), "chat", places, n=4, sampled=2, draws=50, **more)


class Counting:
    """A model that counts how often it is asked, and may be interrupted."""

    def __init__(self, model, stop_after=None):
        self.model, self.stop_after, self.count = model, stop_after, 0
        self.device = model.device

    def answers(self, question):
        if self.count == self.stop_after:
            raise KeyboardInterrupt
        self.count += 1
        return self.model.answers(question)

    def sample(self, *args):
        return self.model.sample(*args)


def without_times(lines):
    return [{k: v for k, v in line.items() if k != "seconds"} for line in lines]


def test_an_asking_that_stops_goes_on_where_it_was(model, folder, tmp_path):
    whole = ask(asked(folder), model, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        ask(asked(folder), Counting(model, 3), tmp_path / "parts")
    with (tmp_path / "parts" / "asked.jsonl").open("a") as file:
        file.write('{"formulation": "equ')  # as a kill leaves it
    rest = Counting(model)
    told = ask(asked(folder), rest, tmp_path / "parts")
    assert rest.count == 8 - 3
    assert without_times(told) == without_times(whole)


def test_a_folder_holds_one_asking(model, folder, tmp_path):
    ask(asked(folder), model, tmp_path)
    with pytest.raises(HeadwayError, match=r"^seed = 1 is not allowed: it must be 0, as in"):
        ask(asked(folder, seed=1), model, tmp_path)


def test_cells_sum_up_what_was_answered(model, folder, tmp_path):
    lines = ask(asked(folder), model, tmp_path)
    first, second = cells(lines)
    assert (first.formulation, first.depth, first.count) == ("equations", 1, 4)
    assert first.chance == first.majority == 0.25
    right = [line["argmax"] == line["correct"] for line in lines[:4]]
    assert first.argmax == sum(right) / 4
    assert second.expectation == pytest.approx(sum(x["expectation"] for x in lines[4:]) / 4)
    assert (first.drawn, second.drawn) == (2, 2)
    known = [{**line, "sampled": line["correct"], "draws": 1} for line in lines[:2]] + lines[2:4]
    (cell,) = cells(known)
    assert (cell.sampled, cell.unanswered) == (1, 0)
    assert cell.interval("sampled") == wilson(2, 2)
    drawn = [line for line in lines[:4] if line["draws"] is not None]
    assert [line["number"] for line in drawn] == [0, 1]
    assert first.unanswered == sum(line["sampled"] is None for line in drawn) / 2


def test_relatives_are_nearer_than_all_places():
    (question,) = questions("relatives", count=1)
    assert len(question.acceptable) == 16
    assert len(question.nearer) == 4


@pytest.mark.parametrize(
    ("right", "count", "low", "high"),
    [(0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (50, 100, 0.4038, 0.5962)],
)
def test_intervals_are_wilsons(right, count, low, high):
    assert wilson(right, count) == (pytest.approx(low, abs=1e-4), pytest.approx(high, abs=1e-4))


def test_the_command_asks_and_goes_on(folder, tmp_path, capsys):
    words = ["ask", "--model", str(folder), "--formulation", "equations", "kingdoms"]
    words += ["--depth", "1..2", "--n", "3", "--folder", str(tmp_path / "out"), "--threads", "1"]
    cli.main(words)
    told = capsys.readouterr().out
    assert "equations" in told
    assert "–" in told
    kept = json.loads((tmp_path / "out" / "cells.json").read_text())
    assert [(cell["formulation"], cell["depth"]) for cell in kept["cells"]] == [
        *(("equations", 1), ("equations", 2)),
        *(("kingdoms", 1), ("kingdoms", 2)),
    ]
    kept_lines = (tmp_path / "out" / "asked.jsonl").read_bytes()
    cli.main([*words[:4], "equations,kingdoms", *words[6:]])
    assert (tmp_path / "out" / "asked.jsonl").read_bytes() == kept_lines


def test_an_interrupted_command_says_how_to_go_on_and_does(folder, tmp_path, capsys, monkeypatch):
    words = ["ask", "--model", str(folder), "--formulation", "equations", "--depth", "1"]
    words += ["--n", "4", "--folder", str(tmp_path / "out")]
    known, asked_about = LocalModel.answers, []

    def interrupted(model, question):
        if len(asked_about) == 2:
            raise KeyboardInterrupt
        asked_about.append(question)
        return known(model, question)

    with monkeypatch.context() as patch:
        patch.setattr(LocalModel, "answers", interrupted)
        with pytest.raises(SystemExit) as stop:
            cli.main(words)
    assert stop.value.code == 130
    complaint = capsys.readouterr().err
    assert "headway: interrupted" in complaint
    assert "headway ask" in complaint
    path = tmp_path / "out" / "asked.jsonl"
    before = path.read_text().splitlines()
    assert len(before) == 2
    assert not (tmp_path / "out" / "cells.json").exists()
    cli.main(words)
    assert path.read_text().splitlines()[:2] == before
    assert len(path.read_text().splitlines()) == 4


def bad(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.gguf").write_text("no weights")
    (tmp_path / "cut.gguf").write_bytes(b"GGUF" + bytes(40))
    return {
        str(tmp_path / "nothing"): "a GGUF file or a folder",
        str(tmp_path / "empty"): "a folder with a config.json",
        str(tmp_path / "text.gguf"): "a GGUF file or a folder",
        str(tmp_path / "cut.gguf"): "cannot be loaded",
    }


def test_what_is_no_model_is_one_clear_line(tmp_path, capsys):
    for name, said in bad(tmp_path).items():
        with pytest.raises(SystemExit) as stop:
            cli.main(["ask", "--model", name, "--n", "1", "--folder", str(tmp_path / "out")])
        assert stop.value.code == 2
        complaint = capsys.readouterr().err
        assert said in complaint
        assert len(complaint.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--formulation", "riddles"], "it must be one of equations, lives-with, kingdoms, func"),
        (["--formulation", "equations", "--depth", "7"], "depth = 7 is not allowed"),
        (["--formulation", "equations", "--chains", "40"], "chains = 40 is not allowed"),
        (["--chains", "0"], "chains = 0 is not allowed: it must be from 1 to 26 for equations"),
        (["--formulation", "functions", "--chains", "1"], "chains = 1 is not allowed"),
        (["--n", "0"], "n = 0 is not allowed"),
        (["--threads", "0"], "threads = 0 is not allowed"),
        (["--depth", "deep"], "depth = 'deep' is not allowed"),
    ],
)
def test_bad_input_is_told_before_anything_is_loaded(words, said, tmp_path, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["ask", *words, "--folder", str(tmp_path / "out")])
    assert stop.value.code == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_model_without_enough_context_says_so(tmp_path):
    model = LocalModel(str(save_tiny_model(tmp_path, positions=64)))
    (question,) = questions("equations", 5, count=1)
    with pytest.raises(HeadwayError, match=r"does not fit into the 64 of"):
        model.answers(question)


def test_a_model_without_a_template_completes(tmp_path):
    folder = str(save_tiny_model(tmp_path, template=None))
    assert LocalModel(folder).form == "completion"
    with pytest.raises(HeadwayError, match=r"^form = 'chat' is not allowed"):
        LocalModel(folder, "chat")


def test_packaged_weights_are_checked(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADWAY_CACHE", str(tmp_path))
    weights = PACKAGED["smollm2"]
    kept = tmp_path / weights.sha256[:12] / "SmolLM2-135M-Instruct.Q4_1.gguf"
    kept.parent.mkdir()
    kept.write_bytes(b"GGUF, cut off")
    with pytest.raises(HeadwayError, match=r"is not the file that is meant: its SHA-256"):
        located("smollm2")


def test_answers_that_lack_a_field_are_one_clear_line(folder, tmp_path):
    asked = Asked(str(folder), None, places(("equations",), (1,), 4), n=2)
    ledger = asked.ledger(tmp_path)
    with ledger.writing("cpu"):
        ledger.add({"formulation": "equations", "number": 0})
    with pytest.raises(HeadwayError, match=r"asked.jsonl is corrupted .*'depth'"):
        answered(asked, tmp_path)
