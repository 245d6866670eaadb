"""Where the limits of search and evidence lie, on models whose losses are known."""

import math

import pytest
import torch

from headway.find.search import search
from headway.judge.evidence import infeasible, interval_of
from headway.relations.paths import OTHERS, AttentionPath
from headway.replace import Bench, Circuit, Paths, Uniform
from headway.replace.ablation import First
from headway.theory import retrieval_flow
from headway.training import held_out
from headway_experiments.arena import compiled
from ruled import TO_KEY, First4, Ruled, bench_of

LOOKS = 0.97
"""The attention of a head that looks at the key."""

KEY = Paths(frozenset({TO_KEY}))


def is_at_key(attention):
    return attention > 0.9


def test_two_paths_that_can_go_only_together_go():
    def sure(at_key):
        alike = (at_key[:, 0] - at_key[:, 1]).abs() < 0.1
        return alike & is_at_key(at_key[:, 2])

    bench = bench_of(Ruled([LOOKS] * 3, sure))
    circuit = search(bench, 0.05, [[TO_KEY]])
    assert list(map(str, circuit.paths)) == [f"L0.H2 {TO_KEY}"]
    one_more = [bench.loss(circuit.adding(f"L0.H{head} {TO_KEY}")) for head in (0, 1)]
    assert min(one_more) > 1.0


@pytest.mark.parametrize(("times", "heads"), [(1.015, 2), (1.1, 1)])
def test_a_path_is_kept_if_without_it_the_loss_is_hardly_below_the_threshold(
    times, heads
):
    def sure(at_key):
        first, second = is_at_key(at_key).unbind(1)
        return torch.where(second, 1.0, 0.1) * first

    bench = bench_of(Ruled([LOOKS] * 2, sure))
    without = bench.loss(Circuit({(0, 0): KEY, (0, 1): Paths(frozenset())}))
    assert len(search(bench, times * without, [[TO_KEY]]).paths) == heads


class Wrong(Ruled):
    """It is sure of the answer unless that is 5, of which it knows nothing."""

    def __init__(self):
        super().__init__([LOOKS], lambda at_key: torch.ones(len(at_key)))

    def forward(self, tokens, tap=None):
        return super().forward(tokens, tap) * (tokens[:, 0] != 5)[:, None, None]


def bench_with(wrong: list[int], sequences: int = 16) -> Bench:
    """Sequences of which the model answers some at random and the others right."""
    tokens = torch.zeros(sequences, 4, dtype=torch.long)
    tokens[wrong] = 5
    return Bench(Wrong(), First4(), First4().assemble((tokens,)))


@pytest.mark.parametrize("sequences", [8, 16, 24])
def test_gains_are_slopes_of_the_loss_times_the_change_of_attention(sequences):
    """The loss at attention a is log(1 + 5 exp(-2a)); uniform attention to four keys is
    1/4.
    """
    attention, bench = (
        0.7,
        bench_of(Ruled([0.7], lambda at_key: 0.05 * at_key[:, 0]), 40),
    )
    wrong = 5 * math.exp(-2 * attention)
    slope = -2 * wrong / (1 + wrong)
    assert bench.loss() == pytest.approx(math.log(1 + wrong), rel=1e-5)
    changes = [((0, 0), Uniform()), ((0, 0), KEY)]
    expected = [-slope * (to - attention) for to in (0.25, 1.0)]
    before = bench.forwards
    assert bench.gains({}, changes, sequences=sequences) == pytest.approx(
        expected, rel=1e-4
    )
    assert bench.forwards - before == pytest.approx(3 * sequences / 40)


def test_a_candidate_with_bad_luck_in_the_first_sequences_is_not_given_up():
    bench = bench_with([0, 1, 2, 3, 4])
    loss = 5 * math.log(6) / 16
    first = 5 * math.log(6) / 8
    error = math.log(6) * math.sqrt(5 / 8 * 3 / 8 / 7)
    limit = first - 1.3 * error
    assert loss < limit
    assert First(bench, 16).losses([{}], limit) == pytest.approx([loss])


def test_the_spread_of_few_sequences_is_estimated_without_bias():
    """By n - 1: with n the candidate would be over three standard errors above the
    limit.
    """
    bench = bench_with([0, 1, 2, 3, 4], 128)
    first = 5 * math.log(6) / 8
    variance = 5 / 8 * 3 / 8 * math.log(6) ** 2
    limit = first - 2.9 * math.sqrt(variance / 7)
    assert limit < first - 3 * math.sqrt(variance / 8)
    assert First(bench, 128).losses([{}], limit) == pytest.approx(
        [5 * math.log(6) / 128]
    )


def test_a_candidate_that_is_far_above_the_limit_so_far_is_given_up():
    """By 3.4 standard errors; had all sequences been judged, it would have served."""
    bench = bench_with([*range(7)])
    loss = 7 * math.log(6) / 16
    limit = 1.02 * loss
    error = math.log(6) * math.sqrt(7 / 8 * 1 / 8 / 7)
    assert 3 < (2 * loss - limit) / error < 4
    assert First(bench, 16).losses([{}], limit) == [math.inf]
    assert bench.losses([{}], limit) == pytest.approx([loss])


@pytest.mark.parametrize(
    ("path", "causal", "is_possible"),
    [
        ("L0.H0 s2←s1", True, True),
        ("L0.H0 s0←s1", True, True),
        ("L0.H0 s0←s2", True, False),
        ("L1.H0 s0←s2", True, True),
        ("L0.H0 s1←s2", True, False),
        ("L1.H0 s1←s2", True, False),
        ("L0.H0 s1←s2", False, True),
        ("L0.H0 2 back", True, True),
    ],
)
def test_paths_between_positions_that_share_nothing_by_then_are_not_feasible(
    path, causal, is_possible
):
    """One hop: s1 holds x_0 and p_1, s2 holds p_1 and x_1, s0 holds x_0; s2 stands
    after s1.
    """
    path = AttentionPath.parse(path)
    circuit = Circuit.of([path])
    assert infeasible(retrieval_flow(1), circuit, causal) == (
        [] if is_possible else [path]
    )


def test_the_interval_of_losses_without_a_tail_is_the_normal_one():
    low, high = interval_of(torch.tensor([1.0, 3.0] * 50))
    assert (low, high) == pytest.approx((2 - 0.196, 2 + 0.196), abs=1e-3)


def test_the_interval_reaches_farther_on_the_side_of_the_tail():
    losses = torch.tensor([0.0] * 90 + [1.0] * 10)
    low, high = interval_of(losses)
    mean = losses.mean().item()
    assert high - mean > 1.2 * (mean - low) > 0
    mirrored = interval_of(1.5 - losses)
    assert mirrored == pytest.approx((1.5 - high, 1.5 - low), abs=1e-6)


def test_attention_that_is_only_measured_is_no_path():
    known = compiled(1)
    bench = Bench(known.model, known.task, held_out(known.task, 8, 0, "cpu", "circuit"))
    for name, is_path in (("s0←s2", True), (f"s0←s2{OTHERS}", False)):
        assert bench.patterns.has(name) == is_path
