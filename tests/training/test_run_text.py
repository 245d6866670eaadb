"""A run as text: how it ended, or how far it is."""

import pytest

from headway.training import Run, train


def lines(run: Run) -> list[str]:
    found = str(run).splitlines()
    assert max(map(len, found[:-1])) <= 60
    assert found[-1] == f"run   {run.folder}"
    return found[:-1]


@pytest.fixture(autouse=True)
def narrow(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")


def test_a_run_that_is_done_says_its_losses(tiny, tmp_path):
    run = train(tiny, tmp_path / "run")
    outcome = run.outcome()
    told = " ".join(" ".join(lines(run)).split())
    hops = " ".join(f"{hop} {loss:.4f}" for hop, loss in outcome["partial"].items())
    assert told.startswith(f"done: validation MSE {outcome['val_loss']:.4f} ({hops}) after 12 ste")


def test_a_run_that_has_stopped_or_failed_says_how_far_it_was(tiny, tmp_path):
    run = Run.create(tmp_path / "run", tiny)
    evaluation = {
        "step": 7,
        "train_loss": 1.0,
        "val_loss": 0.75,
        "partial": dict.fromkeys(run.task.hops, 0.75),
    }
    run.append_metrics({**evaluation, "seconds": 61.0, "examples_per_second": 1.0})
    hops = "  ".join(f"{hop} 0.7500" for hop in run.task.hops)
    assert lines(run) == [
        f"stopped: validation MSE 0.7500 ({hops})",
        "      after 7 steps, 1 min 01 s",
    ]
    run.fail("the loss is nan at step 8")
    assert lines(run) == [
        "failed: the loss is nan at step 8",
        f"      validation MSE 0.7500 ({hops})",
        "      after 7 steps, 1 min 01 s",
    ]


def test_attempts_that_were_given_up_are_told(tiny, tmp_path):
    run = Run.create(tmp_path / "run", tiny)
    partial = dict.fromkeys(run.task.hops, 0.5)
    ended = {"status": "done", "step": 3, "val_loss": 0.5, "partial": partial, "seconds": 2.0}
    run.append_metrics({"train_loss": 1.0, **ended} | {"examples_per_second": 1.0})
    run.write(
        "outcome.json", {**ended, "given_up": [{"step": step, "partial": {}} for step in (5, 6)]}
    )
    told = " ".join(" ".join(lines(run)).split())
    assert told.endswith("after 3 steps, 2 s (given up before: attempts at step 5, 6)")
