"""Heads of a planted model are found; knocking them out does what it must; going on; bad input."""

import dataclasses
import json

import pytest
import torch
from planted_model import ASKED, BESIDE, HEADS, HOP_1, HOP_2, LAYERS, save_planted_model
from tiny_model import save_tiny_model

from headway import cli
from headway.errors import HeadwayError
from headway.figures import save_figure
from headway.language import LocalModel, best, expectation, questions
from headway_experiments.language_models.figures import draw_heads, draw_relations
from headway_experiments.language_models.knockout import Trial, answers_without
from headway_experiments.language_models.study import Study, is_done, look, summary
from headway_experiments.language_models.tap import tapped


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return str(save_planted_model(tmp_path_factory.mktemp("planted")))


@pytest.fixture(scope="module")
def model(folder):
    return LocalModel(folder)


@pytest.fixture(scope="module")
def study(folder):
    return Study(folder, "equations", 2, n=16, top=(1, 2, 4), random=2)


@pytest.fixture(scope="module")
def done(study, model, tmp_path_factory):
    place = tmp_path_factory.mktemp("study")
    look(study, model, place)
    return place


@pytest.fixture(scope="module")
def found(study, done):
    return summary(study, done)


def test_the_planted_model_answers_and_fails_without_any_of_its_heads(model):
    tried = [Trial("none", 0, frozenset())]
    tried += [Trial("top", 1, frozenset({head})) for head in (HOP_1, HOP_2, BESIDE, ASKED)]
    tried += [Trial("top", 1, frozenset({(layer, 4)})) for layer in range(LAYERS)]
    right = torch.zeros(len(tried))
    for question in questions("equations", 2, count=16):
        answers = answers_without(model, question, tried)
        right += torch.tensor([float(best(one, question) == question.correct) for one in answers])
        assert expectation(answers[0], question) > 0.8
        assert expectation(answers[2], question) == pytest.approx(0.25, abs=0.01)
    assert right[0] == 16
    assert right[1:5].max() <= 10
    assert right[5:].min() == 16


def test_the_ranking_puts_the_planted_heads_first(found):
    first, second, third = found["ranking"][:3]
    named = {(one["layer"], one["head"]): one["relation"] for one in (first, second)}
    assert named == {HOP_1: "answer←s2", HOP_2: "answer←s4"}
    for one in (first, second):
        assert one["attention"] > 0.99
        assert one["others"] < 0.01
    assert third["score"] < 0.02
    assert len(found["ranking"]) == LAYERS * HEADS
    maps = {one["name"]: one for one in found["relations"]}
    for name, (layer, head) in {"s2←s1": BESIDE, "answer←s0": ASKED}.items():
        assert maps[name]["own"][layer][head] > 0.99
    assert maps["answer←s0"]["others"] is None


def test_knocking_out_what_follows_costs_more_than_what_is_drawn(found):
    rows = {(one["kind"], one["top"]): one for one in found["effects"]}
    assert rows["none", 0]["found"]["argmax"][0] == 1
    assert rows["top", 2]["found"]["expectation"][0] == pytest.approx(0.25, abs=0.01)
    for kind in ("matched", "random"):
        for top in (1, 2):
            mean, low, high = rows[kind, top]["top_less"]["expectation"]
            assert low < mean < high < 0
    # The heads of the same layers, but for the best, are there for nothing.
    assert rows["matched", 1]["found"]["argmax"][0] == 1
    assert rows["matched", 2]["found"]["argmax"][0] == 1


def test_hops_are_found_in_their_layers(found):
    text, answer = found["orders"]
    assert [hop["heads"] for hop in answer["hops"]] == [["1.3"], ["2.0"]]
    assert [hop["layer"] for hop in answer["hops"]] == [1, 2]
    assert [hop["heads"] for hop in text["hops"]] == [[], []]
    assert answer["correlation"] is None  # one head a hop is too few to say


@pytest.mark.parametrize("form", ["chat", "completion"])
@pytest.mark.parametrize("ablation", ["knock-out", "uniform"])
@pytest.mark.parametrize("name", ["equations", "lives-with"])
def test_many_trials_at_once_equal_one_after_the_other(tmp_path, form, ablation, name):
    """Against the model's own answers, with a tap that edits one pattern."""
    model = LocalModel(str(save_tiny_model(tmp_path)), form)
    (question,) = questions(name, 1, count=1)
    heads = [frozenset(), frozenset({(0, 1)}), frozenset({(0, 0), (1, 1)})]
    found = answers_without(model, question, [Trial("top", 1, one) for one in heads], ablation)
    for out, one in zip(heads, found, strict=True):

        def edit(layer, pattern, out=out):
            edited = pattern.clone()
            queries, keys = pattern.shape[-2:]
            for head in range(pattern.shape[1]):
                if (layer, head) not in out:
                    continue
                edited[:, head] = 0
                for query in range(queries if ablation == "uniform" else 0):
                    seen = keys - queries + query + 1
                    edited[:, head, query, :seen] = 1 / seen
            return edited

        with tapped(model.model, edit):
            expected = model.answers(question)
        assert one.said == pytest.approx(expected.said, abs=1e-3)
        assert one.ended == pytest.approx(expected.ended, abs=1e-3)
    assert found[0].said != pytest.approx(found[1].said, abs=1e-3)


class Stopping:
    """Stops after so many questions."""

    def __init__(self, after):
        self.left = after

    def __call__(self, *told):
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt


def whole_lines(path):
    """Those that end, as plain data."""
    text = path.read_text() if path.exists() else ""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def without_times(folder):
    return [
        [{k: v for k, v in line.items() if k != "seconds"} for line in whole_lines(folder / name)]
        for name in ("attention.jsonl", "without.jsonl")
    ]


@pytest.mark.parametrize("after", [1, 10, 16, 20])
def test_a_study_that_stops_goes_on_where_it_was(study, model, done, tmp_path, after):
    with pytest.raises(KeyboardInterrupt):
        look(study, model, tmp_path, Stopping(after))
    assert not is_done(study, tmp_path)
    kept = [(tmp_path / name) for name in ("attention.jsonl", "without.jsonl")]
    assert sum(len(whole_lines(path)) for path in kept) == after
    with kept[after > 16].open("a") as file:
        file.write('{"number": 1')  # as a kill leaves it
    told = []
    look(study, model, tmp_path, lambda *words: told.append(words))
    assert len(told) == 16 + 8 - after
    assert told[-1] == (8, 8, "knocked out on")
    assert is_done(study, tmp_path)
    assert without_times(tmp_path) == without_times(done)


def words(folder, place, *more):
    given = {"--model": folder, "--n": "16", "--random": "2", "--threads": "1"}
    given |= {"--folder": str(place)} | dict(zip(more[::2], more[1::2], strict=True))
    return ["heads", *(word for option in given.items() for word in option)]


def test_the_command_tells_draws_and_draws_again(folder, tmp_path, capsys, monkeypatch):
    place = tmp_path / "out"
    cli.main(words(folder, place))
    told = capsys.readouterr().out
    told_lines = [line for line in told.splitlines()[2:] if str(tmp_path) not in line]
    assert max(map(len, told_lines)) <= 80
    assert "answer←s2" in told
    assert "top 3" in told
    assert "order of hops and layers: too few heads to say" in told
    names = ("heads.json", "heads.svg", "heads.png", "relations.svg", "relations.png")
    first = [(place / name).read_bytes() for name in names]
    found = json.loads(first[0])
    assert found["environment"]["torch"] == torch.__version__
    assert {one["top"] for one in found["effects"]} == {0, 1, 3}
    for name in names:
        (place / name).unlink()

    def refuse(*_):
        raise AssertionError("the model is not needed again")

    monkeypatch.setattr("headway.language.local.LocalModel.__init__", refuse)
    cli.main(words(folder, place))
    assert [(place / name).read_bytes() for name in names] == first
    again = capsys.readouterr().out
    assert told.endswith(again)  # what comes before is loading, and how far it is


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--formulation", "riddles"], "formulation = 'riddles'"),
        (["--formulation", "relatives"], "formulation = 'relatives' is not allowed"),
        (["--depth", "7"], "depth = 7 is not allowed: it must be from 1 to 6"),
        (["--chains", "1"], "chains = 1 is not allowed"),
        (["--n", "3"], "n = 3 is not allowed: it must be a whole number of at least 16"),
        (["--random", "0"], "random = 0 is not allowed"),
        (["--top", "0"], "top = 0 is not allowed"),
        (["--top", "many"], "top = 'many' is not allowed"),
        (["--top", "1,10"], "top = 10 is not allowed: it must be from 1 to 9, half of the 18"),
        (["--threads", "0"], "threads = 0 is not allowed"),
        (["--depth", "6"], "does not fit into the 64 of"),
        (["--form", "chat"], "form = 'chat' is not allowed"),
    ],
)
def test_bad_input_is_one_clear_line_and_nothing_is_written(folder, more, said, tmp_path, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(words(folder, tmp_path / "out", *more))
    assert stop.value.code == 2
    complaint = capsys.readouterr().err
    assert said in complaint
    assert len(complaint.strip().splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_a_folder_holds_one_study(study, model, done, folder):
    other = Study(folder, "equations", 2, n=16, top=(1, 2, 4), random=2, seed=1)
    with pytest.raises(HeadwayError, match=r"^seed = 1 is not allowed: it must be 0, as in"):
        look(other, model, done)


def test_a_models_name_is_not_cut_at_a_dot(study, done):
    named = dataclasses.replace(study, model="models/tiny-2.5-0B")
    assert summary(named, done)["model"] == "tiny-2.5-0B"


def test_a_model_that_is_not_finite_is_refused_before_anything_is_written(tmp_path):
    model = LocalModel(str(save_planted_model(tmp_path)))
    next(model.model.parameters()).data.fill_(torch.nan)
    one = Study(str(tmp_path), "equations", 2, n=16, top=(1,))
    with pytest.raises(HeadwayError, match=r"^the model answers with values that are not finite"):
        look(one, model, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_figures_are_drawn_alike_each_time_and_name_what_they_show(found, tmp_path):
    for draw in (draw_heads, draw_relations):
        for name in ("a.svg", "b.svg"):
            save_figure(draw(found), tmp_path / name, "Heads")
        text = (tmp_path / "a.svg").read_text()
        assert text == (tmp_path / "b.svg").read_text()
        shown = ("from the text", "argmax right", "the best heads", "hop 2", "layer")
        for words in shown if draw is draw_heads else [one["name"] for one in found["relations"]]:
            assert words in text
