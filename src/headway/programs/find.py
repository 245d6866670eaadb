"""From a circuit to a program: variables layer by layer, then the shortest answer."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from headway.programs.candidates import Rows, conditions, leaves
from headway.programs.expressions import Expression, Scope
from headway.programs.heads import Heads
from headway.programs.linear import linear_conditions
from headway.programs.pool import Pool
from headway.programs.printed import Program
from headway.programs.sample import Sample
from headway.programs.trees import Search
from headway.programs.trials import Trials
from headway.replace.circuit import Circuit
from headway.tasks.base import TokensAre

LEAST_UNIT, UNIT = 0.5, 0.0005
"""Rows that a part of a program costs: so many, and so large a share of all."""

MOST_ROWS = 6_000


@dataclass(frozen=True)
class Read:
    """A program, and what it was found from.

    Attributes:
        program: the shortest that was found.
        selects: of all heads that are read.
    """

    program: Program
    selects: list[Expression]


def read_program(
    sample: Sample, circuit: Circuit, tokens_are: TokensAre, title: str
) -> Read:
    """The program of a circuit.

    Args:
        sample: sequences to find it on.
        circuit: a mechanism for every head.
        tokens_are: what tokens are, beside names.
        title: a line about the model.
    """
    is_ordered = tokens_are != "symbols"
    pool = Pool(Scope(sample.inputs, sample.how), sample.matters, is_ordered)
    heads = Heads(sample, circuit, pool, tokens_are == "numbers")
    layers = list(_layer_by_layer(heads, circuit))
    selects = [select for layer in layers for select in layer]
    trials = Trials(sample, selects)
    known = Pool(trials, trials.matters, is_ordered)
    for layer in layers:
        known.add_layer(layer)
    hops = dict[str, Expression]()
    for at, hop in enumerate(sample.bench.task.hops):
        rows = _rows_of(sample, trials, at, tokens_are)
        hops[hop] = _answer(known, rows, selects)
    return Read(Program(title, sample.how, hops, heads.unread), selects)


def _layer_by_layer(heads: Heads, circuit: Circuit) -> Iterator[list[Expression]]:
    """The selects of every layer; what they bring joins the pool."""
    for layer in sorted({layer for layer, _ in circuit.mechanisms}):
        selects = heads.layer(layer)
        heads.pool.add_layer(selects)
        yield selects


def _rows_of(sample: Sample, trials: Trials, hop: int, tokens_are: TokensAre) -> Rows:
    """Rows at which a hop is asked, of as many sequences as are looked at."""
    asked = trials.asked[..., hop]
    a_sequence = max(1.0, asked.sum(1).mean())
    step = max(1, round(a_sequence * len(asked) / MOST_ROWS))
    sequences, positions = np.nonzero(asked[::step])
    at = sequences * step, positions
    task = sample.bench.task
    is_token = getattr(task.targets, "vocabulary", None) == task.vocabulary
    answers_are = "tokens" if is_token else "classes"
    if sample.how.width:
        answers_are = "symbols"
    weights = trials.weights[at[0]]
    return Rows(at, trials.answers[..., hop][at], weights, tokens_are, answers_are)


def _answer(pool: Pool, rows: Rows, selects: list[Expression]) -> Expression:
    """The shortest expression of a hop's answer."""
    may_be = leaves(pool, rows)
    is_symbol = rows.answers_are == "symbols"
    more = () if is_symbol else linear_conditions(pool, rows, selects)
    depends_on = conditions(pool, rows, more)
    unit = max(LEAST_UNIT, UNIT * rows.weights.sum())
    return Search(depends_on, may_be, rows.weights, unit).best()
