"""Curricula: what the sequences of a step ask for, and when a stage of training is over.

    training.curriculum = implicit      all hops at every step
    training.curriculum = mixture       sequences of all depths, one depth a step
    training.curriculum = deepening     few hops in few layers first, then about twice as many

A curriculum of one's own is a frozen dataclass that derives from `Curriculum`, as a task is one
that derives from `Task`; an installed package offers it under its kind, by an entry point of the
group `headway.curricula`. Evaluations are always of sequences of the full depth.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple, NoReturn

from jaxtyping import Float
from torch import Tensor

from headway.errors import HeadwayError, require
from headway.fields import Written, check, from_json, to_json
from headway.models import Tap, Transformer, TransformerConfig
from headway.tasks import Batch, Targets, Task
from headway.training.losses import Reader, loss_on
from headway.training.offered import Offered
from headway.training.seeds import seed_of

if TYPE_CHECKING:
    from headway.training.config import TrainingConfig

CURRICULUM = "training.curriculum"

CURRICULA: "Offered[type[Curriculum]]" = Offered("headway.curricula", CURRICULUM)
"""Every curriculum by its kind."""


class Ask(NamedTuple):
    """What a step asks for; where it says nothing, all that the task has.

    Attributes:
        depth: of the sequences.
        hops: those that count, by index.
        shift: by how many places sequences are moved towards the start (see `Task.shallower`).
        layers: of the model that sequences pass through, from the first on.
    """

    depth: int | None = None
    hops: Sequence[int] | None = None
    shift: int = 0
    layers: int | None = None

    def reader(self, model: Transformer) -> Reader:
        """The part of a model that sequences pass through."""
        return model if self.layers is None else partial(model, layers=self.layers)


@dataclass(frozen=True)
class Curriculum:
    """What training steps ask for: unless a curriculum says otherwise, the whole task.

    Attributes:
        kind: the name by which configs choose it.
        is_steady: whether every step asks for the same, of all weights.
    """

    kind: ClassVar[str] = ""
    is_steady: ClassVar[bool] = False

    def __init_subclass__(cls):
        CURRICULA.known[cls.kind] = cls

    def __post_init__(self):
        check(self, f"{CURRICULUM}.")

    def require(self, task: Task, model: TransformerConfig, training: "TrainingConfig") -> None:
        """Checks what the curriculum needs of the whole task, of the model and of training.

        Raises:
            HeadwayError: if they do not have it.
        """

    def view(self, task: Task) -> Task:
        """The task as a trained model answers it, and is evaluated on it."""
        return task

    def taught(self, task: Task) -> Task:
        """The task as training batches ask it."""
        return self.view(task)

    def ask(self, step: int, stage: int, task: Task, seed: object) -> Ask:
        """What a step asks for.

        Args:
            step: of training, from 1.
            stage: of the curriculum, from 0.
            task: as batches ask it.
            seed: that everything drawn depends on.
        """
        return Ask()

    def judged(self, stage: int, task: Task) -> Ask | None:
        """What a stage is evaluated on, to find whether it is over; None if it is the last."""
        return None

    def is_over(self, losses: Sequence[float]) -> bool:
        """Whether a stage is over, by the losses of the hops that it is judged by."""
        return False

    def full_from(self, task: Task) -> int:
        """The last step before the first that may ask for the whole task, in the last stage."""
        return 0

    def loss(
        self, model: Transformer, targets: Targets, batch: Batch, ask: Ask, tap: Tap | None = None
    ) -> Float[Tensor, ""]:
        """What a step lowers: the mean loss of all that its batch asks."""
        return loss_on(ask.reader(model), targets, batch, tap)

    def learning(self, model: Transformer) -> Callable[[int], AbstractContextManager[float]]:
        """Prepares a model before its optimisers are made, perhaps freezing some of its weights.

        Returns:
            What is entered around every move of the optimisers, with the number of steps before;
            it gives a factor on their rates.
        """
        return lambda _: nullcontext(1.0)


@dataclass(frozen=True)
class Implicit(Curriculum):
    """All hops at every step, as in the paper (Musat 2024, section 7)."""

    kind = "implicit"
    is_steady = True


@dataclass(frozen=True)
class Mixture(Curriculum):
    """Every batch is of one depth, drawn from 1 to the task's."""

    kind = "mixture"

    def require(self, task: Task, model: TransformerConfig, training: "TrainingConfig") -> None:
        """Checks that the task has several depths."""
        require_depths(self.kind, task)

    def ask(self, step: int, stage: int, task: Task, seed: object) -> Ask:
        """Sequences of a depth that is drawn for every step."""
        return Ask(depth=1 + seed_of(seed, "depth", step) % task.n_depths)


def curriculum_from_json(data: Any) -> Curriculum:
    """The curriculum that `curriculum_to_json` wrote; one that is a curriculum already stays.

    Raises:
        HeadwayError: if there is none of its kind, or a field is unknown, missing or not allowed.
    """
    if isinstance(data, Curriculum):
        return data
    require(isinstance(data, dict), CURRICULUM, data, "one of " + ", ".join(CURRICULA))
    fields = dict(data)
    kind = kind_of_curriculum(fields.pop("kind", None), f"{CURRICULUM}.kind")
    return from_json(kind, fields, f"{CURRICULUM}.")


def curriculum_to_json(curriculum: Curriculum) -> dict[str, Any]:
    """A curriculum as plain JSON data: its kind, and its fields."""
    return {"kind": curriculum.kind, **to_json(curriculum)}


Chosen = Annotated[Curriculum, Written(curriculum_from_json, curriculum_to_json)]
"""The field of a config that holds a curriculum."""


def kind_of_curriculum(kind: Any, field: str = CURRICULUM) -> type[Curriculum]:
    """The class of a kind that a field names.

    Raises:
        HeadwayError: if there is none.
    """
    known = isinstance(kind, str) and kind in CURRICULA
    require(known, field, kind, "" if known else "one of " + ", ".join(CURRICULA))
    return CURRICULA[kind]


def refuse(kind: str, why: str) -> NoReturn:
    """Refuses a curriculum.

    Raises:
        HeadwayError: that says why.
    """
    raise HeadwayError(f"{CURRICULUM} = {kind} is not allowed: {why}")


def require_depths(kind: str, task: Task) -> None:
    """Checks that a curriculum can have shallower sequences.

    Raises:
        HeadwayError: if not.
    """
    if task.n_depths == 1:
        refuse(kind, "sequences of this task have one depth only (task.n_depths = 1)")
