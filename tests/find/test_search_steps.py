"""Steps of the search, judged by losses that are written down."""

import math
import sys
from unittest.mock import Mock

import pytest

from headway.find.search import (
    candidate_paths,
    candidates_among,
    changes,
    free_above,
    longest,
    losses_twice,
    mended,
    propose,
    simplify,
    twice,
)
from headway.relations.paths import AttentionPath
from headway.replace import Bench, Circuit, Identity, Mean, Paths, Tabled, Uniform
from headway.replace.ablation import Judging
from headway.replace.patterns import Patterns

LOWER = (0, 0)
UPPER = (1, 0)
"""Heads of the first two layers."""


def paths(*names):
    return Paths(frozenset(names))


NOTHING = paths()
A = paths("a")
B = paths("b")
C = paths("c")


def stacked(lower, upper=None):
    """A circuit of one head, or of two, one above the other."""
    mechanisms = {LOWER: lower}
    if upper is not None:
        mechanisms[UPPER] = upper
    return Circuit(mechanisms)


BOTH = stacked(A, B)


def mended_alone(judge, names, threshold=0.5):
    """What becomes of a head that reads nothing, if it may have some paths."""
    circuit = mended(judge, stacked(NOTHING), {LOWER: names}, threshold)
    assert circuit.mechanisms.keys() == {LOWER}
    return circuit.mechanisms[LOWER]


def proposed(judge, names):
    """What a head gets that may have some paths."""
    circuit = propose(judge, {LOWER: names}, 1.0)
    assert circuit.mechanisms.keys() == {LOWER}
    return circuit.mechanisms[LOWER]


class Judge(Judging):
    """Losses by a rule, from the mechanisms that replace heads.

    Args:
        rule: the loss of a candidate, heads and mechanisms.
        heads: of the model.
        gain: what every change would gain.
    """

    def __init__(self, rule, heads=((0, 0),), gain=lambda _: 1.0):
        self.rule = rule
        self.heads = list(heads)
        self.gain = gain

    def worst(self, groups, limit=math.inf):
        losses = [max(map(self.loss_of, group)) for group in groups]
        return [loss if loss < limit else math.inf for loss in losses]

    def loss_of(self, candidate):
        """The loss of a circuit, or of mechanisms by head."""
        mechanisms = getattr(candidate, "mechanisms", candidate)
        return self.rule(mechanisms)

    def gains(self, _, found):
        return [self.gain(mechanism) for _, mechanism in found]


FOUR = [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_heads_that_are_no_candidates_get_their_mean():
    lossless = Judge(lambda _: 0.0, FOUR)
    circuit = propose(lossless, {(0, 1): ["a"], (1, 0): []}, 1.0)
    assert circuit.mechanisms[0, 0] == Mean()
    assert circuit.mechanisms[0, 1] == A
    assert circuit.mechanisms[1, 0] == Uniform()
    assert circuit.mechanisms[1, 1] == Mean()
    assert len(circuit.mechanisms) == 4


@pytest.mark.parametrize(
    ("cost", "taken"),
    [
        (0.84, "a"),  # the first of two heads may spend 0.8 + 0.2 · 1/2 of 1
        (0.92, "ab"),
    ],
)
def test_the_first_head_may_not_spend_all_that_may_be_lost(cost, taken):
    def rule(chosen):
        return cost if chosen.get(LOWER) == A else 0.0

    both = {LOWER: ["a", "b"], (0, 1): ["a"]}
    judge = Judge(rule, [*both])
    circuit = propose(judge, both, 1.0)
    assert circuit.mechanisms[LOWER] == paths(*taken)


def test_a_head_gets_the_fewest_paths_that_serve_the_likeliest_first():
    def rule(chosen):
        mechanism = chosen.get(LOWER, paths("a", "b"))
        relations = getattr(mechanism, "relations", frozenset())
        return 0.0 if {"a", "b"} <= relations else 5.0

    assert proposed(Judge(rule), ["a", "b", "c"]) == paths("a", "b")


def test_where_no_number_of_paths_serves_the_least_loss_is_taken():
    losses = {1: 3.0, 2: 2.0, 3: 4.0}

    def rule(chosen):
        if not chosen:
            return 0.0
        mechanism = chosen.get(LOWER)
        if isinstance(mechanism, Paths):
            return losses[len(mechanism.relations)]
        return 9.0

    assert proposed(Judge(rule), ["a", "b", "c"]) == paths("a", "b")


@pytest.mark.parametrize("largest", range(6))
def test_the_largest_number_for_which_something_holds(largest):
    assert longest(5, lambda n: n <= largest) == min(5, largest)


def test_upper_heads_that_move_something_are_free_and_idle_ones_are_not():
    mechanisms = {LOWER: A, UPPER: A, (1, 1): Uniform()}
    mechanisms |= {(2, 0): A, (2, 1): Uniform(), (2, 2): Tabled()}
    circuit = Circuit(mechanisms)
    idle = {(1, 1), (2, 1)}
    assert set(free_above(circuit, 1)) == {LOWER, UPPER, *idle}
    assert set(free_above(circuit, 0)) == {LOWER, *idle}


def test_a_head_changes_by_one_path_to_one_alone_or_to_a_plain_mechanism():
    assert changes(Uniform(), ["a", "b"]) == [A, B, Identity()]
    from_two = changes(paths("a", "b"), ["a", "b", "c"])
    all_three = paths("a", "b", "c")
    assert set(from_two) == {all_three, A, B, C, Uniform(), Identity()}
    by_another = changes(paths("a", "b"), ["c"])
    assert {A, B} <= set(by_another)
    assert NOTHING not in changes(A, ["a"])


@pytest.mark.parametrize(("after", "is_taken"), [(0.985, False), (0.97, True)])
def test_a_change_must_close_a_fiftieth_of_what_is_left(after, is_taken):
    def rule(chosen):
        return after if chosen[LOWER] == A else 1.0

    mechanism = mended_alone(Judge(rule), ["a"], threshold=0.0)
    assert mechanism == (A if is_taken else NOTHING)


def by_path_a(chosen):
    """The loss is 0 if the head has this path, and else 1."""
    return float(chosen[LOWER] != A)


@pytest.mark.parametrize(
    ("gain", "is_taken"), [(-1.0, False), (0.0, False), (0.5, True)]
)
def test_changes_that_gain_nothing_to_first_order_are_not_tried(gain, is_taken):
    """Others do gain something to first order, and help nothing."""

    def gain_of(mechanism):
        return gain if mechanism == A else 1.0

    mechanism = mended_alone(Judge(by_path_a, gain=gain_of), ["a"])
    assert mechanism == (A if is_taken else NOTHING)


def test_the_change_that_gains_most_to_first_order_is_judged_first(monkeypatch):
    """One at a time, so that the first that helps is taken, though another helps
    more.
    """
    monkeypatch.setattr(sys.modules[mended.__module__], "LIKELIEST", 1)
    gains = {A: 1.0, B: 2.0}
    losses = {A: 0.2, B: 0.4}

    def rule(chosen):
        return losses.get(chosen[LOWER], 1.0)

    judge = Judge(rule, gain=lambda mechanism: gains.get(mechanism, 0.0))
    assert mended_alone(judge, ["a", "b"]) == B


def test_where_no_change_has_a_slope_all_are_tried():
    judge = Judge(by_path_a, gain=lambda _: 0.0)
    assert mended_alone(judge, ["a"]) == A


def test_of_the_changes_judged_together_the_best_is_taken():
    losses = {A: 0.4, B: 0.2, C: 0.3}
    judge = Judge(lambda chosen: losses.get(chosen[LOWER], 1.0))
    assert mended_alone(judge, ["a", "b", "c"]) == B


@pytest.mark.parametrize(("free", "is_taken"), [(0.6, True), (1.1, False)])
def test_a_plain_mechanism_may_cost_heads_above_no_more_than_the_circuit_loses_now(
    free, is_taken
):
    """With the head above free the loss is 0.3 before, which is less than the circuit's
    own 1.
    """

    def rule(chosen):
        is_plain = chosen[LOWER] == Uniform()
        if UPPER in chosen:
            return 0.1 if is_plain else 1.0
        return free if is_plain else 0.3

    after = mended(Judge(rule), stacked(B, C), {LOWER: []}, 0.5)
    assert after.mechanisms[LOWER] == (Uniform() if is_taken else B)


def test_a_circuit_that_serves_is_not_mended():
    circuit = stacked(A)
    serves = Judge(lambda _: 0.1)
    assert mended(serves, circuit, {LOWER: ["a", "b"]}, 0.5) is circuit


def test_a_path_stays_if_heads_above_that_are_free_look_for_what_it_brings():
    """Replaced, the head above needs no help: the loss is low. Free, it finds
    nothing.
    """

    def rule(chosen):
        is_brought = chosen[LOWER] == A
        if UPPER not in chosen:
            return 0.0 if is_brought else 1.0
        return 0.0 if chosen[UPPER] != NOTHING else 1.0

    judge = Judge(rule, [LOWER, UPPER])
    assert simplify(judge, BOTH, 0.5, plain=()).paths == BOTH.paths


def test_a_needed_head_keeps_a_path_though_plain_attention_or_zeros_serve():
    circuit = stacked(paths("a", "b"), A)
    serves = Judge(lambda _: 0.1, [LOWER, UPPER])
    kept = simplify(serves, circuit, 0.5, needed=[LOWER])
    assert len(kept.mechanisms[LOWER].relations) == 1
    assert not isinstance(kept.mechanisms[UPPER], Paths)


def test_a_circuit_is_mended_if_it_fails_with_useful_heads_free():
    """With every head replaced either path serves; the head above, set free, looks for
    one.
    """

    def rule(chosen):
        return float(UPPER not in chosen and chosen[LOWER] != A)

    after = mended(Judge(rule), stacked(B, C), {LOWER: ["a", "b"]}, 0.5)
    assert after == stacked(A, C)


def test_rows_without_a_path_may_be_filled_while_heads_above_are_free():
    circuit = Circuit({LOWER: A, UPPER: B, (1, 1): Mean()})
    whole, idle, below = twice(circuit, rows="uniform")
    filled = Paths(frozenset("a"), "uniform")
    assert whole is circuit
    assert idle == {(1, 1): Mean()}
    assert below == {LOWER: filled, (1, 1): Mean()}


@pytest.mark.parametrize(("zero", "uniform"), [(0.7, 0.1), (0.1, 0.7), (0.7, 0.6)])
def test_of_two_ways_to_fill_rows_while_heads_are_free_the_better_counts(zero, uniform):
    def rule(chosen):
        if UPPER in chosen:
            return 0.0
        return uniform if chosen[LOWER].rows == "uniform" else zero

    judge = Judge(rule)
    judge.free_rows = "uniform"
    better = min(zero, uniform)
    assert losses_twice(judge, [BOTH]) == [better]
    below_limit = better if better < 0.5 else math.inf
    assert losses_twice(judge, [BOTH], 0.5) == [below_limit]


def looked_for_or_not_at_all(chosen):
    """The loss where the head above must go, too, if what it looks for is not
    brought.
    """
    is_brought = chosen[LOWER] == A
    is_looked_for = chosen.get(UPPER, B) == B
    return 0.0 if is_brought == is_looked_for else 1.0


def test_two_paths_stay_if_the_upper_head_set_free_looks_for_what_the_lower_brings():
    """Without both the loss is low; without the lower, the upper head free, it is
    high.
    """
    neither = {LOWER: NOTHING, UPPER: NOTHING}
    assert looked_for_or_not_at_all(neither) == 0.0
    judge = Judge(looked_for_or_not_at_all, [LOWER, UPPER])
    assert simplify(judge, BOTH, 0.5, plain=()).paths == BOTH.paths


def test_of_two_paths_that_can_go_the_one_that_costs_less_goes():
    """Without either the loss is low; without both it is not."""
    losses = {frozenset("ab"): 0.0, frozenset("a"): 0.2, frozenset("b"): 0.3}

    def rule(chosen):
        relations = getattr(chosen[LOWER], "relations", None)
        return losses.get(relations, 1.0)

    circuit = simplify(Judge(rule), stacked(paths("a", "b")), 0.5)
    assert circuit == stacked(A)


def bench_of(attention, likeness, read, layers=2):
    patterns = Mock(Patterns, attention=attention, likeness=likeness, read=read)
    model = Mock(n_layers=layers)
    return Mock(Bench, patterns=patterns, heads=[LOWER, UPPER], model=model)


def by_head(lower, upper):
    """A number for each of two heads, by layer and head."""
    return [[lower], [upper]]


def test_candidates_are_what_a_head_attends_along_and_in_the_last_layer_what_is_read():
    attention = {"a": by_head(0.3, 0.9), "b": by_head(0.29, 0.9)}
    attention["c"] = by_head(0.8, 0.3)
    likeness = {"a": by_head(0.1, 0.5), "b": by_head(0.9, 0.9)}
    likeness["c"] = by_head(0.2, 0.6)
    bench = bench_of(attention, likeness, {"a", "c"})
    candidates = candidate_paths(bench, ["a", "b", "c"], 0.3)
    assert candidates == {LOWER: ["c", "a"], UPPER: ["c", "a"]}


@pytest.mark.parametrize(
    ("own", "names"), [("a", {"a", "b"}), ("stay", {"a", "b", "stay"})]
)
def test_what_stays_is_a_candidate_only_if_the_circuit_has_such_a_path(own, names):
    every = dict.fromkeys(["a", "b", "stay"], by_head(1.0, 1.0))
    bench = bench_of(every, every, set(every))
    bench.patterns.used_as = lambda use: ["stay"] if use == "stay" else ["a", "b"]
    candidates = candidates_among(bench, stacked(paths(own)))
    assert {path.relation for path in candidates} == names
    assert len(candidates) == 2 * len(names)


def test_the_circuits_own_paths_are_candidates_though_heads_hardly_attend_along_them():
    little = {"a": by_head(0.05, 0.05)}
    bench = bench_of(little, little, set(little))
    bench.patterns.used_as = lambda use: ["a"] if use == "path" else []
    candidates = candidates_among(bench, stacked(A))
    assert candidates == [AttentionPath.of(0, 0, "a")]
