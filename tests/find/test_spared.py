"""Heads that are exchanged before the search: which are needed, alone and all at
once.
"""

import pytest

from headway.errors import note_once
from headway.find import discover
from headway.find.spared import spared, spared_by
from headway.replace import Bench
from headway.replace.mechanism import Mean
from headway.training import held_out
from headway_experiments.arena import compiled, planted
from known_circuits import Foreign


def bench_of(model, task, count=64):
    return Bench(model, task, held_out(task, count, 0, "cpu", "circuit"))


def costs_of(rule):
    """Costs by a rule, from the heads that are spared."""
    return lambda sets: [float(rule({*heads})) for heads in sets]


HEADS = [(0, 0), (0, 1), (1, 0), (1, 1)]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (lambda heads: 0.0, HEADS),
        (lambda heads: 1.0, []),
        (lambda heads: 0.06 * ((0, 1) in heads), [(0, 0), (1, 0), (1, 1)]),
        (lambda heads: 0.02 * len(heads), [(0, 0), (0, 1)]),
    ],
)
def test_heads_whose_exchange_costs_nothing_all_at_once_are_spared(rule, expected):
    assert spared_by(costs_of(rule), HEADS) == expected


def test_of_twins_the_one_whose_exchange_alone_costs_more_is_needed():
    def rule(heads):
        small = {(0, 0): 0.02, (1, 1): 0.01}
        return (
            1.0
            if {(0, 0), (1, 1)} <= heads
            else max(small.get(head, 0.0) for head in heads)
        )

    assert spared_by(costs_of(rule), HEADS) == [(0, 1), (1, 0), (1, 1)]


@pytest.mark.parametrize("seed", [6100, 6011])
def test_of_a_planted_model_all_but_the_circuits_heads_are_spared(seed):
    """In both a head carries a mark, the same in all sequences, that tells another what
    to do.
    """
    known = planted(seed)
    bench = bench_of(known.model, known.task)
    assert not known.alternatives
    needed = {path.at for path in known.required}
    assert spared(bench) == [head for head in bench.heads if head not in needed]


def test_no_head_of_a_compiled_model_is_spared():
    known = compiled(2)
    assert spared(bench_of(known.model, known.task)) == []


@pytest.mark.slow
def test_spared_heads_are_idle_by_their_mean():
    known = planted(6100)
    bench = bench_of(known.model, known.task)
    found = discover(known.model, known.task, trials=False, sequences=16)
    means = [head for head, one in found.circuit.mechanisms.items() if one == Mean()]
    assert set(means) == {*spared(bench)}


def test_where_nothing_can_be_exchanged_a_note_says_so(capsys):
    note_once.cache_clear()
    known = compiled(1)
    bench = bench_of(Foreign(known.model), known.task)
    assert spared(bench) is None
    assert (
        "which heads are needed is not known before the search"
        in capsys.readouterr().err
    )
