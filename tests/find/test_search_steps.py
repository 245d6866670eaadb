"""Steps of the search, judged by losses that are written down."""

import math
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

NOTHING = Paths(frozenset())


def paths(*names):
    return Paths(frozenset(names))


class Judge(Judging):
    """Losses by a rule, from the mechanisms that replace heads.

    Args:
        rule: the loss of a candidate, heads and mechanisms.
        heads: of the model.
        gain: what every change would gain.
    """

    def __init__(self, rule, heads=((0, 0),), gain=lambda _: 1.0):
        self.rule, self.heads, self.gain = rule, list(heads), gain

    def worst(self, groups, limit=math.inf):
        losses = [
            max(self.rule(getattr(x, "mechanisms", x)) for x in group)
            for group in groups
        ]
        return [loss if loss < limit else math.inf for loss in losses]

    def gains(self, _, found):
        return [self.gain(mechanism) for _, mechanism in found]


FOUR = [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_heads_that_are_no_candidates_get_their_mean():
    circuit = propose(Judge(lambda _: 0.0, FOUR), {(0, 1): ["a"], (1, 0): []}, 1.0)
    assert circuit.mechanisms == {
        (0, 0): Mean(),
        (0, 1): paths("a"),
        (1, 0): Uniform(),
        (1, 1): Mean(),
    }


@pytest.mark.parametrize(
    ("cost", "taken"),
    [
        (0.84, "a"),  # the first of two heads may spend 0.8 + 0.2 · 1/2 of 1
        (0.92, "ab"),
    ],
)
def test_the_first_head_may_not_spend_all_that_may_be_lost(cost, taken):
    def rule(chosen):
        return cost if chosen.get((0, 0)) == paths("a") else 0.0

    both = {(0, 0): ["a", "b"], (0, 1): ["a"]}
    circuit = propose(Judge(rule, [*both]), both, 1.0)
    assert circuit.mechanisms[0, 0] == paths(*taken)


def test_a_head_gets_the_fewest_paths_that_serve_the_likeliest_first():
    def rule(chosen):
        mechanism = chosen.get((0, 0), paths("a", "b"))
        needed = {"a", "b"} <= getattr(mechanism, "relations", frozenset())
        return 0.0 if needed else 5.0

    circuit = propose(Judge(rule), {(0, 0): ["a", "b", "c"]}, 1.0)
    assert circuit.mechanisms == {(0, 0): paths("a", "b")}


def test_where_no_number_of_paths_serves_the_least_loss_is_taken():
    losses = {1: 3.0, 2: 2.0, 3: 4.0}

    def rule(chosen):
        return (
            losses[len(chosen[0, 0].relations)]
            if isinstance(chosen.get((0, 0)), Paths)
            else 9.0
        )

    judge = Judge(lambda chosen: rule(chosen) if chosen else 0.0)
    assert propose(judge, {(0, 0): ["a", "b", "c"]}, 1.0).mechanisms == {
        (0, 0): paths("a", "b")
    }


@pytest.mark.parametrize("largest", range(6))
def test_the_largest_number_for_which_something_holds(largest):
    assert longest(5, lambda n: n <= largest) == min(5, largest)


def test_upper_heads_that_move_something_are_free_and_idle_ones_are_not():
    circuit = Circuit(
        {
            (0, 0): paths("a"),
            (1, 0): paths("a"),
            (1, 1): Uniform(),
            (2, 0): paths("a"),
            (2, 1): Uniform(),
            (2, 2): Tabled(),
        }
    )
    assert set(free_above(circuit, 1)) == {(0, 0), (1, 0), (1, 1), (2, 1)}
    assert set(free_above(circuit, 0)) == {(0, 0), (1, 1), (2, 1)}


def test_a_head_changes_by_one_path_to_one_alone_or_to_a_plain_mechanism():
    assert changes(Uniform(), ["a", "b"]) == [paths("a"), paths("b"), Identity()]
    from_two = changes(paths("a", "b"), ["a", "b", "c"])
    assert set(from_two) == {
        *(
            paths("a", "b", "c"),
            paths("a"),
            paths("b"),
            paths("c"),
            Uniform(),
            Identity(),
        )
    }
    assert {paths("a"), paths("b")} <= set(changes(paths("a", "b"), ["c"]))
    assert NOTHING not in changes(paths("a"), ["a"])


@pytest.mark.parametrize(("after", "is_taken"), [(0.985, False), (0.97, True)])
def test_a_change_must_close_a_fiftieth_of_what_is_left(after, is_taken):
    def rule(chosen):
        return after if chosen[0, 0] == paths("a") else 1.0

    circuit = mended(Judge(rule), Circuit({(0, 0): NOTHING}), {(0, 0): ["a"]}, 0.0)
    assert circuit.mechanisms == {(0, 0): paths("a") if is_taken else NOTHING}


def by_path_a(chosen):
    """The loss is 0 if the head has this path, and else 1."""
    return float(chosen[0, 0] != paths("a"))


@pytest.mark.parametrize(
    ("gain", "is_taken"), [(-1.0, False), (0.0, False), (0.5, True)]
)
def test_changes_that_gain_nothing_to_first_order_are_not_tried(gain, is_taken):
    """Others do gain something to first order, and help nothing."""
    judge = Judge(
        by_path_a, gain=lambda mechanism: gain if mechanism == paths("a") else 1.0
    )
    circuit = mended(judge, Circuit({(0, 0): NOTHING}), {(0, 0): ["a"]}, 0.5)
    assert circuit.mechanisms == {(0, 0): paths("a") if is_taken else NOTHING}


def test_where_no_change_has_a_slope_all_are_tried():
    judge = Judge(by_path_a, gain=lambda _: 0.0)
    circuit = mended(judge, Circuit({(0, 0): NOTHING}), {(0, 0): ["a"]}, 0.5)
    assert circuit.mechanisms == {(0, 0): paths("a")}


def test_of_the_changes_judged_together_the_best_is_taken():
    losses = {paths("a"): 0.4, paths("b"): 0.2, paths("c"): 0.3}
    judge = Judge(lambda chosen: losses.get(chosen[0, 0], 1.0))
    circuit = mended(judge, Circuit({(0, 0): NOTHING}), {(0, 0): ["a", "b", "c"]}, 0.5)
    assert circuit.mechanisms == {(0, 0): paths("b")}


@pytest.mark.parametrize(("free", "is_taken"), [(0.6, True), (1.1, False)])
def test_a_plain_mechanism_may_cost_heads_above_no_more_than_the_circuit_loses_now(
    free, is_taken
):
    """With the head above free the loss is 0.3 before, which is less than the circuit's
    own 1.
    """

    def rule(chosen):
        is_plain = chosen[0, 0] == Uniform()
        if (1, 0) in chosen:
            return 0.1 if is_plain else 1.0
        return free if is_plain else 0.3

    circuit = Circuit({(0, 0): paths("b"), (1, 0): paths("c")})
    after = mended(Judge(rule), circuit, {(0, 0): []}, 0.5)
    assert after.mechanisms[0, 0] == (Uniform() if is_taken else paths("b"))


def test_a_circuit_that_serves_is_not_mended():
    circuit = Circuit({(0, 0): paths("a")})
    assert mended(Judge(lambda _: 0.1), circuit, {(0, 0): ["a", "b"]}, 0.5) is circuit


def test_a_path_stays_if_heads_above_that_are_free_look_for_what_it_brings():
    """Replaced, the head above needs no help: the loss is low. Free, it finds
    nothing.
    """

    def rule(chosen):
        is_free, brings = (1, 0) not in chosen, chosen[0, 0] == paths("a")
        return (
            1.0
            if is_free and not brings
            else 0.0
            if chosen.get((1, 0)) != NOTHING
            else 1.0
        )

    circuit = Circuit({(0, 0): paths("a"), (1, 0): paths("b")})
    heads = [(0, 0), (1, 0)]
    assert simplify(Judge(rule, heads), circuit, 0.5, plain=()).paths == circuit.paths


def test_a_needed_head_keeps_a_path_though_plain_attention_or_zeros_serve():
    circuit = Circuit({(0, 0): paths("a", "b"), (1, 0): paths("a")})
    serves = Judge(lambda _: 0.1, [(0, 0), (1, 0)])
    kept = simplify(serves, circuit, 0.5, needed=[(0, 0)])
    assert len(kept.mechanisms[0, 0].relations) == 1
    assert not isinstance(kept.mechanisms[1, 0], Paths)


def test_a_circuit_is_mended_if_it_fails_with_useful_heads_free():
    """With every head replaced either path serves; the head above, set free, looks for
    one.
    """

    def rule(chosen):
        return float((1, 0) not in chosen and chosen[0, 0] != paths("a"))

    circuit = Circuit({(0, 0): paths("b"), (1, 0): paths("c")})
    after = mended(Judge(rule), circuit, {(0, 0): ["a", "b"]}, 0.5)
    assert after.mechanisms == {(0, 0): paths("a"), (1, 0): paths("c")}


def test_rows_without_a_path_may_be_filled_while_heads_above_are_free():
    circuit = Circuit({(0, 0): paths("a"), (1, 0): paths("b"), (1, 1): Mean()})
    whole, idle, below = twice(circuit, rows="uniform")
    filled = Paths(frozenset("a"), "uniform")
    assert whole is circuit
    assert idle == {(1, 1): Mean()}
    assert below == {(0, 0): filled, (1, 1): Mean()}


@pytest.mark.parametrize(("zero", "uniform"), [(0.7, 0.1), (0.1, 0.7), (0.7, 0.6)])
def test_of_two_ways_to_fill_rows_while_heads_are_free_the_better_counts(zero, uniform):
    def rule(chosen):
        is_whole = (1, 0) in chosen
        return 0.0 if is_whole else uniform if chosen[0, 0].rows == "uniform" else zero

    judge = Judge(rule)
    judge.free_rows = "uniform"
    circuit = Circuit({(0, 0): paths("a"), (1, 0): paths("b")})
    assert losses_twice(judge, [circuit]) == [min(zero, uniform)]
    below = min(zero, uniform) if min(zero, uniform) < 0.5 else math.inf
    assert losses_twice(judge, [circuit], 0.5) == [below]


def looked_for_or_not_at_all(chosen):
    """The loss where the head above must go, too, if what it looks for is not
    brought.
    """
    brings, above = chosen[0, 0] == paths("a"), chosen.get((1, 0), paths("b"))
    return 0.0 if brings == (above == paths("b")) else 1.0


BOTH = Circuit({(0, 0): paths("a"), (1, 0): paths("b")})


def test_two_paths_stay_if_the_upper_head_set_free_looks_for_what_the_lower_brings():
    """Without both the loss is low; without the lower, the upper head free, it is
    high.
    """
    neither = {(0, 0): NOTHING, (1, 0): NOTHING}
    assert looked_for_or_not_at_all(neither) == 0.0
    judge = Judge(looked_for_or_not_at_all, [(0, 0), (1, 0)])
    assert simplify(judge, BOTH, 0.5, plain=()).paths == BOTH.paths


def test_of_two_paths_that_can_go_the_one_that_costs_less_goes():
    """Without either the loss is low; without both it is not."""
    losses = {frozenset("ab"): 0.0, frozenset("a"): 0.2, frozenset("b"): 0.3}
    judge = Judge(
        lambda chosen: losses.get(getattr(chosen[0, 0], "relations", None), 1.0)
    )
    circuit = simplify(judge, Circuit({(0, 0): paths("a", "b")}), 0.5)
    assert circuit.mechanisms == {(0, 0): paths("a")}


def bench_of(attention, likeness, read, layers=2):
    patterns = Mock(Patterns, attention=attention, likeness=likeness, read=read)
    return Mock(
        Bench, patterns=patterns, heads=[(0, 0), (1, 0)], model=Mock(n_layers=layers)
    )


def test_candidates_are_what_a_head_attends_along_and_in_the_last_layer_what_is_read():
    attention = {"a": [[0.3], [0.9]], "b": [[0.29], [0.9]], "c": [[0.8], [0.3]]}
    likeness = {"a": [[0.1], [0.5]], "b": [[0.9], [0.9]], "c": [[0.2], [0.6]]}
    bench = bench_of(attention, likeness, {"a", "c"})
    assert candidate_paths(bench, ["a", "b", "c"], 0.3) == {
        (0, 0): ["c", "a"],
        (1, 0): ["c", "a"],
    }


@pytest.mark.parametrize(
    ("own", "names"), [("a", {"a", "b"}), ("stay", {"a", "b", "stay"})]
)
def test_what_stays_is_a_candidate_only_if_the_circuit_has_such_a_path(own, names):
    every = {"a": [[1.0], [1.0]], "b": [[1.0], [1.0]], "stay": [[1.0], [1.0]]}
    bench = bench_of(every, every, set(every))
    bench.patterns.used_as = lambda use: ["stay"] if use == "stay" else ["a", "b"]
    found = candidates_among(bench, Circuit({(0, 0): paths(own)}))
    assert {path.relation for path in found} == names
    assert len(found) == 2 * len(names)


def test_the_circuits_own_paths_are_candidates_though_heads_hardly_attend_along_them():
    little = {"a": [[0.05], [0.05]]}
    bench = bench_of(little, little, set(little))
    bench.patterns.used_as = lambda use: ["a"] if use == "path" else []
    assert candidates_among(bench, Circuit({(0, 0): paths("a")})) == [
        AttentionPath.of(0, 0, "a")
    ]
