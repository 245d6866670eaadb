"""Rankings scored by hand-made numbers; alternatives that work as well."""

import pytest

from headway.circuits import AttentionPath
from headway_experiments.arena.compiled import compiled
from headway_experiments.arena.scoring import Ranked, f1, ranked, score, tied
from headway_experiments.arena.subject import Answer, Subject


def test_a_ranking_is_scored_as_by_hand():
    scores = {"a": 4.0, "b": 3.0, "c": 2.0, "d": 1.0}
    assert ranked(scores, {"a", "b"}) == Ranked(1.0, 1.0)
    # a beats c and d; d loses to all: two of four pairs. Precision 1 at a, 2/4 at d.
    assert ranked(scores, {"a", "d"}) == Ranked(0.5, 0.75)


def test_ties_count_half():
    found = ranked({"a": 1.0, "b": 1.0, "c": 1.0, "d": 0.0}, {"a"})
    assert found.auroc == pytest.approx((0.5 + 0.5 + 1) / 3)
    assert found.precision == pytest.approx(1 / 3)


def test_where_all_are_true_there_is_nothing_to_tell():
    assert ranked({"a": 1.0}, {"a"}) == Ranked(None, None)


def test_scores_alike_to_three_digits_are_ordered_by_size():
    scores = {"small": 0.99981, "large": 0.9999, "less": 0.9, "none": 0.0}
    sizes = {"small": 1.0, "large": 9.0, "less": 1.0, "none": 1.0}
    ranks = tied(scores, sizes)
    assert sorted(ranks, key=lambda name: -ranks[name]) == ["small", "large", "less", "none"]
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
        name: score(
            subject, Answer(dict.fromkeys(subject.heads, 0.0), paths, frozenset(those)), 0.0
        )
        for name, those in said.items()
    }
    assert found["all"].pairs_f1 == pytest.approx(1)
    assert found["half"].pairs_f1 == pytest.approx(2 / 3, abs=0.1)
    assert found["half"].heads_f1 < found["wrong name"].heads_f1 == 1
    assert found["wrong name"].pairs_f1 == pytest.approx(found["half"].pairs_f1, abs=0.1)
