"""When a program came to hold: at every checkpoint, does the model do what it says?

A line that says where a head looks holds by the head's attention. Whether the model
answers by it is tried as for the last checkpoint: heads are made to look elsewhere.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from headway.dynamics.emergence import EMERGES_AT, Checkpoints
from headway.fields import NotNegative, require_allowed
from headway.programs.expressions import Expression, Scope
from headway.programs.forced import Forcing
from headway.programs.judged import FOLLOW, MATCH, JudgedProgram, in_whole
from headway.programs.sample import Sample
from headway.programs.swayed import told_by
from headway.replace.ablation import Bench
from headway.replace.heads import head_of
from headway.replace.subject import Sequences
from headway.settings import computes_as_usual
from headway.tasks import Task
from headway.text import aligned, at_step, sparkline, wrapped
from headway.training.run import Run

SPARKS = 18
"""The most characters of a curve in a table."""


@dataclass(frozen=True)
class LineHistory:
    """A head of a program at every checkpoint.

    Attributes:
        line: the name of the line, and the head.
        attention: the share of its attention that the line tells.
        follows: the share of moved answers in which the program follows the head; None
            if hardly any moved.
    """

    line: str
    attention: list[float]
    follows: list[float | None]


@dataclass(frozen=True)
class ProgramHistory:
    """A program at every checkpoint.

    Attributes:
        steps: of the checkpoints.
        matches: the share of whole sequences with all answers the model's.
        lines: of heads.
        sequences: that all this was measured on.
    """

    steps: list[int]
    matches: list[float]
    lines: list[LineHistory]
    sequences: int

    def holds_from(self, curve: Sequence[float | None], least: float) -> int | None:
        """The first step from which on a curve stays above a limit; None if it does not
        at the last.
        """
        first = None
        for step, share in zip(reversed(self.steps), reversed(curve), strict=True):
            if share is None or share < least:
                break
            first = step
        return first

    def __str__(self):
        return "\n".join([*self._table(), *self._legend()])

    def _table(self) -> list[str]:
        """Every line with its curves, and the steps from which on they hold."""
        rows = [["line", "attention", "from", "follows", "from"]]
        for line in self.lines:
            known = [share or 0.0 for share in line.follows]
            looks_from = self.holds_from(line.attention, EMERGES_AT)
            followed_from = self.holds_from(line.follows, FOLLOW)
            row = [line.line, sparkline(line.attention, SPARKS), at_step(looks_from)]
            row += [sparkline(known, SPARKS), at_step(followed_from)]
            rows.append(row)
        matches_from = at_step(self.holds_from(self.matches, MATCH))
        whole = sparkline(self.matches, SPARKS)
        rows.append(["whole sequences", whole, matches_from, "", ""])
        return aligned(rows, "<<><>")

    def _legend(self) -> list[str]:
        """The columns in words."""
        columns = (
            "attention: the share of a head's attention that the line tells, and the"
            f" step from which on it is at least {EMERGES_AT:g}",
            "follows: the share of the answers that move, once the head looks"
            f" elsewhere, in which the program follows, and the step from which on it"
            f" is at least {FOLLOW:g}",
            "whole sequences: the share with all answers the model's, and the step from"
            f" which on it is at least {MATCH:g}",
        )
        return [line for column in columns for line in wrapped(column)]


@computes_as_usual
def program_history(
    checkpoints: Run | str | Path | Mapping[int, Any],
    judged: JudgedProgram,
    task: Task | None = None,
    *,
    sequences: int = 200,
    seed: int | None = None,
    watch: Callable[[int, int], None] = lambda *_: None,
) -> ProgramHistory:
    """Dates the lines of a program over the checkpoints of a model.

        judged = program(run)
        print(program_history(run, judged))

    Args:
        checkpoints: a run or its folder; or models by their step, with their task.
        judged: the program of the last.
        task: what the models were trained on, if models are given.
        sequences: how many fresh sequences to measure on.
        seed: of the sequences; by default the run's, or 0.
        watch: called with how many checkpoints are done, and of how many.

    Raises:
        HeadwayError: if a checkpoint cannot be read, or models come without their task.
    """
    require_allowed("sequences", sequences, Sequences)
    require_allowed("seed", seed, NotNegative | None)
    known = Checkpoints.of(checkpoints, task)
    seed = known.seed if seed is None else seed
    lines = [line for line in judged.program.lines if line.expression.heads]
    selects = [line.expression for line in lines]
    measured = list[Measured]()
    groups: list[list[Expression]] | None = None
    for sample in _samples(known, sequences, seed):
        forcing = Forcing(judged.program, selects, sample, seed)
        groups = groups or forcing.elsewhere.groups  # those of the last model
        measured.append(Measured.of(forcing, groups, selects))
        watch(len(measured), len(known.steps))
    measured.reverse()
    histories = [
        LineHistory(
            f"{line.name} {' '.join(line.heads)}",
            [each.attention[at] for each in measured],
            [each.follows[at] for each in measured],
        )
        for at, line in enumerate(lines)
    ]
    matches = [each.matches for each in measured]
    return ProgramHistory(known.steps, matches, histories, sequences)


def _samples(known: Checkpoints, sequences: int, seed: int) -> Iterator[Sample]:
    """Every model on the same sequences, the last model first."""
    batch = None
    for step in reversed(known.steps):
        model = known.model(step)
        if batch is None:
            batch = known.sequences(model, sequences, seed, "history of a program")
        yield Sample.of(Bench(model, known.task, batch, shared=False))


@dataclass(frozen=True)
class Measured:
    """A program beside the model of one checkpoint.

    Attributes:
        matches: the share of whole sequences with all answers the model's.
        attention: of every select, the share of attention that it tells.
        follows: of every select, the share of moved answers that follow.
    """

    matches: float
    attention: list[float]
    follows: list[float | None]

    @classmethod
    def of(
        cls,
        forcing: Forcing,
        groups: Sequence[Sequence[Expression]],
        selects: Sequence[Expression],
    ) -> "Measured":
        """Measures a program, with groups of selects forced together."""
        shares = dict[Expression, float | None]()
        for group in groups:
            followed = forcing.followed(group)
            shares |= dict.fromkeys(group, followed.share)
        whole = in_whole(forcing.told, forcing.own, forcing.sample)
        told = [_told(select, forcing.sample) for select in selects]
        return cls(float(whole.mean()), told, [shares[select] for select in selects])


def _told(select: Expression, sample: Sample) -> float:
    """The share of its heads' attention that a select tells."""
    keys = Scope(sample.inputs, sample.how).value(select)
    rows = sample.matters & keys.any(2)
    length = keys.shape[1]
    own = sample.bench.patterns.own[..., :length, :length].cpu().numpy()
    at_rows = keys[rows]
    told = [
        told_by(at_rows, own[:, *head_of(name)][rows]).sum() for name in select.heads
    ]
    return float(np.mean(told) / max(1, rows.sum()))
