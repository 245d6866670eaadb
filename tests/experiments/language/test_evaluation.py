"""The five tasks of Inspect AI, asked of its mock provider."""

import pytest

pytest.importorskip("inspect_ai", reason="needs the extra `llm`")

from inspect_ai.model._providers.mockllm import MockLLM
from inspecting import QUIET, Mock, asked, metrics, run

from headway.errors import HeadwayError
from headway.intervals import wilson
from headway_experiments.language.inspecting import depths_of

pytestmark = QUIET

CACHED = {"cache": True}
NAMES = ("equations", "lives-with", "kingdoms", "functions", "relatives")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("INSPECT_CACHE_DIR", str(tmp_path / "cache"))


@pytest.mark.parametrize("name", NAMES)
def test_every_formulation_is_a_task(name, tmp_path):
    known = asked(name, n=3)
    mock = Mock(lambda prompt, before: f"{known[prompt].correct}.\n")
    log = run(name, mock, tmp_path, n=3)
    assert log.status == "success"
    assert log.eval.task == f"headway/{name}"
    assert [sample.input for sample in log.samples] == list(known)
    found = metrics(log)
    assert found["accuracy"] == 1
    assert found["draws"] == 1
    assert found["unanswered"] == 0
    (question, *_) = known.values()
    assert found["chance"] == pytest.approx(1 / len(question.acceptable))
    assert mock.temperatures == {1.0}


def test_a_question_is_asked_anew_until_the_answer_is_acceptable(tmp_path):
    """Of four questions one is right at once, one is wrong, one is right at the third
    draw, and one is never answered."""
    known = asked("equations", (2,))
    first, second, third, fourth = known

    def says(prompt, before):
        question = known[prompt]
        wrong = next(text for text in question.acceptable if text != question.correct)
        if prompt == fourth or (prompt == third and before < 2):
            return f"It is {question.correct}, I think"
        return wrong if prompt == second else question.correct

    mock = Mock(says)
    log = run("equations", mock, tmp_path, d=2, n=4, draws=7)
    assert mock.asked == {first: 1, second: 1, third: 3, fourth: 7}
    for said in mock.conversations:
        assert said == [said[0]]
        assert said[0] in known
    values = {
        sample.input: sample.scores["acceptable_answer"] for sample in log.samples
    }
    assert [values[prompt].value for prompt in known] == ["C", "I", "C", "N"]
    assert [values[prompt].metadata["draws"] for prompt in known] == [1, 1, 3, 7]
    assert "no acceptable answer in 7 draws" in values[fourth].explanation
    found = metrics(log)
    assert found["accuracy"] == 2 / 4
    assert found["of_answered"] == 2 / 3
    assert found["unanswered"] == 1 / 4
    assert found["draws"] == (1 + 1 + 3 + 7) / 4
    assert (found["accuracy_low"], found["accuracy_high"]) == wilson(2, 4)


@pytest.mark.parametrize("d", [["1", "2", "3"], "1..3"])
def test_depths_are_told_apart(d, tmp_path):
    """As the command line gives them: a list of strings, or a range."""
    known = asked("equations", (1, 2, 3), n=2)
    mock = Mock(
        lambda prompt, _: known[prompt].correct if known[prompt].depth < 3 else "none"
    )
    found = metrics(run("equations", mock, tmp_path, d=d, n=2, draws=2))
    assert [found[f"D={d} accuracy"] for d in (1, 2, 3)] == [1, 1, 0]
    assert [found[f"D={d} unanswered"] for d in (1, 2, 3)] == [0, 0, 1]
    assert found["accuracy"] == 4 / 6
    assert found["questions"] == 6
    assert "D=2 of_answered" in found
    assert "D=3 of_answered" not in found  # there is no share of what there is none of


@pytest.mark.parametrize("d", ["x", "", "4..2", 1.5, True, [1, None], [], {"1": 2}])
def test_what_is_no_depth_is_said(d):
    with pytest.raises(HeadwayError, match=r"^d = .* is not allowed: it must be "):
        depths_of(d, 5)


def test_a_cached_evaluation_makes_no_new_calls(tmp_path):
    """Every draw is kept by itself: the second is not answered with the first."""
    known = asked("kingdoms", (1,), n=5)
    says = {prompt: number for number, prompt in enumerate(known)}
    first = Mock(
        lambda p, before: known[p].correct if before == says[p] else f"try {before}"
    )
    one = run("kingdoms", first, tmp_path / "one", CACHED, d=1, n=5, draws=4)
    assert list(first.asked.values()) == [1, 2, 3, 4, 4]
    second = Mock(lambda prompt, before: "another model")
    two = run("kingdoms", second, tmp_path / "two", CACHED, d=1, n=5, draws=4)
    assert second.calls == 0
    assert metrics(two) == metrics(one)
    third = Mock(lambda prompt, before: "another model")
    run("kingdoms", third, tmp_path / "three", CACHED, d=1, n=5, draws=6)
    assert list(third.asked.values()) == [2]  # the one that was given up after four


def test_every_sample_ends_scored_or_named_as_failed(tmp_path, monkeypatch):
    """Of four questions one fails in a way that Inspect would try again, and one for
    good.
    """
    known = list(asked("equations", (1,), n=4).values())
    errors = {
        known[1].prompt: ConnectionError("out of order"),
        known[3].prompt: ValueError("ill"),
    }
    said = {
        known[0].prompt: known[0].correct,
        known[2].prompt: "I would rather not say",
    }

    def says(prompt, before):
        if prompt in errors:
            raise errors[prompt]
        return said[prompt]

    monkeypatch.setattr(
        MockLLM, "should_retry", lambda _, error: type(error) is ConnectionError
    )
    log = run("equations", Mock(says), tmp_path, {"max_retries": 0}, d=1, n=4, draws=3)
    scored = [
        s.scores["acceptable_answer"].value if s.scores else None for s in log.samples
    ]
    assert scored == ["C", None, "N", None]
    failed, ill = (sample.error.message for sample in log.samples if sample.error)
    assert (
        failed
        == 'HeadwayError("the model\'s endpoint failed: ConnectionError out of order")'
    )
    assert ill == "ValueError('ill')"
    assert log.status == "error"  # so that eval-retry asks those two again
    assert log.results.total_samples == 4
    assert log.results.completed_samples == 2
    found = metrics(log)
    assert found["questions"] == 2
    assert found["accuracy"] == (1 / 2)
    assert found["unanswered"] == (1 / 2)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        (
            {"depth": 3},
            "-T depth=3 is not allowed: equations takes d, n, chains, seed, draws",
        ),
        ({"d": 7}, "depth = 7 is not allowed: it must be from 1 to 6 for equations"),
        (
            {"d": ["1", "x"]},
            "d = 'x' is not allowed: it must be a whole number; several",
        ),
        (
            {"chains": 27},
            "chains = 27 is not allowed: it must be from 1 to 26 for equations",
        ),
        ({"n": 0}, "n = 0 is not allowed"),
        ({"seed": "a"}, "seed = 'a' is not allowed"),
        (
            {"draws": 0},
            "draws = 0 is not allowed: it must be a whole number of at least 1",
        ),
    ],
)
def test_bad_input_is_one_clear_line(parameters, said, tmp_path):
    from inspect_ai._util.error import PrerequisiteError

    mock = Mock(lambda prompt, before: "0")
    with pytest.raises(PrerequisiteError) as stop:
        run("equations", mock, tmp_path / "logs", **parameters)
    told = str(stop.value.message)
    assert told.startswith("headway: ")
    assert said in told.replace("\\", "")
    assert "\n" not in told
    assert mock.calls == 0
    assert not list((tmp_path / "logs").glob("*"))
