"""The tasks asked over HTTP: endpoints that fail, stall, babble, or go away."""

import pytest

pytest.importorskip("inspect_ai", reason="needs the extra `llm`")

from endpoint import serving
from inspect_ai import eval as evaluate
from inspecting import QUIET, asked, metrics

pytestmark = QUIET

MODEL = "openai-api/test/model"


def run(endpoint, log_dir, n, retries=1, **more):
    """The address is named, because Inspect keeps the models of a process by name and address."""
    where = {"model": MODEL, "model_base_url": endpoint.url, "log_dir": str(log_dir)}
    (log,) = evaluate(
        "headway/equations",
        task_args={"d": 1, "n": n, "draws": 3},
        max_retries=retries,
        display="none",
        **where,
        **more,
    )
    return log


def numbered(log):
    return {int(sample.id.split("-")[1]): sample for sample in log.samples}


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("TEST_API_KEY", "none")


def test_every_sample_ends_scored_or_named_as_failed(tmp_path):
    known = list(asked("equations", (1,), n=7).values())
    numbers = {question.prompt: number for number, question in enumerate(known)}

    def behave(prompt, before):
        right = 200, known[numbers[prompt]].correct
        match numbers[prompt]:
            case 0:
                return right if before else (500, "out of order")
            case 1:
                return right if before else (429, "too many")
            case 2:
                return 200, "I would rather not say"
            case 3:
                return 500, "out of order"
            case 4:
                return 429, "too many"
            case 5:
                return 200, b"<html>not what was asked for"
            case _:
                return right

    with serving(behave) as endpoint:
        log = run(endpoint, tmp_path, 7, retries=0)
    samples = numbered(log)
    assert sorted(samples) == list(range(7))
    values = {n: s.scores["acceptable_answer"].value for n, s in samples.items() if s.scores}
    assert values == {0: "C", 1: "C", 2: "N", 6: "C"}
    failed = {number: sample.error.message for number, sample in samples.items() if sample.error}
    assert sorted(failed) == [3, 4, 5]
    assert "out of order" in failed[3]
    assert "too many" in failed[4]
    assert log.status == "error"  # so that eval-retry asks those three again
    assert (log.results.total_samples, log.results.completed_samples) == (7, 4)
    found = metrics(log)
    assert (found["questions"], found["accuracy"], found["unanswered"]) == (4, 3 / 4, 1 / 4)
