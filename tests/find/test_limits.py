"""Where the limits of search and evidence lie, on models whose losses are known."""

import math

import pytest
import torch

import known_circuits
from headway.find.search import search
from headway.judge.evidence import infeasible, interval_of
from headway.relations.paths import OTHERS, AttentionPath
from headway.replace import Bench, Circuit, Uniform
from headway.replace.ablation import First
from headway.theory import retrieval_flow
from headway_experiments.arena import compiled
from known_circuits import along, words_of
from ruled import TO_KEY, First4, Ruled, bench_of

LOOKS = 0.97
"""The attention of a head that looks at the key."""

KEY = along(TO_KEY)


def is_at_key(attention):
    return attention > 0.9


def test_two_paths_that_can_go_only_together_go():
    def sure(at_key):
        first, second, third = at_key.unbind(1)
        is_alike = (first - second).abs() < 0.1
        return is_alike & is_at_key(third)

    bench = bench_of(Ruled([LOOKS] * 3, sure))
    circuit = search(bench, 0.05, [[TO_KEY]])
    assert words_of(circuit) == [f"L0.H2 {TO_KEY}"]
    for head in (0, 1):
        one_more = circuit.adding(f"L0.H{head} {TO_KEY}")
        assert bench.loss(one_more) > 1.0


@pytest.mark.parametrize(("times", "heads"), [(1.015, 2), (1.1, 1)])
def test_a_path_is_kept_if_without_it_the_loss_is_hardly_below_the_threshold(
    times, heads
):
    def sure(at_key):
        first, second = is_at_key(at_key).unbind(1)
        return torch.where(second, 1.0, 0.1) * first

    bench = bench_of(Ruled([LOOKS] * 2, sure))
    first_alone = Circuit({(0, 0): KEY, (0, 1): along()})
    threshold = times * bench.loss(first_alone)
    circuit = search(bench, threshold, [[TO_KEY]])
    assert len(circuit.paths) == heads


class Wrong(Ruled):
    """It is sure of the answer unless that is 5, of which it knows nothing."""

    def __init__(self):
        super().__init__([LOOKS], lambda at_key: torch.ones(len(at_key)))

    def forward(self, tokens, tap=None):
        is_known = tokens[:, 0] != 5
        return super().forward(tokens, tap) * is_known[:, None, None]


def bench_with(wrong: list[int], sequences: int = 16) -> Bench:
    """Sequences of which the model answers some at random and the others right."""
    tokens = torch.zeros(sequences, 4, dtype=torch.long)
    tokens[wrong] = 5
    batch = First4().assemble((tokens,))
    return Bench(Wrong(), First4(), batch)


GUESS = math.log(6)
"""The loss of an answer of which nothing is known, one of six."""


def error_of(share: float, count: int) -> float:
    """The standard error of a mean loss, if a share of the answers is guessed."""
    variance = share * (1 - share) * GUESS**2
    return math.sqrt(variance / (count - 1))


@pytest.mark.parametrize("sequences", [8, 16, 24])
def test_gains_are_slopes_of_the_loss_times_the_change_of_attention(sequences):
    """The loss at attention a is log(1 + 5 exp(-2a)); uniform attention to four keys is
    1/4.
    """
    attention = 0.7
    model = Ruled([attention], lambda at_key: 0.05 * at_key[:, 0])
    bench = bench_of(model, 40)
    wrong = 5 * math.exp(-2 * attention)
    slope = -2 * wrong / (1 + wrong)
    assert bench.loss() == pytest.approx(math.log(1 + wrong), rel=1e-5)
    changes = [((0, 0), Uniform()), ((0, 0), KEY)]
    before = bench.forwards
    to_uniform, to_key = bench.gains({}, changes, sequences=sequences)
    assert to_uniform == pytest.approx(-slope * (0.25 - attention), rel=1e-4)
    assert to_key == pytest.approx(-slope * (1.0 - attention), rel=1e-4)
    passes = bench.forwards - before
    assert passes == pytest.approx(3 * sequences / 40)


def test_a_candidate_with_bad_luck_in_the_first_sequences_is_not_given_up():
    bench = bench_with([0, 1, 2, 3, 4])
    loss = GUESS * 5 / 16
    first = GUESS * 5 / 8
    limit = first - 1.3 * error_of(5 / 8, 8)
    assert loss < limit
    assert First(bench, 16).losses([{}], limit) == pytest.approx([loss])


def test_the_spread_of_few_sequences_is_estimated_without_bias():
    """By n - 1: with n the candidate would be over three standard errors above the
    limit.
    """
    bench = bench_with([0, 1, 2, 3, 4], 128)
    first = GUESS * 5 / 8
    error = error_of(5 / 8, 8)
    limit = first - 2.9 * error
    biased = error * math.sqrt(7 / 8)
    assert limit < first - 3 * biased
    (loss,) = First(bench, 128).losses([{}], limit)
    assert loss == pytest.approx(GUESS * 5 / 128)


def test_a_candidate_that_is_far_above_the_limit_so_far_is_given_up():
    """By 3.4 standard errors; had all sequences been judged, it would have served."""
    bench = bench_with([*range(7)])
    loss = GUESS * 7 / 16
    limit = 1.02 * loss
    above = 2 * loss - limit
    assert 3 < above / error_of(7 / 8, 8) < 4
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
    impossible = infeasible(retrieval_flow(1), circuit, causal)
    assert impossible == ([] if is_possible else [path])


def test_the_interval_of_losses_without_a_tail_is_the_normal_one():
    low, high = interval_of(torch.tensor([1.0, 3.0] * 50))
    assert low == pytest.approx(2 - 0.196, abs=1e-3)
    assert high == pytest.approx(2 + 0.196, abs=1e-3)


def test_the_interval_reaches_farther_on_the_side_of_the_tail():
    losses = torch.tensor([0.0] * 90 + [1.0] * 10)
    low, high = interval_of(losses)
    mean = losses.mean().item()
    above = high - mean
    below = mean - low
    assert above > 1.2 * below > 0
    lowest, highest = interval_of(1.5 - losses)
    assert lowest == pytest.approx(1.5 - high, abs=1e-6)
    assert highest == pytest.approx(1.5 - low, abs=1e-6)


def test_attention_that_is_only_measured_is_no_path():
    patterns = known_circuits.bench_of(compiled(1), 8).patterns
    assert patterns.has("s0←s2")
    assert not patterns.has(f"s0←s2{OTHERS}")
