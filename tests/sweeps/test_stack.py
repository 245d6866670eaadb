"""Sweeps whose runs are trained in stacks: the same runs, and trouble stays with who has it."""

import os
import signal
from dataclasses import replace

import pytest
from watched import Seen, names, noted, put, stamps, until, workers_of

from headway.errors import HeadwayError
from headway.sweeps import Plan, grid, sweep, table
from headway.sweeps.sweep import stacked
from headway.training import Mixture, Run, train


def assert_as_alone(folder, plan, tmp_path, tolerance=2e-5) -> None:
    """Every run of a sweep is what it would have become by itself, but for rounding."""
    for name, config in plan.runs.items():
        run, alone = Run.open(folder / name), train(config, tmp_path / "alone" / name)
        assert run.checkpoint_steps() == alone.checkpoint_steps()
        for ours, theirs in zip(run.metrics(), alone.metrics(), strict=True):
            assert ours["step"] == theirs["step"]
            assert ours["val_loss"] == pytest.approx(theirs["val_loss"], abs=tolerance)
        ours, theirs = run.outcome() or {}, alone.outcome() or {}
        assert (ours["status"], ours["step"]) == (theirs["status"], theirs["step"])
        assert ours["test_loss"] == pytest.approx(theirs["test_loss"], abs=tolerance)


@pytest.fixture
def given(monkeypatch):
    """The names of the runs of every stack that a worker of this process is given."""
    stacks = []
    noted(monkeypatch, lambda work: stacks.append(names(work)))
    return stacks


def test_runs_of_one_shape_are_put_together_in_the_order_of_the_plan(plan, with_training, tmp_path):
    one = plan(1).runs["r0"]
    configs = {
        "a0": one,
        "b0": with_training(one, batch_size=9),
        "a1": replace(one, seed=1),
        "alone": with_training(one, curriculum=Mixture()),
        "a2": with_training(one, learning_rate=0.1, steps=7),
        "b1": with_training(one, batch_size=9, train_examples=90),
        "too": with_training(one, curriculum=Mixture()),
        "a3": one,
        "wide": replace(one, model=replace(one.model, d_model=32)),
    }
    assert stacked([*configs], configs, 3) == [
        *(["a0", "a1", "a2"], ["b0", "b1"], ["alone"], ["too"], ["a3"], ["wide"])
    ]
    assert stacked([*configs], configs, 1) == [[name] for name in configs]
    for most in (0, -3):
        with pytest.raises(HeadwayError, match=f"stack = {most} is not allowed"):
            sweep(plan(1), tmp_path / "s", stack=most)
    assert not list(tmp_path.iterdir())


def test_a_stacked_sweep_is_that_of_single_runs_and_done_ones_are_skipped(
    plan, with_training, given, tmp_path, engine
):
    few = plan(4)
    short = with_training(few.runs["r1"], steps=7)
    runs, events = Plan("p", {**few.runs, "r1": short}), Seen()
    board = sweep(*(runs, tmp_path / "s", engine), watch=events, stack=3)
    assert given == [["r0", "r1", "r2"], ["r3"]]
    assert board.count("done") == 4
    assert events.became("running") == ["r0", "r1", "r2", "r3"]
    assert sorted(events.became("done")) == ["r0", "r1", "r2", "r3"]
    assert [run.step for run in board.runs.values()] == [12, 7, 12, 12]
    computed = [Run.open(tmp_path / "s" / name).read("environment.json") for name in runs.runs]
    assert [sessions[0]["replicas"] for sessions in computed if sessions] == [3, 3, 3, 1]
    assert_as_alone(tmp_path / "s", runs, tmp_path)

    before = stamps(tmp_path / "s")
    more = Plan("p", {**runs.runs, "x": replace(short, seed=8), "y": replace(short, seed=9)})
    board = sweep(more, tmp_path / "s", engine, stack=3)
    assert given[2:] == [["x", "y"]]
    assert board.before == {"done": 4}
    assert before.items() <= stamps(tmp_path / "s").items()


def test_a_run_that_diverges_or_is_damaged_fails_alone(
    plan, with_training, given, tmp_path, engine
):
    few, folder = plan(4, optimizer="adam", save_every=2), tmp_path / "s"
    wild = with_training(few.runs["r1"], learning_rate=1e30)
    runs, events = Plan("p", {**few.runs, "r1": wild}), Seen()
    put(folder, runs)
    broken = Run.create(folder / "r2", runs.runs["r2"])
    (broken.folder / "state.safetensors").write_bytes(b"no tensors")
    sweep(*(folder, None, engine), watch=events, stack=4)
    rows = {row["name"]: row for row in table(folder)}
    assert [row["status"] for row in rows.values()] == ["done", "failed", "failed", "done"]
    assert "the loss is " in rows["r1"]["message"]
    assert "r2/state.safetensors is truncated or corrupted" in rows["r2"]["message"]
    assert sorted(events.became("failed")) == ["r1", "r2"]
    assert sorted(events.became("done")) == ["r0", "r3"]
    assert given == [["r0", "r1", "r2", "r3"]]
    assert_as_alone(folder, Plan("p", {name: runs.runs[name] for name in ("r0", "r3")}), tmp_path)

    (broken.folder / "state.safetensors").unlink()
    sweep(folder, None, engine, retry_failed=True, stack=4)
    assert given[1:] == [["r1", "r2"]]
    assert [row["status"] for row in table(folder)] == ["done", "failed", "done", "done"]


def test_a_worker_that_is_killed_mid_stack_is_replaced_and_its_runs_resumed(
    plan, with_training, given, tmp_path, engine
):
    few = plan(3, steps=120, save_every=120)
    often = with_training(few.runs["r2"], save_every=3)
    runs, folder, events = Plan("p", {**few.runs, "r2": often}), tmp_path / "s", Seen()
    killed = []

    def watch(board, name):
        events(board, name)
        if not killed and (folder / "r2" / "state.safetensors").exists():
            killed.append(workers_of(os.getpid())[-1])
            os.kill(killed[0], signal.SIGKILL)

    sweep(runs, folder, engine, watch=watch, stack=3)
    assert killed
    assert events.became("waiting") == ["r0", "r1", "r2"]
    assert given == [["r0", "r1", "r2"], *([name] for name in ("r0", "r1", "r2"))]
    assert sorted(events.became("done")) == ["r0", "r1", "r2"]
    sessions = [len(Run.open(folder / name).sessions()) for name in runs.runs]
    assert sessions == [1, 1, 2]  # two had not been saved yet and begin again
    assert_as_alone(folder, runs, tmp_path, tolerance=1e-3)


def test_a_stacked_sweep_that_is_interrupted_or_killed_goes_on(
    plan, with_training, tmp_path, sweeping, engine
):
    few = plan(3, steps=200, save_every=100)
    long = with_training(few.runs["r0"], steps=100_000, save_every=10)
    folder = put(tmp_path / "s", Plan("p", {"long": long, **few.runs}))
    state = folder / "long" / "state.safetensors"
    for signal_sent in (signal.SIGINT, signal.SIGKILL):
        before = state.stat().st_mtime_ns if state.exists() else 0
        process = sweeping(folder, "--stack", "4")
        until(lambda old=before: state.exists() and state.stat().st_mtime_ns > old)
        process.send_signal(signal_sent)
        _, complaint = process.communicate(timeout=20)
        if signal_sent == signal.SIGINT:
            again = "headway sweep s --stack 4 --workers 1"
            assert complaint == f"headway: interrupted; continue with: {again}\n"
    until(lambda: Run.open(folder / "long").status == "stopped", 5)
    sweep(few, folder, engine, stack=3)
    for name in few.runs:
        run = Run.open(folder / name)
        assert run.status == "done"
        assert [line["step"] for line in run.metrics()] == list(range(10, 201, 10))


def test_a_plan_of_which_nothing_can_be_stacked_is_refused(tmp_path):
    plan = grid("fast", {"seed": range(2), "mixture": [True]})
    with pytest.raises(HeadwayError, match=r"^stack = 2 is not allowed: .*implicit or another"):
        sweep(plan, tmp_path / "sweep", stack=2)
    assert not (tmp_path / "sweep").exists()
