"""Sweeps on this machine: they end, they go on after any kill, and failures stay where they are."""

import os
import random
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from watched import is_alive, put, stamps, until, workers_of

from headway.errors import HeadwayError
from headway.sweeps import LocalEngine, Plan, sweep, table, work
from headway.sweeps.crew import Worker
from headway.sweeps.engine import TRIES
from headway.sweeps.jobs import Event, Job, settled
from headway.sweeps.work import carry_out
from headway.training import Run, train

KILLS = 10


def done(folder: Path) -> list[str]:
    return sorted(path.parent.name for path in folder.glob("*/outcome.json"))


def same_weights(one: Run, other: Run) -> bool:
    a, b = one.model().state_dict(), other.model().state_dict()
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def without_times(run: Run) -> list[dict]:
    timed = ("seconds", "examples_per_second")
    return [{k: v for k, v in line.items() if k not in timed} for line in run.metrics()]


def seen(events: list, kind: str) -> list[str]:
    return [event.name for event in events if event is not None and event.kind == kind]


def test_every_run_is_trained_once_and_an_engine_keeps_its_process(
    plan, tmp_path, monkeypatch, engine
):
    given, give = list[int](), Worker.give

    def noted(worker, stack):
        given.append(worker.id)
        give(worker, stack)

    monkeypatch.setattr(Worker, "give", noted)
    runs, events, own = plan(3), [], LocalEngine(1)
    with own:
        board = sweep(runs, tmp_path / "s", own, watch=lambda _, event: events.append(event))
        sweep(plan(1), tmp_path / "other", own)
    assert not is_alive(given[0])
    assert [run.state for run in board.runs.values()] == ["done"] * 3
    assert seen(events, "started") == seen(events, "done") == ["r0", "r1", "r2"]
    assert [row["status"] for row in table(tmp_path / "s")] == ["done"] * 3
    assert len(given) == 4
    assert len(set(given)) == 1
    alone = train(runs.runs["r1"], tmp_path / "alone")
    assert same_weights(Run.open(tmp_path / "s" / "r1"), alone)

    before, events = stamps(tmp_path / "s"), []
    more = Plan("p", {**runs.runs, "new": replace(runs.runs["r0"], seed=7)})
    board = sweep(more, tmp_path / "s", engine, watch=lambda _, event: events.append(event))
    assert seen(events, "started") == seen(events, "done") == ["new"]
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
    assert rows["huge"]["message"].startswith("a step (model.*, task.*, training.batch_size) would")
    assert "device = 'cuda:99' is not allowed" in rows["nowhere"]["message"]
    for name in ("wild", "huge", "nowhere"):
        assert "\n" not in rows[name]["message"]
        assert board.runs[name].message == rows[name]["message"]

    before = stamps(tmp_path / "s")
    sweep(runs, tmp_path / "s", engine)
    assert stamps(tmp_path / "s") == before
    sweep(runs, tmp_path / "s", engine, retry_failed=True)
    changed = {
        name.split("/")[0] for name, at in stamps(tmp_path / "s").items() if before[name] != at
    }
    # The others fail before anything is written; "huge" tells how much memory is free by now.
    assert changed - {"huge"} == {"wild"}


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("so\nand so"), "ValueError: so"),
        (MemoryError(), "out of memory: MemoryError"),
        (RuntimeError("not enough memory: you tried"), "out of memory: RuntimeError: not enough"),
        (torch.OutOfMemoryError("CUDA out of memory."), "out of memory: OutOfMemoryError: CUDA"),
        (HeadwayError("the disk is full"), "the disk is full"),
        (AssertionError(), "AssertionError"),
    ],
)
def test_whatever_a_run_raises_is_recorded(plan, tmp_path, monkeypatch, error, message):
    job = Job("r0", tmp_path / "r0", plan(1).runs["r0"])
    resume, told = work.resume_stacked, list[Event]()

    def broken(folders, watch, ended):
        def watch_and_break(run, step, end, metrics):
            watch(run, step, end, metrics)
            if step == 10:
                raise error

        return resume(folders, watch_and_break, ended)

    monkeypatch.setattr(work, "resume_stacked", broken)
    carry_out((job,), told.append)
    end = told[-1]
    assert end.kind == "failed"
    assert (end.message or "").startswith(message)
    outcome = Run.open(job.folder).outcome() or {}
    assert outcome["message"] == end.message
    assert outcome["step"] == 10
    assert settled(job) == end
    assert settled(replace(job, retry=True)) is None
    monkeypatch.undo()
    told.clear()
    carry_out((job,), told.append)
    assert told == [end]
    carry_out((replace(job, retry=True),), told.append)
    assert told[-1] == Event("done", "r0")


def test_a_run_that_another_process_holds_is_left_to_it(plan, tmp_path, engine):
    runs, folder = plan(2), tmp_path / "s"
    put(folder, runs)
    held = Run.create(folder / "r0", runs.runs["r0"])
    events = []
    lock = held.writing()
    lock.__enter__()

    def watch(_, event):
        events.append(event)
        if event is not None and event.kind == "done" and event.name == "r1":
            lock.__exit__(None, None, None)

    board = sweep(folder, engine=engine, watch=watch)
    assert seen(events, "elsewhere")[0] == "r0"
    assert seen(events, "done") == ["r1", "r0"]
    assert board.count("done") == 2


def test_two_sweeps_in_one_folder_share_the_work(plan, tmp_path, sweeping, engine):
    runs, folder = plan(4, steps=60), tmp_path / "s"
    put(folder, runs)
    other = sweeping(folder)
    until((folder / "r0" / "metrics.jsonl").exists)
    board = sweep(folder, engine=engine)
    out, said = other.communicate(timeout=100)
    assert other.returncode == 0, said
    assert board.count("done") == 4
    *_, end = out.splitlines()
    assert end == "4 done; sweep s"
    assert max(map(len, out.splitlines())) <= 80
    assert done(folder) == [f"r{i}" for i in range(4)]
    for name in runs.runs:
        assert len(Run.open(folder / name).read("environment.json")) == 1


def test_a_worker_that_is_killed_is_replaced_and_its_run_resumed(plan, tmp_path, engine):
    runs, folder, events = plan(2, steps=60), tmp_path / "s", []
    killed = []

    def watch(_, event):
        events.append(event)
        if event is not None and event.kind == "progressed" and not killed and event.step > 1:
            killed.append(engine._crew[0].id)
            os.kill(killed[0], signal.SIGKILL)

    sweep(runs, folder, engine, watch=watch)
    assert seen(events, "lost") == ["r0"]
    assert sorted(seen(events, "done")) == ["r0", "r1"]
    assert same_weights(Run.open(folder / "r0"), train(runs.runs["r0"], tmp_path / "alone"))


def test_a_run_that_kills_its_worker_again_and_again_is_given_up(plan, tmp_path, monkeypatch):
    spoilt = 'import os, sys; sys.stdout.write(\'{"kind": "ready"}\\n\'); sys.stdout.flush()\n'
    fake = tmp_path / "worker.py"
    fake.write_text(spoilt + "sys.stdin.readline(); os.kill(os.getpid(), 11)")
    monkeypatch.setattr("headway.sweeps.worker.__file__", str(fake))
    events = []
    board = sweep(
        plan(1), tmp_path / "s", LocalEngine(1), watch=lambda _, event: events.append(event)
    )
    assert len(seen(events, "lost")) == TRIES - 1
    assert seen(events, "failed") == ["r0"]
    message = f"its process was ended by SIGSEGV, {TRIES} times"
    assert board.runs["r0"].message == message
    assert table(tmp_path / "s")[0]["message"] == message


def test_workers_that_cannot_start_are_one_clear_line(plan, tmp_path, monkeypatch):
    fake = tmp_path / "worker.py"
    fake.write_text("raise ImportError('nothing works')")
    monkeypatch.setattr("headway.sweeps.worker.__file__", str(fake))
    complaint = "no worker process can start: it ended with code 1: ImportError: nothing works"
    with pytest.raises(HeadwayError, match=complaint):
        sweep(plan(1), tmp_path / "s", LocalEngine(1))


def test_ctrl_c_stops_the_workers_and_says_how_to_go_on(plan, tmp_path, sweeping):
    folder = put(tmp_path / "s", plan(2, steps=100_000))
    process = sweeping(folder, start_new_session=True)
    until(lambda: (folder / "r0" / "state.safetensors").exists())
    workers = workers_of(process.pid)
    assert len(workers) == 1
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all processes
    out, complaint = process.communicate(timeout=20)
    assert process.returncode == 130
    assert complaint == "headway: interrupted; continue with: headway sweep s --workers 1\n"
    assert "Traceback" not in out
    assert not any(map(is_alive, workers))
    assert Run.open(folder / "r0").status == "stopped"
    assert not list(folder.rglob(".*draft*"))


@pytest.mark.slow
def test_a_sweep_killed_at_random_moments_goes_on(plan, tmp_path, sweeping):
    runs = plan(8, steps=1500, save_every=5)
    whole, folder, moments = tmp_path / "whole", put(tmp_path / "s", runs), random.Random(0)
    sweep(runs, whole, LocalEngine(2))
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
        if kill % 3 == 2 and workers:  # first a worker, as a system short of memory does
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
        there, expected = Run.open(folder / name), Run.open(whole / name)
        assert there.status == "done"
        assert same_weights(there, expected)
        assert without_times(there) == without_times(expected)
    figures = ("name", "status", "seed", "step", "val_loss", "test_loss", "attempts")
    assert [[row[f] for f in figures] for row in table(folder)] == [
        [row[f] for f in figures] for row in table(whole)
    ]


def test_workers_end_with_their_parent_and_the_next_sweep_goes_on(plan, tmp_path, sweeping, engine):
    runs = plan(3, steps=60)
    folder, events = put(tmp_path / "s", runs), []
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
    sweep(folder, engine=engine, watch=lambda _, event: events.append(event))
    assert before
    assert before.items() <= stamps(folder).items()
    assert not {name.split("/")[0] for name in before} & set(seen(events, "started"))
    assert done(folder) == ["r0", "r1", "r2"]
    alone = train(runs.runs["r1"], tmp_path / "alone")
    assert same_weights(Run.open(folder / "r1"), alone)
