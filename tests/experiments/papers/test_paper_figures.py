"""Panels of curves and points, and the figures that are made of them."""

import re

import pytest

from headway.report.figures.style import svg_bytes
from headway_experiments.figures import (
    Panel,
    Series,
    curves,
    draw_panels,
    means,
    numbered,
)
from headway_experiments.talk.capacity import Kept, capacity_panel


def shown(figure):
    page = svg_bytes(figure, "t").decode()
    return set(re.findall(r"<text[^>]*>([^<]*)</text>", page))


def points(series):
    return list(series.x), list(series.y)


def test_means_stand_among_the_dots():
    drawn = [(8.0, 0.1), (8.0, 0.3), (64.0, 1.0)]
    of_eight, of_sixty_four, mean = means(drawn, numbered(0), "mean")
    assert points(of_eight) == ([8, 8], [0.1, 0.3])
    assert points(of_sixty_four) == ([64], [1])
    assert points(mean) == ([8, 64], [0.2, 1.0])
    assert mean.label == "mean"


def test_a_name_has_one_look_and_one_entry_of_the_legend():
    twice = [([0, 1], [1, 2]), ([0, 1], [3, 4])]
    first, again, other = curves({"a": twice, "b": [([0], [5])]})
    assert first.label == "a"
    assert again.label == ""
    assert other.label == "b"
    assert first.look == again.look
    assert first.look != other.look


@pytest.mark.parametrize("shared", [False, True])
def test_panels_have_titles_levels_shades_and_a_legend(shared):
    series = [Series([0, 9], [1, 2], {}, "loss")]
    panels = []
    for title in ("one", "two", "three", "four"):
        panels.append(Panel(title, series, levels={"guess": 1.5}, shade=(2, 3)))
    figure = draw_panels(panels, shared=shared)
    assert len(figure.axes) == 6
    assert len(figure.axes[3].patches) == 1
    texts = shown(figure)
    assert {"one", "four", "guess", "loss", "step"} <= texts
    assert len(figure.legends) == shared


def capacities(**kinds):
    """The texts of a panel of models of some sizes that keep so much."""
    models = {}
    for kind, of_sizes in kinds.items():
        kept = [Kept(f"d={size}", count, True, size, 0) for size, count in of_sizes]
        models[kind] = kept
    return shown(draw_panels([capacity_panel(models, "y")]))


def test_capacities_are_drawn_with_their_slope():
    linear = [(64, 60.0), (256, 240.0), (1024, 960.0)]
    texts = capacities(linear=linear, MLP=[(100, 1.0), (1000, 100.0)], none=[])
    assert {"linear, slope 1.00", "MLP, slope 2.00"} <= texts
    assert "0.5 a parameter" in capacities(one=[(10, 5.0)])


def test_ticks_of_logarithmic_axes_are_plain_numbers():
    texts = capacities(one=[(0.01, 5.0), (20_000.0, 70_000.0)])
    assert {"0.01", "1", "100", "10,000", "100,000"} <= texts
    assert not any("$" in text for text in texts)
