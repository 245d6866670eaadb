"""Curricula: what a step asks for, and when a stage of training is over.

    training.curriculum = implicit      all hops at every step
    training.curriculum = mixture       sequences of all depths, one depth a step
    training.curriculum = deepening     few hops in few layers first, then twice as many

A curriculum of one's own is a frozen dataclass that derives from `Curriculum`, as a
task is one that derives from `Task`; an installed package offers it under its kind, by
an entry point of the group `headway.curricula`. Evaluations are always of sequences of
the full depth.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple, NoReturn

from jaxtyping import Float
from pydantic import PlainSerializer, PlainValidator
from torch import Tensor

from headway import theory
from headway.errors import HeadwayError, require
from headway.fields import Positive, check, from_json, to_json
from headway.models import Tap, Transformer, TransformerConfig
from headway.tasks import Batch, Targets, Task
from headway.tasks.registry import Offered
from headway.training.environment import seed_of

if TYPE_CHECKING:
    from headway.training.config import TrainingConfig

CURRICULUM = "training.curriculum"

CURRICULA: "Offered[type[Curriculum]]" = Offered("headway.curricula", CURRICULUM, {})
"""Every curriculum by its kind."""


class Ask(NamedTuple):
    """A step's demands; where it says nothing, all that the task has.

    Attributes:
        depth: of the sequences.
        hops: those that count, by index.
        shift: by how many places sequences are moved towards the start (see
            `Task.shallower`).
        layers: of the model that sequences pass through, from the first on.
    """

    depth: int | None = None
    hops: Sequence[int] | None = None
    shift: int = 0
    layers: int | None = None


@dataclass(frozen=True)
class Curriculum:
    """The demands of training steps: unless a curriculum says otherwise, the whole
    task.

    Attributes:
        kind: the name by which configs choose it.
    """

    kind: ClassVar[str] = ""

    def __init_subclass__(cls):
        CURRICULA.known[cls.kind] = cls

    def __post_init__(self):
        check(self, f"{CURRICULUM}.")

    def require(
        self, task: Task, model: TransformerConfig, training: "TrainingConfig"
    ) -> None:
        """Checks the curriculum's demands on task, model and training.

        Raises:
            HeadwayError: if they do not have it (see `refuse`).
        """

    def refuse(self, why: str) -> NoReturn:
        """Raises the `HeadwayError` that says why the curriculum is not allowed."""
        raise HeadwayError(f"{CURRICULUM} = {self.kind} is not allowed: {why}")

    def require_depths(self, task: Task) -> None:
        """Raises `HeadwayError` unless the task has shallower sequences."""
        if task.n_depths == 1:
            self.refuse(
                "sequences of this task have one depth only (task.n_depths = 1)"
            )

    def view(self, task: Task) -> Task:
        """The task as a trained model answers it, and is evaluated on it."""
        return task

    def taught(self, task: Task) -> Task:
        """The task as training batches ask it."""
        return self.view(task)

    def ask(self, step: int, stage: int, task: Task, seed: object) -> Ask:
        """The demands of a step.

        Args:
            step: of training, from 1.
            stage: of the curriculum, from 0.
            task: as batches ask it.
            seed: that everything drawn depends on.
        """
        return Ask()

    def judged(self, stage: int, task: Task) -> tuple[Ask, float] | None:
        """The sequences by which a stage is judged, and the loss below which each of
        their hops is when it is over; None of the last stage."""
        return None

    def full_from(self, task: Task) -> int:
        """The last step before the whole task may be asked for, in the last stage."""
        return 0

    def loss(
        self,
        model: Transformer,
        targets: Targets,
        batch: Batch,
        ask: Ask,
        tap: Tap | None = None,
    ) -> Float[Tensor, ""]:
        """The number that a step lowers: the mean loss of all that its batch asks."""
        predicted = model(batch.inputs, tap, ask.layers)
        return targets.loss(targets.at_queries(predicted, batch.targets), batch.targets)

    def learning(
        self, model: Transformer
    ) -> Callable[[int], AbstractContextManager[float]]:
        """Prepares a model before its optimisers are made, perhaps freezing weights.

        Returns:
            What is entered around every move of the optimisers, with the number of
            steps before; it gives a factor on their rates.
        """
        return lambda _: nullcontext(1.0)


@dataclass(frozen=True)
class Implicit(Curriculum):
    """Every hop at every step, as in the paper (Musat 2024, section 7)."""

    kind = "implicit"


@dataclass(frozen=True)
class Mixture(Curriculum):
    """Every batch is of one depth, drawn from 1 to the task's."""

    kind = "mixture"

    def require(
        self, task: Task, model: TransformerConfig, training: "TrainingConfig"
    ) -> None:
        """Checks that the task has several depths."""
        self.require_depths(task)

    def ask(self, step: int, stage: int, task: Task, seed: object) -> Ask:
        """Sequences of a depth that is drawn for every step."""
        return Ask(depth=1 + seed_of(seed, "depth", step) % task.n_depths)


class Stage(NamedTuple):
    """A part of training.

    Attributes:
        depths: of its sequences; one is drawn for every step.
        hops: how many are asked for, from the first on, as far as sequences have them.
        reach: a depth; its sequences stand anywhere among the positions that one of
            this depth has.
    """

    depths: Sequence[int]
    hops: int
    reach: int


@dataclass(frozen=True)
class Deepening(Curriculum):
    """Few hops come first, in few layers; then more, in one layer more.

    A batch that asks for d hops passes through the first ⌊log2 d⌋ + 2 layers, the
    fewest that d hops take, and is read out there. In so few layers a model must jump
    over facts; it cannot pass symbols on one by one. The most that 2, 3, 4, … layers
    can do is 1, 3, 7, … hops. The model learns one hop and three together, then seven,
    and so on, up to the depth of the task:

    1. `mixed`: every batch is of one hop or of three. Sequences of one hop stand
       anywhere among the positions of the others, so that the first head serves every
       pair;
    2. `anywhere`: three hops, anywhere among the positions of the next depth;
    3. `longer`, if the next depth has over two hops more: sequences get deeper, but
       only the hops that are known are asked for, so that heads find them among ever
       more others;
    4. `mixed`: every batch is of the hops that are known, or of the next depth. The
       same again from 2, with these for three;
    5. `whole`: the full depth alone.

    So three hops have the stages 1 and 5, and two as well (`mixed` is of one hop or two
    then). A stage is over when, in its deepest sequences, all hops that it asks for are
    learnt.

    Layers that shallow problems do not pass through should write nothing at first
    (`model.silent_above=2`). Otherwise their random weights disturb what the layers
    below learnt.

    Attributes:
        learnt: the loss below which a hop counts as learnt.
    """

    kind = "deepening"
    learnt: Positive = 0.5

    def stages(self, task: Task) -> list[Stage]:
        """One hop, then more in turn, then the task's depth."""
        depth = task.n_depths
        tight = [2**k - 1 for k in range(1, depth) if 2**k - 1 < depth]
        stages: list[Stage] = []
        for known, more in pairwise([*tight, depth]):
            if known > 1:
                stages.append(Stage((known,), known, more))
            if more - known > 2:
                stages.append(Stage(range(known, more + 1), known, more))
            stages.append(Stage((known, more), more, more))
        return [*stages, Stage((depth,), depth, depth)]

    def require(
        self, task: Task, model: TransformerConfig, training: "TrainingConfig"
    ) -> None:
        """Checks that the task is a chain of hops, with the fewest layers for it."""
        self.require_depths(task)
        flow = task.flow()
        least = flow and flow.minimum_layers(model.causal)
        is_chain = task.hop_order == list(pairwise(task.hops))
        if not is_chain or least != theory.closed_form(task.n_depths):
            self.refuse(
                "it is for a chain under the causal mask, as in the retrieval problem"
            )
        allowed = (
            f"{least}, the fewest,"
            f" with {CURRICULUM} = deepening at depth {task.n_depths}"
        )
        require(model.n_layers == least, "model.n_layers", model.n_layers, allowed)

    def ask(self, step: int, stage: int, task: Task, seed: object) -> Ask:
        """The stage's hops, in sequences of one of its depths, at a drawn place."""
        current = self.stages(task)[stage]
        depth = current.depths[seed_of(seed, "depth", step) % len(current.depths)]
        room = task.room(depth) - task.room(current.reach)
        hops = min(depth, current.hops)
        shift = seed_of(seed, "place", step) % (room + 1)
        return Ask(depth, range(hops), shift, theory.closed_form(hops))

    def judged(self, stage: int, task: Task) -> tuple[Ask, float] | None:
        """Every hop that the stage asks for, in the deepest of its sequences."""
        *before, _ = self.stages(task)
        if stage == len(before):
            return None
        current = before[stage]
        layers = theory.closed_form(current.hops)
        ask = Ask(max(current.depths), range(current.hops), layers=layers)
        return ask, self.learnt


def curriculum_from_json(data: Any) -> Curriculum:
    """The curriculum that JSON data hold; one that is a curriculum already stays.

    Raises:
        HeadwayError: if there is none of its kind, or a field is unknown, missing or
            not allowed.
    """
    if isinstance(data, Curriculum):
        return data
    kinds = f"one of {', '.join(CURRICULA)}"
    require(isinstance(data, dict), CURRICULUM, data, f"{kinds}, with all its fields")
    fields = dict(data)
    kind = fields.pop("kind", None)
    require(
        isinstance(kind, str) and kind in CURRICULA, f"{CURRICULUM}.kind", kind, kinds
    )
    return from_json(CURRICULA[kind], fields, f"{CURRICULUM}.")


Chosen = Annotated[
    Curriculum,
    PlainValidator(curriculum_from_json),
    PlainSerializer(
        lambda curriculum: {"kind": curriculum.kind, **to_json(curriculum)}
    ),
]
"""A curriculum in a config; in JSON, its kind beside its fields."""
