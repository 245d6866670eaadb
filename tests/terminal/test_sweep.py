"""How a sweep looks while it goes and when it has ended: at most 80 columns, and every count."""

import io
from dataclasses import replace

from rich.console import Console

from headway.sweeps import Board, Event
from headway.terminal.sweep import SweepProgress, print_sweep
from headway.training import Run, train


def board_of(tiny, count: int) -> Board:
    return Board({f"n_layers={i}," + "x" * 70: replace(tiny, seed=i) for i in range(count)})


def lines_of(board: Board, height: int = 24) -> list[str]:
    shown = io.StringIO()
    out = Console(width=80, height=height, file=shown)
    out.print(SweepProgress(None).panel(board, out))
    return shown.getvalue().splitlines()


def test_the_live_table_fits_and_counts(tiny):
    board = board_of(tiny, 40)
    names = list(board.runs)
    board.found(Event("done", names[0]))
    for name in names[1:31]:
        board.note(Event("started", name, 0, 12))
    board.note(Event("progressed", names[1], 6, 12, 0.25))
    board.note(Event("failed", names[2], message="it broke " * 30))
    board.note(Event("elsewhere", names[3]))
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
    for name in (first, second):
        board.note(Event("started", name, 0, 12))
    assert lines_of(board)[0].count("━") == 0
    board.note(Event("progressed", first, 6, 12, 0.25))
    assert lines_of(board)[0].count("━") == 6
    board.found(Event("done", first))
    board.note(Event("progressed", second, 6, 12, 0.25))
    assert lines_of(board)[0].count("━") == 18


def test_time_left_follows_what_was_done(tiny, monkeypatch):
    now = [100.0]
    monkeypatch.setattr("headway.sweeps.board.time.monotonic", lambda: now[0])
    board = board_of(tiny, 4)
    names = list(board.runs)
    assert board.seconds_left() is None
    board.note(Event("progressed", names[0], 1, 12))
    board.note(Event("progressed", names[0], 6, 12))
    now[0] += 6.0
    assert board.seconds_left() == 6.0 + 3 * 12.0
    board.note(Event("progressed", names[0], 12, 12))
    board.note(Event("done", names[0]))
    now[0] += 6.0
    assert board.seconds_left() == 3 * 12.0


def test_plain_lines_tell_every_end(tiny, capsys):
    board, show = board_of(tiny, 3), SweepProgress(None)
    first, second, third = board.runs
    board.found(Event("done", first))
    show(board, None)
    for event in (
        Event("started", second, 0, 12),
        Event("progressed", second, 12, 12, 0.5),
        Event("lost", third, message="ended by SIGKILL"),
        Event("done", second),
        Event("failed", third, message="it broke"),
    ):
        board.note(event)
        show(board, event)
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
        board.note(Event("started", name, 0, 12))
    event = Event("progressed", names[1], 6, 12, 0.25)
    board.note(event)
    show(board, event)
    line = capsys.readouterr().out.splitlines()[-1]
    assert line.startswith(f"… {names[0]} step 0/12, {names[1]} step 6/12, ")
    assert " and 1 more" in line


def test_the_end_of_a_sweep_is_a_table(tiny, tmp_path, capsys):
    train(tiny, tmp_path / "a")
    Run.create(tmp_path / "b", tiny).fail("it broke")
    board = Board({"a": tiny, "b": tiny, "c": tiny})
    board.note(Event("done", "a"))
    board.note(Event("failed", "b", message="it broke"))
    board.note(Event("failed", "c", message="the disk is full"))
    print_sweep(board, tmp_path)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:3] for line in lines[1:3]] == [["a", "done", "12"], ["b", "failed", "0"]]
    assert lines[3:] == [
        "b: it broke",
        "c: the disk is full (not recorded)",
        f"1 done, 2 failed; sweep {tmp_path}",
    ]


def test_what_begins_anew_counts_from_there(tiny, monkeypatch):
    board = board_of(tiny, 1)
    (name,) = board.runs
    for step in (501, 600, 10):
        board.note(Event("progressed", name, step, 1000))
    assert board.seconds_left() is not None
    assert board.seconds_left() > 0
