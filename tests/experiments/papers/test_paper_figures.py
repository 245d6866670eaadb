import re

import pytest

from headway.report.figures.depth_plot import draw_depths
from headway.report.figures.style import svg_bytes
from headway_experiments.figures.capacity_plot import Kept, draw_capacity
from headway_experiments.figures.frontier_plot import draw_frontier
from headway_experiments.figures.memory_plot import draw_errors, draw_one_step
from headway_experiments.figures.recall_plot import Course, draw_courses
from headway_experiments.figures.waiting_plot import NEVER, Waiting, draw_waiting


def test_capacities_are_drawn_with_their_slope():
    linear = Kept("linear", [(64.0, 60.0), (256.0, 240.0), (1024.0, 960.0)])
    square = Kept("MLP", [(100.0, 1.0), (1000.0, 100.0)])
    drawn = svg_bytes(draw_capacity([linear, square, Kept("none", [])], "x", "y"), "t").decode()
    assert "linear, slope 1.00" in drawn
    assert "MLP, slope 2.00" in drawn
    assert "none" not in drawn.replace("fill: none", "")
    alone = svg_bytes(draw_capacity([Kept("one", [(10.0, 5.0)])], "x", "y"), "t").decode()
    assert "0.5 a parameter" in alone


def test_ticks_of_logarithmic_axes_are_plain_numbers():
    waiting = draw_waiting([Waiting("alone", 0, False, {1: [10.0, 4000.0]}, 9000)])
    spread = draw_capacity([Kept("one", [(0.01, 5.0), (20_000.0, 70_000.0)])], "x", "y")
    for figure, shown in (
        (waiting, {"10", "100", "1,000"}),
        (spread, {"0.01", "1", "100", "10,000", "100,000"}),
        (draw_depths(100), {"2", "16", "64"}),
    ):
        texts = set(re.findall(r"<text[^>]*>([^<]*)</text>", svg_bytes(figure, "t").decode()))
        assert shown <= texts
        assert not any("$" in text for text in texts)


def test_one_step_has_a_dot_a_run():
    figure = draw_one_step([(8.0, 0.1), (8.0, 0.3), (64.0, 1.0)])
    (axes,) = figure.axes
    _, dots, mean = axes.lines
    assert len(dots.get_xdata()) == 3
    assert list(mean.get_ydata()) == [0.2, 1.0]


def test_errors_have_a_panel_an_exponent_and_one_for_samples():
    curve = {8: 0.5, 16: 0.25}
    errors = {
        (name, a, seed): curve
        for name in ("first", "samples")
        for a in (1.5, 2.0)
        for seed in (0, 1)
    }
    figure = draw_errors(errors, {"first": lambda a: a - 1, "samples": lambda a: 1 - 1 / a})
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == ["a = 1.5", "a = 2", "room for all that was seen"]
    means, *_, expected = figure.axes[1].lines
    assert list(means.get_ydata()) == [0.5, 0.25]
    assert list(expected.get_ydata()) == [0.5, 0.25]


def test_the_frontier_has_a_dot_a_seed_and_its_line():
    points = {"a": [(100.0, 0.0, 10.0), (100.0, 0.0, 20.0)], "b": [(50.0, 50.0, 10.0)]}
    (axes,) = draw_frontier(points, (0.1, 0.2)).axes
    first, second, line = axes.lines
    assert list(first.get_xdata()) == [10.0, 5.0]
    assert list(second.get_ydata()) == [5.0]
    assert (list(line.get_xdata()), list(line.get_ydata())) == ([10.0, 0], [0, 5.0])


def test_courses_have_a_panel_a_run_and_shade_what_is_in_between():
    losses = [3.0, 0.0, 0.0], [1.0, 2.0, 0.0]
    staged = Course("seed=0", [0, 10, 20], *losses, (10, 10))
    plain = Course("seed=1", [0, 10, 20], *losses, None)
    one, other = draw_courses([staged, plain], 2.0).axes
    assert len(one.patches) == 1
    assert not other.patches
    assert list(one.lines[1].get_ydata()) == [4.0, 2.0, 0.0]


def test_waiting_has_means_only_of_what_all_runs_learnt():
    alone = Waiting("alone", 0, False, {1: [10.0, 40.0], 2: [90.0, None]}, 100)
    (axes,) = draw_waiting([alone]).axes
    mean, *marks, _ = axes.lines
    assert (list(mean.get_xdata()), list(mean.get_ydata())) == ([1], [pytest.approx(20.0)])
    drawn = [(float(line.get_ydata()[0]), line.get_marker()) for line in marks]
    assert drawn == [(10.0, "."), (40.0, "."), (90.0, "."), (100, NEVER)]
