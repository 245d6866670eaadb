"""Discovery is scored on circuits that are known, and finds them."""

import pytest

from headway.circuits import Circuit, Hits, Paths, Uniform, discover, score, total
from headway.circuits.truth import expected, score_compiled, score_planted
from headway.models import Known, compiled


@pytest.mark.parametrize("construction", ["doubling", "sequential"])
def test_compiled_circuits_are_found_exactly(construction):
    for found in score_compiled([1, 2, 3], construction):
        assert found.exact, found
        assert found.replaced_loss < 0.01


@pytest.mark.slow
@pytest.mark.parametrize("construction", ["doubling", "sequential"])
def test_deep_compiled_circuits_are_found_exactly(construction):
    assert all(found.exact for found in score_compiled(range(4, 9), construction))


def test_planted_circuits_are_found():
    scores = list(score_planted(range(400, 405)))
    assert total(s.paths for s in scores).f1 >= 0.98
    assert total(s.heads for s in scores).f1 >= 0.99


def circuit(*paths) -> Circuit:
    return Circuit({path[:2]: Paths(frozenset({path[2]})) for path in paths} | {(9, 0): Uniform()})


def test_any_one_of_several_alternatives_is_right():
    known = compiled(1)
    a, b, c = (0, 0, "s2→s1"), (0, 1, "s2→s1"), (1, 0, "s0→s2")
    two = Known(known.model, known.task, frozenset({c}), ((frozenset({a}), frozenset({b})),))
    assert expected(circuit(a, c), two) == {a, c}
    assert expected(circuit(b, c), two) == {b, c}
    assert len(expected(circuit(c), two)) == 2


def test_a_score_counts_what_is_missing_and_what_is_too_much():
    known = compiled(1)
    found = discover(known.model, known.task, trials=False)
    extra, lost = (0, 0, "s2→s1"), (0, 0, "s1→s0")
    other = Known(
        known.model, known.task, known.required - {extra} | {lost}, (), frozenset({extra})
    )
    scored = score("it", found, other)
    assert scored.extra == [extra]
    assert scored.missing == [lost]
    assert scored.decoys == 1
    assert not scored.exact
    assert scored.paths == Hits(found=2, true=2, right=1)
    assert scored.paths.f1 == scored.paths.precision == scored.paths.recall == 0.5
    assert scored.heads.f1 == 1
