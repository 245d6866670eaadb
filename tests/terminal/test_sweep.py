"""How a sweep looks while it goes and when it has ended: at most 80 columns, and every count."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from headway.sweeps import Board, Standing
from headway.terminal.sweep import SweepProgress, print_sweep
from headway.training import Run, train


def board_of(tiny, count: int, **first: Standing) -> Board:
    configs = {f"n_layers={i}," + "x" * 70: replace(tiny, seed=i) for i in range(count)}
    return Board(configs, dict(zip(configs, first.values(), strict=False)))


def lines_of(board: Board, height: int = 24) -> list[str]:
    shown = io.StringIO()
    out = Console(width=80, height=height, file=shown)
    out.print(SweepProgress(None).panel(board, out))
    return shown.getvalue().splitlines()


def test_the_live_table_fits_and_counts(tiny):
    board = board_of(tiny, 40, first=Standing("done", 12))
    names = list(board.runs)
    for name in names[1:31]:
        board.runs[name] = Standing("running")
    board.runs[names[1]] = Standing("running", 6, 0.25)
    board.runs[names[2]] = Standing("failed", message="it broke " * 30)
    board.runs[names[3]] = Standing("elsewhere")
    lines = lines_of(board)
    assert max(map(len, lines)) <= 80
    assert len(lines) <= 24
    assert "2 of 40" in lines[0]
    assert "1 done  28 running  1 failed  9 waiting  1 in another process" in lines[1]
    assert "step  6/12  loss 0.250" in lines[2]
    assert lines[2].split()[0].startswith("n_layers=1,xxx")
    assert "and 10 more" in lines[-2]
    assert "it broke" not in lines[1]
    assert lines[-1].startswith("n_layers=2,xxx")


def test_the_bar_moves_within_a_run(tiny):
    board = board_of(tiny, 2)
    first, second = board.runs
    for now, filled in (
        ({first: Standing("running"), second: Standing("running")}, 0),
        ({first: Standing("running", 6)}, 6),
        ({first: Standing("done", 8), second: Standing("running", 6)}, 18),
    ):
        board.runs |= now
        assert lines_of(board)[0].count("━") == filled


def test_time_left_follows_what_was_done_here(tiny, monkeypatch):
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
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


def test_plain_lines_tell_every_end(tiny, capsys):
    board, show = board_of(tiny, 3, done=Standing("done", 12)), SweepProgress(None)
    _, second, third = board.runs
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
        f"1/3  {third}  lost, will be resumed: ended by SIGKILL",
        f"2/3  {second}  done  step 12  loss 0.5000",
        f"3/3  {third}  failed  it broke",
    ]


def test_plain_lines_tell_now_and_then_that_all_is_well(tiny, capsys, monkeypatch):
    monkeypatch.setattr("headway.terminal.sweep.BEAT", 0.0)
    board, show = board_of(tiny, 6), SweepProgress(None)
    names = list(board.runs)
    for name in names[:5]:
        board.runs[name] = Standing("running")
    board.runs[names[1]] = Standing("running", 6, 0.25)
    show(board, names[1])
    line = capsys.readouterr().out.splitlines()[-1]
    assert line.startswith(f"… {names[0]} step 0/12, {names[1]} step 6/12, ")
    assert " and 1 more" in line


def test_the_end_of_a_sweep_is_a_table(tiny, tmp_path, capsys):
    train(tiny, tmp_path / "a")
    Run.create(tmp_path / "b", tiny).fail("it broke")
    ends = {
        "a": Standing("done", 12),
        "b": Standing("failed", message="it broke"),
        "c": Standing("failed", message="the disk is full"),
    }
    board = Board(dict.fromkeys(ends, tiny), ends)
    print_sweep(board, tmp_path)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:3] for line in lines[1:3]] == [["a", "done", "12"], ["b", "failed", "0"]]
    assert lines[3:] == [
        "b: it broke",
        "c: the disk is full (not recorded)",
        f"1 done, 2 failed; sweep {tmp_path}",
    ]
