"""Where the limits of search and evidence lie, on models whose losses are known."""

import math

import pytest
import torch

from headway.circuits import Bench, Circuit, Paths, Uniform
from headway.circuits.ablation import First
from headway.circuits.evidence import backups, infeasible
from headway.circuits.search import search
from headway.relations.paths import AttentionPath
from headway.theory import retrieval_flow
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
def test_a_path_is_kept_if_without_it_the_loss_is_hardly_below_the_threshold(times, heads):
    def sure(at_key):
        first, second = is_at_key(at_key).unbind(1)
        return torch.where(second, 1.0, 0.1) * first

    bench = bench_of(Ruled([LOOKS] * 2, sure))
    without = bench.loss(Circuit({(0, 0): KEY, (0, 1): Paths(frozenset())}))
    assert len(search(bench, times * without, [[TO_KEY]]).paths) == heads


@pytest.mark.parametrize(("attention", "is_backup"), [(0.2, False), (0.29, False), (0.31, True)])
def test_a_head_is_a_back_up_only_if_it_attends_there_itself(attention, is_backup):
    bench = bench_of(Ruled([LOOKS, attention], lambda at_key: is_at_key(at_key).any(1)))
    circuit = Circuit({(0, 0): KEY, (0, 1): Uniform()})
    pairs = backups(bench, circuit, bench.patterns.attention, 0.05)
    expected = [(f"L0.H0 {TO_KEY}", f"L0.H1 {TO_KEY}")] if is_backup else []
    assert [(str(pair.first), str(pair.second)) for pair in pairs] == expected


class Wrong(Ruled):
    """It is sure of the answer unless that is 5, of which it knows nothing."""

    def __init__(self):
        super().__init__([LOOKS], lambda at_key: torch.ones(len(at_key)))

    def forward(self, tokens, tap=None):
        return super().forward(tokens, tap) * (tokens[:, 0] != 5)[:, None, None]


def bench_with(wrong: list[int]) -> Bench:
    """Sixteen sequences, of which the model answers some at random and the others right."""
    tokens = torch.zeros(16, 4, dtype=torch.long)
    tokens[wrong] = 5
    return Bench(Wrong(), First4(), First4().assemble((tokens,)))


def test_a_candidate_with_bad_luck_in_the_first_sequences_is_not_given_up():
    bench = bench_with([0, 1, 2, 3, 4])
    loss = 5 * math.log(6) / 16
    first = 5 * math.log(6) / 8
    error = math.log(6) * math.sqrt(5 / 8 * 3 / 8 / 7)
    limit = first - 1.3 * error
    assert loss < limit
    assert First(bench, 16).losses([{}], limit) == pytest.approx([loss])


def test_a_candidate_that_is_far_above_the_limit_so_far_is_given_up():
    bench = bench_with([*range(8)])
    loss = math.log(6) / 2
    assert First(bench, 16).losses([{}], 1.1 * loss) == [math.inf]
    assert bench.losses([{}], 1.1 * loss) == pytest.approx([loss])


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
    """One hop: s1 holds x_0 and p_1, s2 holds p_1 and x_1, s0 holds x_0; s2 stands after s1."""
    path = AttentionPath.parse(path)
    circuit = Circuit.of([path])
    assert infeasible(retrieval_flow(1), circuit, causal) == ([] if is_possible else [path])
