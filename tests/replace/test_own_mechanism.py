"""A mechanism of one's own stands in a head's place, is written, read and judged."""

from dataclasses import dataclass

import pytest
import torch

from headway.errors import HeadwayError
from headway.judge.by_exchange import judge
from headway.replace import Bench, Circuit, Exchange, Uniform
from headway.replace.mechanism import ABLATIONS, MECHANISMS, Mechanism
from headway.replace.partners import partners
from headway.training import held_out
from headway_experiments.arena import compiled
from sampling import seeded


@dataclass(frozen=True)
class Before(Mechanism):
    """The head attends to the position before."""

    kind = "before"

    @property
    def is_useful(self):
        return True

    def pattern(self, patterns, head):
        sequences, queries, keys = patterns.shape
        rows = torch.eye(queries, keys, dtype=patterns.dtype).roll(1, 0)
        rows[0] = 0
        return rows.expand(sequences, -1, -1)


@pytest.fixture
def known():
    return compiled(1)


@pytest.fixture
def circuit(known):
    """The first head reads the token before, in a way of ours."""
    right = Circuit.of(sorted(known.required))
    return right.replacing(right.useful_heads[0], Before())


def test_it_is_written_and_read(circuit):
    assert MECHANISMS["before"] is Before
    assert circuit.to_json()["L0.H0"] == "before"
    assert Circuit.from_json(circuit.to_json()) == circuit
    assert circuit.useful_heads == [(0, 0), (1, 0)]


def test_it_stands_in_a_heads_place(known):
    bench = Bench(known.model, known.task, held_out(known.task, 32, 0, "cpu"))
    assert bench.loss({(0, 0): Before()}) == pytest.approx(bench.loss(), abs=1e-3)
    assert bench.loss({(0, 0): Uniform()}) > 0.1


def test_it_is_judged_as_a_part_of_the_circuit(known, circuit):
    given = partners(known.task, 64, seeded(77))
    exchange = Exchange.among(known.model, known.task, given)
    judged = judge(exchange, circuit)
    assert judged.broken == {}
    assert {*judged.tables} == {(0, 0)}


def test_fills_of_rows_are_mechanisms():
    assert {*ABLATIONS} >= {"zero", "uniform", "own", "mean", "resample", "corrupted"}
    assert {*ABLATIONS} - {"zero"} <= {*MECHANISMS}


@pytest.mark.parametrize("rows", ["identity", "by table", "before", "sideways"])
def test_what_fills_no_rows_is_no_ablation(known, rows):
    batch = held_out(known.task, 8, 0, "cpu")
    with pytest.raises(
        HeadwayError, match=r"ablation = .* is not allowed: it must be one of zero"
    ):
        Bench(known.model, known.task, batch, rows)
