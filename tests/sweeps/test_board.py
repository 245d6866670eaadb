"""How a sweep stands: shares of all computing, and the time that is left."""

from dataclasses import replace

import pytest

from headway.sweeps.sweep import Board, Standing, step_cost


@pytest.fixture
def configs(tiny, with_training):
    """A run, and one of ten times as many steps."""
    return {"short": tiny, "long": with_training(tiny, steps=10 * tiny.training.steps)}


def test_runs_count_by_what_they_cost(configs):
    steps = configs["short"].training.steps
    board = Board(configs, {"short": Standing("done", steps)})
    assert board.share == pytest.approx(1 / 11)
    board.runs["long"] = Standing("running", 5 * steps)
    assert board.share == pytest.approx(6 / 11)
    board.runs["long"] = Standing("failed", 5 * steps)
    assert board.share == 1.0


def test_a_step_of_a_larger_batch_costs_more(tiny, with_training):
    larger = with_training(tiny, batch_size=3 * tiny.training.batch_size)
    assert step_cost(larger) == pytest.approx(3 * step_cost(tiny))
    wider = replace(tiny, model=replace(tiny.model, d_model=2 * tiny.model.d_model))
    assert step_cost(wider) > step_cost(tiny)


def test_the_time_left_is_known_once_something_is_made(configs, monkeypatch):
    now = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    steps = configs["short"].training.steps
    board = Board(configs, {"short": Standing("done", steps)})
    now = 150.0
    assert board.seconds_left() is None
    board.runs["long"] = Standing("running", 2 * steps)
    assert board.seconds_left() == pytest.approx(50 * 8 / 2)


def test_ended_runs_are_counted_by_how_they_ended(configs):
    board = Board(configs, {"short": Standing("failed", 3)})
    assert board.ended == 1
    assert dict(board.before) == {"failed": 1}
    assert board.named("failed") == ["short"]
    assert board.named("waiting") == ["long"]
