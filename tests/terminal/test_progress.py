"""How training looks while it goes."""

import io
from types import SimpleNamespace

import pytest
from rich.console import Console

from headway.terminal.progress import FLOOR, Progress, height


def test_losses_are_drawn_on_a_logarithmic_scale():
    assert height(1.0) == pytest.approx(1)
    assert height(FLOOR) == pytest.approx(0)
    assert height(FLOOR / 10) == pytest.approx(0)
    assert height(0.1) - height(0.05) == pytest.approx(height(0.02) - height(0.01))


@pytest.mark.parametrize(("scale", "falls"), [(1.0, False), (0.5, True)])
def test_the_panel_says_when_the_rates_fall(tiny, scale, falls, capsys):
    run = SimpleNamespace(config=tiny)
    metrics = {
        "val_loss": 0.1,
        "partial": {"x_1": 0.02, "x_2": 0.8},
        "examples_per_second": 10.0,
        "rate_scale": scale,
    }
    progress, page = Progress(None), io.StringIO()
    for step in (3, 6):
        progress(run, step, 12, metrics)  # pyright: ignore[reportArgumentType]
    panel = progress.panel(run, 6, 12)  # pyright: ignore[reportArgumentType]
    Console(width=80, file=page).print(panel)
    lines = page.getvalue().splitlines()
    assert ("rates fall" in lines[1]) is falls
    assert "learnt" in lines[2]
    assert "learnt" not in lines[3]
    assert max(map(len, lines)) <= 80


def test_a_file_is_told_why_fewer_steps_are_planned(tiny, capsys):
    progress, run = Progress(None), SimpleNamespace(config=tiny)
    for step, end in ((1, 90), (2, 90), (3, 40), (4, 40)):
        progress(run, step, end, None)  # pyright: ignore[reportArgumentType]
    told = capsys.readouterr().out.splitlines()
    assert told == ["the loss is low enough: rates fall from here, to end at step 40"]
    progress(run, 1, 90, None)  # pyright: ignore[reportArgumentType]
    progress(run, 2, 2, None)  # pyright: ignore[reportArgumentType]
    assert capsys.readouterr().out == ""  # a new attempt; a run that stops early says so itself
