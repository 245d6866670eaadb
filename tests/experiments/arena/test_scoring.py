"""Rankings scored by hand-made numbers; MIB's curves by worked numbers, and at their
ends.
"""

from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from headway.relations import AttentionPath
from headway_experiments.arena.case import Known
from headway_experiments.arena.compiled import compiled
from headway_experiments.arena.scoring import (
    SIZES,
    area,
    average_precision,
    curve,
    f1,
    score,
    tied,
)
from headway_experiments.arena.subject import Answer, Subject


@pytest.mark.parametrize(
    ("scores", "true", "precision"),
    [
        ("4321", "ab", 1.0),
        ("4321", "ad", 0.75),  # 1 at a, 2/4 at d
        ("1110", "a", 1 / 3),  # ties count as if the true one came last
        ("1110", "abcd", None),  # nothing to tell
    ],
)
def test_a_ranking_is_scored_as_by_hand(scores, true, precision):
    ranking = {name: float(score) for name, score in zip("abcd", scores, strict=True)}
    assert average_precision(ranking, set(true)) == pytest.approx(precision)


def test_scores_alike_to_three_digits_are_ordered_by_size():
    scores = {"small": 0.99981, "large": 0.9999, "less": 0.9, "none": 0.0}
    sizes = {"small": 1.0, "large": 9.0, "less": 1.0, "none": 1.0}
    ranks = tied(scores, sizes)
    assert sorted(ranks, key=ranks.get) == ["none", "less", "large", "small"]


def test_scores_alike_to_three_digits_are_tied_where_sizes_are_not_known():
    ranks = tied({"a": 1.0, "b": 1.0004}, {})
    assert ranks["a"] == ranks["b"]


def test_f1_of_sets():
    assert f1({1, 2, 3}, {2, 3, 4, 5}) == pytest.approx(4 / 7)
    assert f1(set(), set()) == 1


def test_pairs_of_positions_count_as_the_model_attends_there():
    subject = Subject(compiled(1), 16)
    truth = subject.known.nearest(None, {})
    path = min(truth)
    other = next(name for name in subject.relations if name != path.relation)
    wrong = AttentionPath.of(path.layer, path.head, other)
    scores = {path: float(path in truth) for path in subject.paths}

    def scored(chosen):
        return score(subject, Answer(scores, frozenset(chosen)), 0.0)

    half = truth - {path}
    half_score = scored(half)
    wrong_name_score = scored(half | {wrong})
    assert scored(truth).pairs_f1 == pytest.approx(1)
    assert half_score.pairs_f1 == pytest.approx(2 / 3, abs=0.1)
    assert half_score.heads_f1 < wrong_name_score.heads_f1
    assert wrong_name_score.heads_f1 == 1
    assert wrong_name_score.pairs_f1 == pytest.approx(half_score.pairs_f1, abs=0.1)


WHOLE = compiled(1)


def subject_that(knows, *heads):
    """A model of which no path is known."""
    known = Known(
        WHOLE.model, WHOLE.task, heads=frozenset(heads), knows=knows, alone=0.5
    )
    return Subject(known, 16)


def scores_of(subject, chosen=None):
    """Those of an answer by layer, or of one that chooses paths."""
    answer = Answer({path: float(path.layer) for path in subject.paths})
    if chosen is not None:
        answer = replace(answer, chosen=frozenset(chosen))
    return score(subject, answer, 0.0)


def test_where_heads_alone_are_known_they_are_scored():
    subject = subject_that("heads", (1, 0))
    scores = scores_of(subject)
    assert scores.exact is True
    assert scores.heads_f1 == 1.0
    assert scores.paths_ap is None
    assert 0 <= scores.curve.agreement <= 1
    assert scores_of(subject, WHOLE.required).exact is False


def test_where_heads_alone_are_known_it_is_told_what_they_do_alone():
    scores = scores_of(subject_that("heads", (1, 0)))
    of_all_heads = scores_of(subject_that("heads", (0, 0), (1, 0)))
    assert scores.alone == 0.5
    assert scores.alone_at_zero < 1
    assert of_all_heads.alone_at_zero == 1


def test_where_nothing_is_known_the_curve_is_scored():
    subject = subject_that("nothing", (1, 0))
    scores = scores_of(subject)
    assert scores.exact is None
    assert scores.heads_f1 is None
    assert scores.paths_ap is None
    assert scores.alone is None
    assert scores.alone_at_zero is None
    assert 0 <= scores.curve.agreement <= 1
    assert scores_of(subject, WHOLE.required).exact is None


def test_areas_are_those_of_straight_lines():
    assert area([0, 0.5, 1], [0, 1, 1]) == pytest.approx(0.75)
    assert area(SIZES, [1.0] * len(SIZES)) == pytest.approx(0.999)
    # Better than the model.
    assert area(SIZES, [2.0] * len(SIZES)) == pytest.approx(1.998)


def test_the_right_paths_first_are_near_the_model_and_last_are_far():
    subject = Subject(compiled(2), 16)
    truth = subject.known.nearest(None, {})
    order = sorted(subject.paths, key=lambda path: path not in truth)
    best = curve(subject, order)
    worst = curve(subject, order[::-1])
    # 30 paths, of which 4 count: all that count are kept from 20 % on
    assert best.agreement == pytest.approx(1)
    assert best.cmd < 0.2 < 0.5 < worst.cmd
    assert best.cpr == pytest.approx(0.999 - best.cmd, abs=0.02)
    assert worst.agreement < 0.6


def test_what_is_better_than_the_model_is_off_it_too():
    """Ten paths; nothing without any, the model's own margin with all, and twice that
    between.
    """

    def margin(kept, part):
        size = {0: 0.0, 10: 1.0}.get(kept, 2.0)
        return torch.tensor(-size)

    subject = SimpleNamespace(margin=margin)
    subject.only = lambda paths, part: len(paths)
    subject.outputs = lambda kept, part: kept
    subject.agreement = lambda kept, part: kept / 10
    found = curve(subject, range(10))
    # off by 1 up to half of the paths, and then less and less
    assert found.cmd == pytest.approx(0.499 + 0.25)
    assert found.cpr == pytest.approx(0.05 + 0.8 + 0.75)
    assert found.agreement == 0.2  # two of ten
