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
    assert sorted(ranks, key=lambda name: -ranks[name]) == [
        "small",
        "large",
        "less",
        "none",
    ]
    assert len(set(tied({"a": 1.0, "b": 1.0004}, {}).values())) == 1


def test_f1_of_sets():
    assert f1({1, 2, 3}, {2, 3, 4, 5}) == pytest.approx(4 / 7)
    assert f1(set(), set()) == 1


def test_pairs_of_positions_count_as_the_model_attends_there():
    subject = Subject(compiled(1), 16)
    truth = subject.known.nearest(None, {})
    one = min(truth)
    wrong = AttentionPath.of(
        one.layer, one.head, next(r for r in subject.relations if r != one.relation)
    )
    paths = {path: float(path in truth) for path in subject.paths}
    said = {"all": truth, "half": truth - {one}, "wrong name": truth - {one} | {wrong}}
    found = {
        name: score(subject, Answer(paths, frozenset(those)), 0.0)
        for name, those in said.items()
    }
    assert found["all"].pairs_f1 == pytest.approx(1)
    assert found["half"].pairs_f1 == pytest.approx(2 / 3, abs=0.1)
    assert found["half"].heads_f1 < found["wrong name"].heads_f1 == 1
    assert found["wrong name"].pairs_f1 == pytest.approx(
        found["half"].pairs_f1, abs=0.1
    )


@pytest.mark.parametrize("knows", ["heads", "nothing"])
def test_where_paths_are_not_known_what_is_known_is_scored(knows):
    whole = compiled(1)
    heads = frozenset({(1, 0)})
    known = Known(whole.model, whole.task, heads=heads, knows=knows, alone=0.5)
    subject = Subject(known, 16)
    answer = Answer({path: float(path.layer) for path in subject.paths})
    found = score(subject, answer, 0.0)
    assert (found.exact, found.heads_f1) == (
        (True, 1.0) if knows == "heads" else (None, None)
    )
    assert found.paths_ap is None
    known = replace(known, heads=frozenset(subject.heads))
    told = (
        found.alone,
        found.alone_at_zero,
        score(Subject(known, 16), answer, 0.0).alone_at_zero,
    )
    assert (
        told == (None,) * 3
        if knows == "nothing"
        else told[0] == 0.5 and told[1] < told[2] == 1
    )
    assert 0 <= found.curve.agreement <= 1
    chosen = replace(answer, chosen=frozenset(whole.required))
    assert score(subject, chosen, 0.0).exact is (False if knows == "heads" else None)


def test_areas_are_those_of_straight_lines():
    assert area([0, 0.5, 1], [0, 1, 1]) == pytest.approx(0.75)
    assert area(SIZES, [1.0] * len(SIZES)) == pytest.approx(0.999)
    # Better than the model.
    assert area(SIZES, [2.0] * len(SIZES)) == pytest.approx(1.998)


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
    """Ten paths; nothing without any, the model's own margin with all, and twice that
    between.
    """
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
