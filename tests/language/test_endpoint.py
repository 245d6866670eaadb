"""The tasks asked over HTTP: endpoints that fail, stall, babble, or go away."""

import time

import pytest

pytest.importorskip("inspect_ai", reason="needs the extra `llm`")

from endpoint import serving
from inspect_ai import eval as evaluate
from inspecting import QUIET, asked, collected, metrics

__all__ = ["collected"]  # a fixture
pytestmark = QUIET

MODEL = "openai-api/test/model"


def run(log_dir, n, retries=1, **more):
    where = {"model": MODEL, "log_dir": str(log_dir), "display": "none", "max_retries": retries}
    (log,) = evaluate("headway/equations", task_args={"d": 1, "n": n, "draws": 3}, **where, **more)
    return log


def use(endpoint, monkeypatch):
    for name, value in endpoint.environment().items():
        monkeypatch.setenv(name, value)


def test_every_sample_ends_scored_or_named_as_failed(tmp_path, monkeypatch):
    known = list(asked("equations", (1,), n=9).values())
    numbers = {question.prompt: number for number, question in enumerate(known)}

    def behave(prompt, before):
        question = known[numbers[prompt]]
        first = before == 0
        match numbers[prompt]:
            case 0:
                return (500, "out of order") if first else (200, question.correct)
            case 1:
                return (429, "too many") if first else (200, question.correct)
            case 2:
                time.sleep(6 * first)
                return 200, question.correct
            case 3:
                return 200, "I would rather not say"
            case 4:
                return 500, "out of order"
            case 5:
                time.sleep(6)
                return 200, question.correct
            case 6:
                return 429, "too many"
            case 7:
                return 200, b"<html>not what was asked for"
            case _:
                return 200, question.correct

    with serving(behave) as endpoint:
        use(endpoint, monkeypatch)
        log = run(tmp_path, 9, attempt_timeout=4)
    samples = {int(sample.id.split("-")[1]): sample for sample in log.samples}
    assert sorted(samples) == list(range(9))
    values = {n: s.scores["acceptable_answer"].value for n, s in samples.items() if s.scores}
    assert values == {0: "C", 1: "C", 2: "C", 3: "N", 8: "C"}
    failed = {number: sample.error.message for number, sample in samples.items() if sample.error}
    assert sorted(failed) == [4, 5, 6, 7]
    assert "out of order" in failed[4]
    assert "timeout" in failed[5].lower()
    assert "too many" in failed[6]
    assert log.status == "error"  # so that eval-retry asks those four again
    assert (log.results.total_samples, log.results.completed_samples) == (9, 5)
    found = metrics(log)
    assert (found["questions"], found["accuracy"], found["unanswered"]) == (5, 4 / 5, 1 / 5)


def test_what_failed_and_nothing_else_is_asked_again(tmp_path, monkeypatch):
    from inspect_ai import eval_retry

    known = asked("equations", (1,), n=4)
    bad, broken = list(known)[2], True

    def behave(prompt, before):
        return (400, "no") if prompt == bad and broken else (200, known[prompt].correct)

    with serving(behave) as endpoint:
        use(endpoint, monkeypatch)
        log = run(tmp_path, 4)
        assert [bool(sample.error) for sample in log.samples] == [False, False, True, False]
        before, broken = dict(endpoint.asked), False
        (again,) = eval_retry(log, log_dir=str(tmp_path), display="none")
        assert again.status == "success"
        assert metrics(again)["accuracy"] == 1
        assert metrics(again)["questions"] == 4
        assert {prompt: endpoint.asked[prompt] - before[prompt] for prompt in known} == {
            prompt: int(prompt == bad) for prompt in known
        }


def test_an_endpoint_that_is_down_fails_every_sample(tmp_path, monkeypatch):
    with serving(lambda prompt, before: (200, "0")) as endpoint:
        pass  # its port is free again
    use(endpoint, monkeypatch)
    log = run(tmp_path, 2, retries=0)
    assert log.status == "error"
    assert len(log.samples) == 2
    for sample in log.samples:
        assert "connect" in sample.error.message.lower()
