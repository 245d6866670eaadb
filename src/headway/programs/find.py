"""The program of a circuit: variables layer by layer, then the shortest answer."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from headway.programs.candidates import Rows, conditions, leaves
from headway.programs.expressions import Array, Expression, Scope
from headway.programs.forced import Forcing
from headway.programs.heads import Heads
from headway.programs.linear import linear_conditions
from headway.programs.pool import Pool
from headway.programs.printed import Program
from headway.programs.sample import Answers, Sample
from headway.programs.trees import Search
from headway.programs.trials import Trials
from headway.replace.circuit import Circuit
from headway.tasks.base import TokensAre

LEAST_UNIT, UNIT = 0.5, 0.0005
"""Rows that a part of a program costs: so many, and so large a share of all."""

MOST_ROWS = 6_000

LIKELY = 0.9
"""A program that gives fewer of the answers is none, whatever it follows."""

ENOUGH = 0.99
"""A program that follows every head in this share of the answers is the one."""

LOST = 0.002
"""Answers that another may lose that follows better."""


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

    Where it does not follow heads that are made to look elsewhere, another is searched
    that does.

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
    finding = Finding(sample, selects, tokens_are)

    def read(known: Pool, answers: Array, weights: Array) -> Program:
        hops = finding.hops(known, answers, weights)
        return Program(title, sample.how, hops, heads.unread)

    first = read(pool, sample.answers(), sample.asked.astype(float))
    forcing = Forcing(first, selects, sample, 0)
    if not _may_be_better(forcing):
        return Read(first, selects)
    trials = Trials(forcing)
    of_trials = Pool(trials, trials.matters, is_ordered, pool)
    for layer in layers:
        of_trials.add_layer(layer)
    second = read(of_trials, trials.answers, trials.weights)
    told = second(sample.inputs)
    loses = _share_told(forcing.told, forcing) - _share_told(told, forcing)
    return Read(second if loses <= LOST else first, selects)


def _may_be_better(forcing: Forcing) -> bool:
    """True if a program gives a model's answers and does not follow all its heads."""
    if _share_told(forcing.told, forcing) < LIKELY:
        return False
    shares = [followed.share for followed in forcing.follows()]
    return any(share is not None and share < ENOUGH for share in shares)


def _share_told(told: Answers, forcing: Forcing) -> float:
    """The share of the model's answers that a program gives."""
    return float((told == forcing.own)[forcing.sample.asked].mean())


def _layer_by_layer(heads: Heads, circuit: Circuit) -> Iterator[list[Expression]]:
    """The selects of every layer; what they bring joins the pool."""
    for layer in sorted({layer for layer, _ in circuit.mechanisms}):
        selects = heads.layer(layer)
        heads.pool.add_layer(selects)
        yield selects


@dataclass(frozen=True)
class Finding:
    """The variables that answers are told by.

    Attributes:
        sample: sequences to find them on.
        selects: of all heads that are read.
        tokens_are: what tokens are, beside names.
    """

    sample: Sample
    selects: Sequence[Expression]
    tokens_are: TokensAre

    def hops(self, pool: Pool, answers: Array, weights: Array) -> dict[str, Expression]:
        """The expression of every hop's answer.

        Args:
            pool: of variables.
            answers: of the model, [sequence, position, hop].
            weights: of answers.
        """
        names = self.sample.bench.task.hops
        rows = [
            self._rows(answers[..., at], weights[..., at]) for at, _ in enumerate(names)
        ]
        expressions = [_answer(pool, of_hop, self.selects) for of_hop in rows]
        return dict(zip(names, expressions, strict=True))

    def _rows(self, answers: Array, weights: Array) -> Rows:
        """Rows at which a hop is asked, of as many sequences as are looked at."""
        step = max(1, round((weights > 0).sum() / MOST_ROWS))
        sequences, positions = np.nonzero(weights[::step] > 0)
        at = sequences * step, positions
        task = self.sample.bench.task
        is_token = getattr(task.targets, "vocabulary", None) == task.vocabulary
        answers_are = "tokens" if is_token else "classes"
        if self.sample.how.width:
            answers_are = "symbols"
        return Rows(at, answers[at], weights[at], self.tokens_are, answers_are)


def _answer(pool: Pool, rows: Rows, selects: Sequence[Expression]) -> Expression:
    """The shortest expression of a hop's answer."""
    may_be = leaves(pool, rows)
    is_symbol = rows.answers_are == "symbols"
    more = () if is_symbol else linear_conditions(pool, rows, selects)
    depends_on = conditions(pool, rows, more)
    unit = max(LEAST_UNIT, UNIT * rows.weights.sum())
    return Search(depends_on, may_be, rows.weights, unit).best()
