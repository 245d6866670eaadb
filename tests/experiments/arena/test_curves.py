"""MIB's curves by worked numbers, and at their ends."""

from types import SimpleNamespace

import pytest
import torch

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


def test_what_is_better_than_the_model_is_off_it_too():
    """Ten paths; nothing without any, the model's own margin with all, and twice that between."""
    subject = SimpleNamespace(
        only=lambda paths, part: len(paths),
        outputs=lambda kept, part: kept,
        margin=lambda kept, part: torch.tensor(-float({0: 0, 10: 1}.get(kept, 2))),
        agreement=lambda kept, part: kept / 10,
    )
    found = curve(subject, range(10))
    # off by 1 up to half of the paths, and then less and less
    assert found.cmd == pytest.approx(0.499 + 0.25)
    assert found.cpr == pytest.approx(0.05 + 0.8 + 0.75)
    assert found.agreement == 0.2  # two of ten
