"""MIB's curves by worked numbers, and at their ends."""

import pytest

from headway_experiments.arena.compiled import compiled
from headway_experiments.arena.scoring import SIZES, area, curve
from headway_experiments.arena.subject import Subject


def test_areas_are_those_of_straight_lines():
    assert area([0, 0.5, 1], [0, 1, 1]) == pytest.approx(0.75)
    assert area(SIZES, [1.0] * len(SIZES)) == pytest.approx(0.999)
    assert area(SIZES, [2.0] * len(SIZES)) == pytest.approx(1.998)  # better than the model


def test_the_right_paths_first_are_near_the_model_and_last_are_far():
    subject = Subject(compiled(2), 16)
    truth = subject.known.nearest(None, {})
    order = sorted(subject.paths, key=lambda path: path not in truth)
    best, worst = curve(subject, order), curve(subject, order[::-1])
    # 30 paths, of which 4 count: all that count are kept from 20 % on
    assert best.agreement == pytest.approx(1)
    assert best.cmd < 0.2 < 0.5 < worst.cmd
    assert best.cpr == pytest.approx(0.999 - best.cmd, abs=0.02)
    assert worst.agreement < 0.6
