"""Dates of paths, on checkpoints whose attention and losses are known."""

import math

import pytest

from headway import Circuit, emergence
from headway.dynamics import Timeline
from headway.errors import HeadwayError
from ruled import TO_KEY, First4, Ruled

CIRCUIT = Circuit.of([]).adding(f"L0.H0 {TO_KEY}")


def dated(attention, sure=lambda at_key: at_key[:, 0]):
    """The history of the one path of models that attend so much, ten steps apart."""
    checkpoints = {10 * i: Ruled([share], sure) for i, share in enumerate(attention)}
    timeline = emergence(checkpoints, CIRCUIT, First4(), sequences=8)
    return timeline, timeline.paths[0]


def test_a_path_emerges_where_its_attention_passes_a_half():
    _, history = dated([0.1, 0.9, 0.4])
    assert history.attention == pytest.approx([0.1, 0.9, 0.4])
    assert history.emerged == pytest.approx(10 * (0.5 - 0.1) / (0.9 - 0.1))


def test_half_is_half_of_the_final_attention_not_of_the_largest():
    timeline, history = dated([0.1, 0.9, 0.4])
    assert timeline.half[history.path] == pytest.approx(10 * (0.2 - 0.1) / (0.9 - 0.1))
    timeline, history = dated([0.1, 0.2, 0.3])
    assert history.emerged is None
    assert timeline.half[history.path] == pytest.approx(5.0)


def test_a_path_is_needed_where_the_loss_without_it_has_risen_by_half():
    def sure(at_key):
        return (at_key[:, 0] > 0.3).float()

    timeline, history = dated([0.1, 0.2, 0.9, 0.9], sure)
    assert history.loss_without == pytest.approx([math.log(6)] * 4)
    assert timeline.loss == pytest.approx(
        [math.log(6), math.log(6), 0.0, 0.0], abs=1e-6
    )
    assert history.needed == pytest.approx(15.0)


@pytest.mark.parametrize(
    ("more_sure", "is_needed"), [(0.0, False), (0.005, False), (0.01, True)]
)
def test_a_path_that_hardly_matters_was_never_needed(more_sure, is_needed):
    timeline, history = dated(
        [0.01, 1.0], lambda at_key: 0.1 + more_sure * at_key[:, 0]
    )
    rise = history.loss_without[-1] - timeline.loss[-1]
    assert (rise > 0.02) == is_needed
    assert (history.needed is not None) == is_needed


@pytest.mark.parametrize("steps", [[0, 0], [10, 0], []])
def test_steps_of_a_timeline_rise(steps):
    with pytest.raises(HeadwayError, match=r"^steps = .* must be rising"):
        Timeline(steps, [0.0] * len(steps), [], {}, 8)


def test_a_curve_has_a_value_for_every_step():
    with pytest.raises(HeadwayError, match=r"values in a curve"):
        Timeline([0, 10], [0.0], [], {}, 8)
