"""A model's program with its verdicts: does it match, does it follow, is no line spare?

A program that gives every answer may still be another way to the same answers. What
tells is whether it follows the model when heads are made to look elsewhere.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from headway.errors import require
from headway.fields import require_allowed
from headway.judge.discovery import Discovery, given_or_own
from headway.programs.expressions import Array, Expression, Scope
from headway.programs.find import Read, read_program
from headway.programs.forced import LEAST_ROWS, Followed, Forcing
from headway.programs.printed import Program
from headway.programs.sample import Answers, Sample
from headway.programs.written import WrittenProgram
from headway.replace.ablation import Bench, heads_of
from headway.replace.circuit import Circuit
from headway.replace.subject import Sequences, Subject, studied
from headway.tasks import Task
from headway.tasks.base import TokensAre
from headway.training.files import write_whole
from headway.training.run import Run

MATCH = 0.95
"""The least share of whole sequences that a program that matches has right."""

FOLLOW = 0.9
"""The least share of moved answers in which a program follows a head."""

SPARE = 0.005
"""A line is spare if without it no larger share of sequences goes wrong."""


@dataclass(frozen=True)
class JudgedProgram:
    """A program of a model, and what is known of it on fresh sequences.

    Attributes:
        program: of the model.
        matches: the share of whole sequences with all answers the model's.
        answers: the share of answers that are the model's.
        follows: by the heads that are made to look elsewhere.
        repairs: by heads that are made to attend as the program says, the answers that
            then no longer part.
        spare: lines without which hardly an answer changes.
        sequences: that it was judged on.
    """

    program: Program
    matches: float
    answers: float
    follows: list[Followed]
    repairs: list[Followed]
    spare: list[str]
    sequences: int

    @property
    def does_match(self) -> bool:
        """True if it gives the model's answers."""
        return self.matches >= MATCH

    @property
    def unfollowed(self) -> list[Followed]:
        """The heads that it does not follow."""
        measured = [followed for followed in self.follows if followed.share is not None]
        return [followed for followed in measured if (followed.share or 0.0) < FOLLOW]

    @property
    def does_follow(self) -> bool:
        """True if it follows every head that moves answers. Where none does, in model
        and program, all must have been forced.
        """
        is_measured = any(followed.share is not None for followed in self.follows)
        none_moves = bool(self.follows) and all(
            followed.forced >= LEAST_ROWS > followed.moved for followed in self.follows
        )
        are_tried = is_measured or none_moves
        return are_tried and not self.unfollowed

    @property
    def verdict(self) -> str:
        """The program in a few words."""
        if not self.does_match:
            return "no program of the model: too many answers differ"
        if self.does_follow:
            return "the model's program"
        names = " ".join(
            name for followed in self.unfollowed for name in followed.heads
        )
        why = (
            f"it does not follow {names}"
            if names
            else "forced heads move too few answers to tell"
        )
        return f"a program for the task, not the model's: {why}"

    def save(self, file: str | Path) -> None:
        """Writes the program as a Python file that needs numpy alone.

        Raises:
            HeadwayError: if the file cannot be written.
        """
        write_whole(Path(file), self.program.source)

    def written(self, circuit: Circuit) -> WrittenProgram:
        """The program as a run's folder keeps it, with the circuit that it is of."""
        return WrittenProgram(
            circuit=circuit,
            code=self.program.text,
            source=self.program.source,
            verdict=self.verdict,
            is_models=self.does_match and self.does_follow,
            measured=self._measured(),
        )

    def __str__(self):
        return "\n".join([self.program.text, "", self.verdict, *self._measured()])

    def _measured(self) -> list[str]:
        """Lines on how often it matches, which heads it follows, and what is spare."""
        lines = [f"matches {self.matches:.3f} of {self.sequences} sequences"]
        for followed in self.follows:
            names = " ".join(followed.heads)
            share = f"hardly an answer moves ({followed.moved})"
            if followed.share is not None:
                share = f"{followed.share:.3f} of {followed.moved} answers that move"
            lines.append(f"follows {names}: {share}")
        if self.repairs:
            best = max(self.repairs, key=lambda repair: repair.share or 0.0)
            names = " ".join(best.heads)
            lines.append(
                f"where they part, {names} made hard gives the program's answer in "
                f"{best.share:.3f} of {best.moved}"
            )
        if self.spare:
            lines.append(f"spare lines: {', '.join(self.spare)}")
        for name, relation in self.program.unread.items():
            lines.append(f"not read: {name} {relation}")
        return lines


def program(
    model: Any,
    task: Task | None = None,
    circuit: Any = None,
    *,
    tokens_are: TokensAre | None = None,
    sequences: int = 400,
    seed: int | None = None,
) -> JudgedProgram:
    """Turns a circuit into a program that runs without the model.

    Given a run, leaves it in its `program.json`, unless its `circuit.json` holds
    another circuit.

        found = discover(run)
        print(program(run, circuit=found))

    Args:
        model: a run or its folder; or a model, with its task.
        task: the model's, if a model is given.
        circuit: what `discover` returned, or a circuit, or a file of one; by default
            the one that was discovered in the run.
        tokens_are: what tokens are beside names; by default what the task says.
        sequences: to find it on, and as many others to judge it on.
        seed: of the sequences; by default the run's, or 0.

    Raises:
        HeadwayError: if these do not go together, or answers are neither tokens nor
            symbols of the sequence.
    """
    require_allowed("sequences", sequences, Sequences)
    require_allowed("tokens_are", tokens_are, TokensAre | None)
    with studied(model, task, seed=seed) as subject:
        given, ablation = given_or_own(circuit, subject.run)
        allowed = "of every head of the model"
        has_all = set(given.mechanisms) == {*heads_of(subject.model)}
        require(has_all, "circuit", given.to_json(), allowed)
        found_on, fresh = (
            _drawn(subject, sequences, ablation, purpose)
            for purpose in ("program", "judging a program")
        )
        tokens_are = tokens_are or subject.task.tokens_are
        title = f"A program of a model: {subject.task.title}."
        read = read_program(found_on, given, tokens_are, title)
        result = judged(read, fresh, subject.seed)
        if subject.run is not None:
            _keep(result.written(given), subject.run)
        return result


def _keep(written: WrittenProgram, run: Run) -> None:
    """Leaves a program in a run's folder, unless that holds another circuit."""
    discovery = run.load(Discovery)
    if discovery is None or written.is_of(discovery):
        run.save(written)


def _drawn(
    subject: Subject, sequences: int, ablation: str | None, purpose: str
) -> Sample:
    """Sequences for one purpose."""
    batch = subject.sequences(sequences, purpose)
    rows = ablation or "zero"
    bench = Bench(subject.model, subject.task, batch, rows, shared=False)
    return Sample.of(bench)


def judged(read: Read, fresh: Sample, seed: int) -> JudgedProgram:
    """A program with its verdicts, on sequences that it was not found on.

    Args:
        read: the program.
        fresh: the sequences.
        seed: of where heads are made to look.
    """
    forcing = Forcing(read.program, read.selects, fresh, seed)
    told, answers = forcing.told, forcing.own
    whole = in_whole(told, answers, fresh)
    same = (told == answers)[fresh.asked]
    return JudgedProgram(
        read.program,
        float(whole.mean()),
        float(same.mean()),
        forcing.follows(),
        forcing.repairs(),
        spare_lines(read.program, fresh, answers),
        len(told),
    )


def in_whole(told: Answers, answers: Answers, sample: Sample) -> Array:
    """The sequences in which all answers are the same."""
    same = (told == answers) | ~sample.asked
    return same.all((1, 2))


def spare_lines(program: Program, sample: Sample, answers: Answers) -> list[str]:
    """The lines without which as many sequences are right.

    In the place of a line stands its most frequent value, of a select no key.
    """
    right = in_whole(program(sample.inputs), answers, sample).mean()
    spare = list[str]()
    for line in program.lines:
        if not line.expression.is_line:
            continue
        instead = _most_frequent(line.expression, program, sample)
        told = program(sample.inputs, instead)
        left = in_whole(told, answers, sample).mean()
        if right - left <= SPARE:
            spare.append(line.name)
    return spare


def _most_frequent(
    expression: Expression, program: Program, sample: Sample
) -> Mapping[Expression, Array]:
    """The most frequent value of a line, which stands in its place."""
    values = Scope(sample.inputs, program.how).value(expression)
    if expression.kind == "select":
        return {expression: np.zeros_like(values)}
    known, times = np.unique(values[sample.matters], return_counts=True)
    return {expression: np.full_like(values, known[times.argmax()])}
