"""Counting what is done one by one, and how long the rest takes."""

import time

from headway.terminal.counting import counting


def test_what_comes_before_the_first_is_not_its_time(monkeypatch, capsys):
    """Loading a model takes longer than a question; it does not come again."""
    clock = iter((90.0, 92.0, 130.0, 150.0))
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
    with counting("asked") as watch:
        for done in (11, 12, 21, 30):
            watch(done, 30)
    assert capsys.readouterr().out.splitlines() == [
        "asked 11 of 30",
        "asked 21 of 30; about 36 s left",
        "asked 30 of 30",
    ]
