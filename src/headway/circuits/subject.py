"""Which circuit is judged on which model: a run's own, one in a file, or one given with a model."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any, TypeVar

from headway.circuits.discovery import Discovery, listed, saved_discovery
from headway.circuits.given import read_given, require_task, with_tap
from headway.circuits.mechanism import Circuit, WrittenCircuit
from headway.circuits.patterns import ABLATIONS
from headway.errors import HeadwayError, require
from headway.fields import found_in, to_json
from headway.models import Tappable
from headway.tasks import Task
from headway.training.run import Run


@dataclass(frozen=True)
class Judgement:
    """A finding about a circuit, on sequences that nothing else draws.

    Attributes:
        circuit: a mechanism for every head.
        ablation: what stands in rows without a path (`patterns.ABLATIONS`).
        step: of the checkpoint; None if a model was given.
        seed: of the sequences, and of all else that is drawn.
    """

    circuit: WrittenCircuit
    ablation: str
    step: int | None
    seed: int

    def is_of(self, found: Discovery) -> bool:
        """Whether it is of the circuit that was discovered."""
        return (self.circuit, self.ablation) == (found.circuit, found.ablation)

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON data, as in the run's folder."""
        return to_json(self)


J = TypeVar("J", bound=Judgement)


def judgement_in(kind: type[J], data: Any, file: str) -> J:
    """The judgement whose `to_json` is in a file.

    Raises:
        HeadwayError: if a field is missing or not what it should be.
    """
    found = found_in(kind, data, file)
    allowed = f"one of {', '.join(ABLATIONS)}"
    require(found.ablation in ABLATIONS, f"{file}: ablation", found.ablation, allowed)
    return found


@dataclass(frozen=True)
class Subject:
    """A circuit and its model.

    Attributes:
        model: with a tap.
        task: what it was trained on.
        circuit: a mechanism for every head.
        rows: what stands in rows without a path (`patterns.ABLATIONS`).
        seed: of the sequences to judge on.
        step: of the checkpoint; None if a model was given.
    """

    model: Tappable
    task: Task
    circuit: Circuit
    rows: str
    seed: int
    step: int | None

    @property
    def about(self) -> tuple[Circuit, str, int | None, int]:
        """The fields that every `Judgement` begins with."""
        return self.circuit, self.rows, self.step, self.seed


def judged(
    file: str | None,
    judge: Callable[[Subject], J],
    model: Run | str | FilePath | Any,
    task: Task | None,
    circuit: Circuit | FilePath | str | None,
    ablation: str | None,
    step: int | None,
    seed: int | None,
) -> J:
    """Judges a circuit. Of a run's own circuit, with the ablation that it was found with, the
    judgement is left in its folder.

    Args:
        file: where in the run's folder; None if nothing is to be left.
        judge: makes the finding from circuit and model.
        model: a run or its folder; or a model together with its task and a circuit.
        task: the model's task, if a model is given.
        circuit: or a file that holds one; by default the run's own.
        ablation: what stands in rows without a path; by default what the file of the circuit says,
            or zero.
        step: the checkpoint, if a run is given; by default the last.
        seed: of the sequences; by default the run's, or 0.

    Raises:
        HeadwayError: if what is given does not go together.
    """
    given = None if circuit is None else _given(circuit, ablation)
    run = Run.open(model) if isinstance(model, str | FilePath) else model
    if not isinstance(run, Run):
        require(step is None, "step", step, "None, as a model has no checkpoints")
        if given is None:
            raise HeadwayError("circuit = None is not allowed: it is given together with a model")
        task = require_task(task)
        return judge(Subject(with_tap(model, task), task, *given, seed or 0, None))
    require(task is None, "task", task, "None, as the run has its own")
    steps, its = run.checkpoint_steps(), run.config.seed if seed is None else seed
    require(step is None or step in steps, "step", step, f"of a checkpoint: {listed(steps)}")
    at = step if step is not None or not steps else steps[-1]
    if given is not None:
        with run.computing():
            tapped = with_tap(run.model(step), run.task)
            return judge(Subject(tapped, run.task, *given, its, at))
    require(step is None, "step", step, "None for the run's own circuit, which is of the last step")
    found = saved_discovery(run)
    with run.writing(), run.computing():
        own = found.circuit, ablation or found.ablation
        judgement = judge(Subject(with_tap(run.model(), run.task), run.task, *own, its, at))
        if file is not None and judgement.is_of(found):
            run.write(file, judgement.to_json())
    return judgement


def _given(circuit: Circuit | FilePath | str, ablation: str | None) -> tuple[Circuit, str]:
    """A circuit, and what stands in rows without a path."""
    if isinstance(circuit, Circuit):
        return circuit, ablation or "zero"
    its, rows = read_given(FilePath(circuit))
    return its, ablation or rows
