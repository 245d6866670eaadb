"""Sweeps on this machine: they end, they go on after any kill, and failures stay where
they are.
"""

import errno
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from threading import Event
from unittest.mock import Mock

import pytest
from watched import Seen, is_alive, put, stamps, until, workers_of

from fuzz.runs import kept, require_same
from headway.errors import HeadwayError
from headway.sweeps import Engine, Plan, Standing, sweep, table
from headway.sweeps.sweep import LOST, TRIES
from headway.tasks import task_in
from headway.training import Run, train
from headway.training.loop import Trainer
from in_process import InThisProcess

KILLS = 10


def done(folder: Path) -> list[str]:
    return sorted(path.parent.name for path in folder.glob("*/outcome.json"))


def test_every_run_is_trained_once_by_one_worker(plan, tmp_path, engine):
    runs = plan(3)
    events = Seen()
    workers = set[int]()

    def watch(board, name):
        events(board, name)
        workers.update(workers_of(os.getpid()))

    board = sweep(runs, tmp_path / "s", engine, watch=watch)
    assert len(workers) == 1
    assert not any(map(is_alive, workers))
    assert [run.state for run in board.runs.values()] == ["done"] * 3
    assert events.became("running") == events.became("done") == ["r0", "r1", "r2"]
    assert [row["status"] for row in table(tmp_path / "s")] == ["done"] * 3
    alone = train(runs.runs["r1"], tmp_path / "alone")
    require_same(kept(Run.open(tmp_path / "s" / "r1")), kept(alone))

    before = stamps(tmp_path / "s")
    events = Seen()
    more = Plan("p", {**runs.runs, "new": replace(runs.runs["r0"], seed=7)})
    board = sweep(more, tmp_path / "s", engine, watch=events)
    assert events.became("running") == events.became("done") == ["new"]
    assert board.before == {"done": 3}
    assert before.items() <= stamps(tmp_path / "s").items()
    command = Run.open(tmp_path / "s" / "new").read("environment.json")[0]["command"]
    assert command == [Path(sys.argv[0]).name, *sys.argv[1:]]


def test_failures_stay_where_they_are(plan, with_training, tmp_path, engine):
    good = plan(1).runs["r0"]
    wild = with_training(good, optimizer="adam", learning_rate=1e30, steps=50)
    huge = with_training(good, batch_size=2**36)
    nowhere = replace(good, device="cuda:99")
    runs = Plan("p", {"wild": wild, "huge": huge, "nowhere": nowhere, "good": good})
    board = sweep(runs, tmp_path / "s", engine)
    rows = {row["name"]: row for row in table(tmp_path / "s")}
    assert {name: row["status"] for name, row in rows.items()} == {
        **dict.fromkeys(("wild", "huge", "nowhere"), "failed"),
        "good": "done",
    }
    assert "the loss is " in rows["wild"]["message"]
    assert rows["huge"]["message"].startswith(
        "training (model.*, task.*, training.batch_size, "
    )
    assert "device = 'cuda:99' is not allowed" in rows["nowhere"]["message"]
    for name in ("wild", "huge", "nowhere"):
        assert "\n" not in rows[name]["message"]
        assert board.runs[name].message == rows[name]["message"]

    before = stamps(tmp_path / "s")
    sweep(runs, tmp_path / "s", engine)
    assert stamps(tmp_path / "s") == before
    sweep(runs, tmp_path / "s", engine, retry_failed=True)
    changed = {
        name.split("/")[0]
        for name, at in stamps(tmp_path / "s").items()
        if before[name] != at
    }
    assert changed == {"wild", "huge", "nowhere"}


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("so\nand so"), "ValueError: so"),
        (HeadwayError("the disk is full"), "the disk is full"),
    ],
)
def test_whatever_a_run_raises_is_recorded(plan, tmp_path, monkeypatch, error, message):
    fit = Trainer.fit

    def raising(*now):
        if now[1] == 10:
            raise error

    monkeypatch.setattr(Trainer, "fit", lambda trainer, watch: fit(trainer, raising))
    board = sweep(plan(1), tmp_path / "s", InThisProcess())
    assert board.runs["r0"].message == message
    outcome = Run.open(tmp_path / "s" / "r0").outcome() or {}
    assert [outcome[name] for name in ("status", "message", "step")] == [
        "failed",
        message,
        10,
    ]
    again = sweep(plan(1), tmp_path / "s", InThisProcess())
    assert again.runs["r0"].message == message
    monkeypatch.undo()
    tried = sweep(plan(1), tmp_path / "s", InThisProcess(), retry_failed=True)
    assert tried.named("done") == ["r0"]


def test_a_run_that_another_process_holds_is_left_to_it(plan, tmp_path, engine):
    runs = plan(2)
    folder = tmp_path / "s"
    put(folder, runs)
    held = Run.create(folder / "r0", runs.runs["r0"])
    events = Seen()
    lock = held.writing()
    lock.__enter__()

    def watch(board, name):
        events(board, name)
        if name == "r1" and board.runs[name].state == "done":
            assert board.runs["r0"] == Standing("running")
            lock.__exit__(None, None, None)

    board = sweep(folder, engine=engine, watch=watch)
    assert events.became("done") == ["r1", "r0"]
    assert len(board.named("done")) == 2


@pytest.mark.slow
def test_two_sweeps_in_one_folder_share_the_work(plan, tmp_path, sweeping, engine):
    runs = plan(4, steps=60)
    folder = tmp_path / "s"
    put(folder, runs)
    other = sweeping(folder)
    until((folder / "r0" / "metrics.jsonl").exists)
    board = sweep(folder, engine=engine)
    out, said = other.communicate(timeout=100)
    assert other.returncode == 0, said
    assert len(board.named("done")) == 4
    *_, end = out.splitlines()
    assert end == "4 done; sweep s"
    assert max(map(len, out.splitlines())) <= 80
    assert done(folder) == [f"r{i}" for i in range(4)]
    for name in runs.runs:
        assert len(Run.open(folder / name).read("environment.json")) == 1


def test_a_worker_that_is_killed_is_replaced_and_its_run_resumed(
    plan, tmp_path, engine
):
    runs = plan(2, steps=60)
    folder = tmp_path / "s"
    events = Seen()
    killed = []

    def watch(board, name):
        events(board, name)
        if name is not None and not killed and board.runs[name].step > 1:
            killed.append(workers_of(os.getpid())[-1])
            os.kill(killed[0], signal.SIGKILL)

    sweep(runs, folder, engine, watch=watch)
    assert events.became("waiting") == ["r0"]
    assert sorted(events.became("done")) == ["r0", "r1"]
    require_same(
        kept(Run.open(folder / "r0")), kept(train(runs.runs["r0"], tmp_path / "alone"))
    )


@pytest.mark.slow
def test_a_run_that_kills_its_worker_again_and_again_is_given_up(
    plan, own_file, tmp_path
):
    # its pipe has ended before
    dies = "(os.closerange(3, 99), time.sleep(1), os._exit(1))"
    dies = f"import os, time; count == 7 and {dies}; return (torch"
    own_file.write_text(own_file.read_text().replace("return (torch", dies))
    good = plan(1, batch_size=7).runs["r0"]
    kill = replace(good, task=task_in(str(own_file))())
    runs = Plan("p", {"bad": kill, "good": good})
    events = Seen()
    board = sweep(runs, tmp_path / "s", Engine(1), watch=events)
    assert events.became("waiting") == ["bad"] * (TRIES - 1)
    assert events.became("failed") == ["bad"]
    assert events.became("done") == ["good"]
    message = board.runs["bad"].message
    assert message == f"{LOST}, {TRIES} times"
    assert table(tmp_path / "s")[0]["message"] == message


def test_workers_that_cannot_start_are_one_clear_line(plan, tmp_path, monkeypatch):
    def refused(*_, **__):
        raise OSError(errno.EAGAIN, "no more processes")

    monkeypatch.setattr(subprocess.Popen, "__init__", refused)
    with pytest.raises(
        HeadwayError, match="no worker process can start: no more processes"
    ):
        sweep(plan(1), tmp_path / "s", Engine(1))
    assert Run.open(tmp_path / "s" / "r0").status == "stopped"


def test_a_script_that_sweeps_without_a_guard_is_not_run_again(plan, tmp_path):
    put(tmp_path / "s", plan(1))
    script = tmp_path / "script.py"
    script.write_text(
        "print('once')\nimport headway.sweeps\nheadway.sweeps.sweep('s')\n"
    )
    words = [sys.executable, str(script)]
    ran = subprocess.run(
        words, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert ran.stdout == "once\n"
    assert ran.stderr == ""
    assert done(tmp_path / "s") == ["r0"]


def test_what_is_cut_short_ends_and_the_engine_is_of_use(plan, tmp_path, engine):
    class StopError(Exception):
        pass

    def stop(board, name):
        if name is not None and board.runs[name].step:
            raise StopError

    with pytest.raises(StopError):
        sweep(plan(1, steps=100_000), tmp_path / "s", engine, watch=stop)
    assert Run.open(tmp_path / "s" / "r0").status == "stopped"
    assert sweep(plan(1), tmp_path / "t", engine).named("done") == ["r0"]


@pytest.mark.parametrize(
    "training", [False, pytest.param(True, marks=pytest.mark.slow)]
)
def test_ctrl_c_stops_the_workers_and_says_how_to_go_on(
    plan, tmp_path, sweeping, training
):
    """While a worker trains, and while it starts."""
    folder = put(tmp_path / "s", plan(2, steps=100_000))
    process = sweeping(folder, start_new_session=True)
    (worker,) = until(lambda: workers_of(process.pid))
    if training:
        until(lambda: (folder / "r0" / "state.safetensors").exists())
    else:
        os.kill(worker, signal.SIGSTOP)  # it takes as long as it likes
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all processes
    out, complaint = process.communicate(timeout=20)
    assert process.returncode == 130
    assert (
        complaint
        == "headway: interrupted; continue with: headway sweep s --workers 1\n"
    )
    assert "Traceback" not in out
    assert not is_alive(worker)
    assert Run.open(folder / "r0").status == "stopped"


@pytest.mark.slow
def test_a_sweep_killed_at_random_moments_goes_on(plan, tmp_path, sweeping):
    runs = plan(8, steps=1500, save_every=5)
    whole = tmp_path / "whole"
    folder = put(tmp_path / "s", runs)
    moments = random.Random(0)
    sweep(runs, whole, Engine(2))
    orphans = []
    for kill in range(KILLS):
        before = stamps(folder)
        process = sweeping(folder, workers=2)
        if kill % 3 == 0:  # anywhere, also while it starts up
            time.sleep(5 * moments.random())
        else:  # while runs go on
            count = len(list(folder.rglob("step_*.safetensors")))
            until(lambda now=count: len(list(folder.rglob("step_*.safetensors"))) > now)
            time.sleep(moments.random())
        workers = workers_of(process.pid)
        if (
            kill % 3 == 2 and workers
        ):  # first a worker, as a system short of memory does
            os.kill(moments.choice(workers), signal.SIGKILL)
            time.sleep(moments.random())
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL, "the sweep ended before it was killed"
        orphans += workers
        assert before.items() <= stamps(folder).items()
    before = stamps(folder)
    last = sweeping(folder, workers=2)
    assert last.wait(timeout=200) == 0
    assert before.items() <= stamps(folder).items()
    assert not any(map(is_alive, orphans))
    for name in runs.runs:
        require_same(kept(Run.open(folder / name)), kept(Run.open(whole / name)))
    figures = ("name", "status", "seed", "step", "val_loss", "test_loss", "attempts")
    assert [[row[f] for f in figures] for row in table(folder)] == [
        [row[f] for f in figures] for row in table(whole)
    ]


@pytest.mark.slow
def test_workers_end_with_their_parent_and_the_next_sweep_goes_on(
    plan, tmp_path, sweeping, engine
):
    runs = plan(3, steps=60)
    folder = put(tmp_path / "s", runs)
    events = Seen()
    process = sweeping(folder)
    until(lambda: done(folder) and (folder / "r1" / "state.safetensors").exists())
    workers = workers_of(process.pid)
    process.kill()
    process.wait()
    killed = time.monotonic()
    assert len(workers) == 1
    until(lambda: not any(map(is_alive, workers)), 5)
    assert time.monotonic() - killed < 2
    before = stamps(folder)
    sweep(folder, engine=engine, watch=events)
    assert before
    assert before.items() <= stamps(folder).items()
    assert not {name.split("/")[0] for name in before} & set(events.became("running"))
    assert done(folder) == ["r0", "r1", "r2"]
    require_same(
        kept(Run.open(folder / "r1")), kept(train(runs.runs["r1"], tmp_path / "alone"))
    )


def test_a_worker_that_starts_while_the_engine_ends_is_killed(
    tiny, tmp_path, monkeypatch
):
    starting = Event()
    may_start = Event()
    process = Mock()

    def worker():
        starting.set()
        may_start.wait(10)
        return process, Mock()

    monkeypatch.setattr("headway.sweeps.engines._worker", worker)
    with Engine(1) as engine:
        answer = engine.submit(tmp_path, tiny)
        starting.wait(10)
    may_start.set()
    answer.result(10)
    process.kill.assert_called_once()
