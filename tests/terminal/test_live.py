"""Displays of things while they go: training, a sweep, what is counted one by one."""

import io
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest
from rich.console import Console
from rich.live import Live

from headway.progress import Display, counting
from headway.sweeps import Board, Standing
from headway.terminal.live import Progress, following
from headway.terminal.tables import print_sweep
from headway.training import Run, train


def test_what_comes_before_the_first_is_not_its_time(monkeypatch, capsys):
    """Loading a model takes longer than a question; it does not come again."""
    clock = iter((90.0, 92.0, 130.0, 150.0))
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
    seconds = iter((90.0, 92.0, 130.0, 150.0))
    monkeypatch.setattr(time, "monotonic", lambda: next(seconds))
    with counting("asked") as watch:
        for done in (11, 12, 21, 30):
            watch(done, 30)
    assert capsys.readouterr().out.splitlines() == [
        "asked 11 of 30",
        "asked 21 of 30; about 36 s left",
        "asked 30 of 30",
    ]


METRICS = {
    "val_loss": 0.1,
    "partial": {"x_1": 0.02, "x_2": 0.8},
    "examples_per_second": 10.0,
}


def test_a_terminal_shows_the_losses_of_every_hop(tiny):
    run = SimpleNamespace(config=tiny)
    page = io.StringIO()
    with Live(console=Console(width=80, file=page, force_terminal=True)) as live:
        progress = Progress(Display(live, 0.0))
        for step in (3, 6):
            progress(run, step, 12, METRICS)  # pyright: ignore[reportArgumentType]
        progress.display.show("the last", at_once=True)
    lines = page.getvalue().splitlines()
    assert any(
        "step      3/12  loss 0.100  x_1 0.0200  x_2 0.800  10 ex/s" in x for x in lines
    )
    assert any(line.rstrip().endswith(" x_1 ▂ 0.0200") for line in lines)  # logarithmic
    assert any(
        f"at most {round(9 * tiny.training.batch_size / 10)} s left" in x for x in lines
    )


def test_a_fixed_training_set_has_its_accuracy_and_a_curve(tiny):
    run = SimpleNamespace(config=tiny)
    page = io.StringIO()
    metrics = {
        **METRICS,
        "accuracy": {"x_1": 0.25, "x_2": 0.75},
        "training_set": {
            "loss": 0.02,
            "partial": {},
            "accuracy": {"x_1": 1.0, "x_2": 0.8},
        },
    }
    with Live(console=Console(width=100, file=page, force_terminal=True)) as live:
        progress = Progress(Display(live, 0.0))
        progress(run, 3, 12, metrics)  # pyright: ignore[reportArgumentType]
    lines = page.getvalue().splitlines()
    assert any(
        "loss 0.100, accuracy 50.0%, on the training set 90.0%" in line
        for line in lines
    )
    assert any(line.rstrip().endswith("training set ▂ 0.0200") for line in lines)


def test_a_file_has_a_line_every_tenth_evaluation(tiny, capsys):
    progress = Progress(Display(None, 9.0))
    run = SimpleNamespace(config=tiny)
    for step in range(1, 13):
        progress(run, step, 90, METRICS)  # pyright: ignore[reportArgumentType]
    told = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in told] == ["1/90", "11/90"]


def test_a_file_is_told_why_fewer_steps_are_planned(tiny, capsys):
    progress = Progress(Display(None, 9.0))
    run = SimpleNamespace(config=tiny)
    for step, end in ((1, 90), (2, 90), (3, 40), (4, 40)):
        progress(run, step, end, None)  # pyright: ignore[reportArgumentType]
    (told,) = capsys.readouterr().out.splitlines()
    assert "to end at step 40" in told
    progress(run, 5, 5, None)  # pyright: ignore[reportArgumentType]
    assert capsys.readouterr().out == ""  # a run that stops early says so itself
    progress(run, 1, 90, None)  # pyright: ignore[reportArgumentType]
    assert "a new attempt" in capsys.readouterr().out


def board_of(tiny, count: int, **first: Standing) -> Board:
    configs = {f"n_layers={i}," + "x" * 70: replace(tiny, seed=i) for i in range(count)}
    return Board(configs, dict(zip(configs, first.values(), strict=False)))


def test_time_left_follows_what_was_done_here(tiny, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    board = board_of(tiny, 4, done=Standing("done", 12), begun=Standing(step=6))
    _, second, third, _ = board.runs
    assert board.seconds_left() is None
    board.runs[second] = Standing("running", 9)
    now[0] += 6.0
    assert board.seconds_left() == pytest.approx(6.0 + 2 * 24.0)
    board.runs[second] = Standing("done", 9)
    board.runs[third] = Standing("running", 6)
    now[0] += 6.0
    assert board.seconds_left() == pytest.approx(6.0 + 12.0)


def test_every_end_is_a_line_and_now_and_then_what_runs(tiny, capsys):
    board = board_of(tiny, 3, done=Standing("done", 12))
    _, second, third = board.runs
    with following() as show:
        show(board, None)
        for name, run in (
            (second, Standing("running")),
            (second, Standing("running", 12, 0.5)),
            (third, Standing(message="ended by SIGKILL")),
            (second, Standing("done", 12, 0.5)),
            (third, Standing("failed", message="it broke")),
        ):
            board.runs[name] = run
            show(board, name)
    assert capsys.readouterr().out.splitlines() == [
        "3 runs, 1 done before",
        f"… {second} step 0/12",
        f"1/3  {third}  lost, will be resumed: ended by SIGKILL",
        f"2/3  {second}  done  step 12  loss 0.500",
        f"3/3  {third}  failed  it broke",
    ]


def test_of_many_that_run_some_are_named(tiny, capsys):
    board = board_of(tiny, 6)
    names = list(board.runs)
    for name in names[:5]:
        board.runs[name] = Standing("running")
    board.runs[names[1]] = Standing("running", 6, 0.25)
    with following() as show:
        show(board, names[1])
    line = capsys.readouterr().out.splitlines()[-1]
    assert line.startswith(f"… {names[0]} step 0/12, {names[1]} step 6/12, ")
    assert " and 1 more" in line


def test_the_end_of_a_sweep_is_a_table(tiny, tmp_path, capsys):
    train(tiny, tmp_path / "a")
    Run.create(tmp_path / "b", tiny).end("it broke")
    ends = {
        "a": Standing("done", 12),
        "b": Standing("failed", message="it broke"),
        "c": Standing("failed", message="the disk is full"),
    }
    board = Board(dict.fromkeys(ends, tiny), ends)
    print_sweep(board, tmp_path)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:3] for line in lines[1:3]] == [
        ["a", "done", "12"],
        ["b", "failed", "0"],
    ]
    assert lines[3:] == [
        "b: it broke",
        "c: the disk is full (not recorded)",
        f"1 done, 2 failed; sweep {tmp_path}",
    ]
