"""Discovery is scored on circuits that are known, and finds them."""

import pytest

from headway.circuits import Circuit, Paths, Uniform, discover
from headway.paths import Path
from headway_experiments.arena import Known, compiled
from headway_experiments.arena.truth import Hits, expected, score, scored, total


def test_compiled_circuits_are_found_exactly():
    scores = list(scored([], [1, 2]))
    names = [f"{how} D={depth}" for how in ("doubling", "sequential") for depth in (1, 2)]
    assert [found.name for found in scores] == names
    for found in scores:
        assert found.exact, found
        assert found.replaced_loss < 0.01


@pytest.mark.slow
def test_deep_compiled_circuits_are_found_exactly():
    assert all(found.exact for found in scored([], range(3, 9)))


@pytest.mark.parametrize(
    "seeds",
    [(404, 405, 407), pytest.param(tuple(range(400, 405)), marks=pytest.mark.slow)],
    ids=["small", "some"],
)
def test_planted_circuits_are_found(seeds):
    scores = list(scored(seeds))
    assert total(s.paths for s in scores).f1 >= 0.98
    assert total(s.heads for s in scores).f1 >= 0.99


def circuit(*paths) -> Circuit:
    return Circuit(
        {path.at: Paths(frozenset({path.relation})) for path in paths} | {(9, 0): Uniform()}
    )


def test_any_one_of_several_alternatives_is_right():
    known = compiled(1)
    a, b, c = Path.of(0, 0, "s2←s1"), Path.of(0, 1, "s2←s1"), Path.of(1, 0, "s0←s2")
    two = Known(known.model, known.task, frozenset({c}), ((frozenset({a}), frozenset({b})),))
    assert expected(circuit(a, c), two) == {a, c}
    assert expected(circuit(b, c), two) == {b, c}
    assert len(expected(circuit(c), two)) == 2


def test_a_score_counts_what_is_missing_and_what_is_too_much():
    known = compiled(1)
    found = discover(known.model, known.task, trials=False)
    extra, lost = Path.of(0, 0, "s2←s1"), Path.of(0, 0, "s1←s0")
    other = Known(
        known.model, known.task, known.required - {extra} | {lost}, (), frozenset({extra})
    )
    result = score("it", found, other)
    assert result.extra == [extra]
    assert result.missing == [lost]
    assert result.decoys == 1
    assert not result.exact
    assert result.paths == Hits(found=2, true=2, right=1)
    assert result.paths.f1 == result.paths.precision == result.paths.recall == 0.5
    assert result.heads.f1 == 1
