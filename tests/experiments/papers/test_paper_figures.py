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
    return set(
        re.findall(r"<text[^>]*>([^<]*)</text>", svg_bytes(figure, "t").decode())
    )


def test_means_stand_among_the_dots():
    *dots, mean = means([(8.0, 0.1), (8.0, 0.3), (64.0, 1.0)], numbered(0), "mean")
    assert [(list(one.x), list(one.y)) for one in dots] == [
        ([8, 8], [0.1, 0.3]),
        ([64], [1]),
    ]
    assert (list(mean.x), list(mean.y), mean.label) == ([8, 64], [0.2, 1.0], "mean")


def test_a_name_has_one_look_and_one_entry_of_the_legend():
    found = curves({"a": [([0, 1], [1, 2]), ([0, 1], [3, 4])], "b": [([0], [5])]})
    assert [one.label for one in found] == ["a", "", "b"]
    assert found[0].look == found[1].look != found[2].look


@pytest.mark.parametrize("shared", [False, True])
def test_panels_have_titles_levels_shades_and_a_legend(shared):
    panels = [
        Panel(
            title,
            [Series([0, 9], [1, 2], {}, "loss")],
            levels={"guess": 1.5},
            shade=(2, 3),
        )
        for title in ("one", "two", "three", "four")
    ]
    figure = draw_panels(panels, shared=shared)
    assert len(figure.axes) == 6
    assert len(figure.axes[3].patches) == 1
    texts = shown(figure)
    assert {"one", "four", "guess", "loss", "step"} <= texts
    assert len(figure.legends) == shared


def capacities(**kinds):
    """The texts of a panel of models of some sizes that keep so much."""
    models = {
        kind: [Kept(f"d={size}", kept, True, size, 0) for size, kept in points]
        for kind, points in kinds.items()
    }
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
