"""What all curricula share: the questions that a training loop asks of one, and common refusals."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NoReturn

from jaxtyping import Float
from torch import Tensor

from headway.errors import HeadwayError, require
from headway.fields import check
from headway.models import Tap, Transformer, TransformerConfig
from headway.tasks import Batch, Targets, Task
from headway.tasks.asked import asks_several
from headway.training.losses import Reader, loss_on


@dataclass(frozen=True)
class CurriculumBase:
    """What curricula share: unless they say otherwise, every step asks for the whole task.

    Some go through stages: the next begins as soon as the hops of the present one are learnt.

    Attributes:
        is_steady: whether every step asks for the same.
    """

    is_steady: ClassVar[bool] = True

    def __post_init__(self):
        check(self, "training.curriculum.")

    def require(self, task: Task, model: TransformerConfig, steps: int) -> None:
        """Checks what the curriculum needs of the whole task, of the model and of training.

        Raises:
            HeadwayError: if they do not have it.
        """

    def stages(self, task: Task) -> Sequence[object]:
        """Its stages."""
        return ("whole",)

    def view(self, task: Task) -> Task:
        """The task as a trained model answers it, and is evaluated on it."""
        return task

    def taught(self, task: Task) -> Task:
        """The task as training batches ask it."""
        return self.view(task)

    def depth_at(self, step: int, task: Task, seed: object, stage: int = 0) -> int | None:
        """The depth of a step's sequences; None if it is the task's own.

        Args:
            step: of training, from 1.
            task: as batches ask it.
            seed: that everything drawn depends on.
            stage: from 0.
        """
        return None

    def earlier_at(self, step: int, task: Task, seed: object, stage: int = 0) -> int:
        """By how many places sequences are moved towards the start (see `Task.shallower`)."""
        return 0

    def first_at(self, step: int, task: Task, seed: object, stage: int = 0) -> int | None:
        """How many hops sequences ask for, from the first on; None if all of their depth."""
        return None

    def judged_in(self, stage: int, task: Task) -> tuple[int, int]:
        """What a stage is evaluated on: the depth of sequences, and how many first hops."""
        return task.n_depths, task.n_depths

    def is_over(self, losses: Sequence[float]) -> bool:
        """Whether a stage is over, by the losses of the hops that it is judged by."""
        return False

    def through(self, model: Transformer, hops: int) -> Reader:
        """The part of the model that is trained on so many hops: all of it, or its first layers."""
        return model

    def hops_at(self, step: int, task: Task, seed: object) -> range | None:
        """The hops that count at a step, by index; None if all (arguments as for `depth_at`)."""
        return None

    def full_from(self, task: Task) -> int:
        """The last step before the first that may ask for the whole task."""
        return 0

    def loss(
        self, model: Transformer, targets: Targets, batch: Batch, tap: Tap | None = None
    ) -> Float[Tensor, ""]:
        """What a step lowers: the mean loss of all that its batch asks."""
        return loss_on(model, targets, batch, tap)


def refuse(kind: str, why: str) -> NoReturn:
    """Refuses a curriculum.

    Raises:
        HeadwayError: that says why.
    """
    raise HeadwayError(f"training.curriculum = {kind} is not allowed: {why}")


def require_final(kind: str, task: Task) -> None:
    """Checks that a curriculum can ask for the last hop alone.

    Raises:
        HeadwayError: if every sequence asks for one of several hops.
    """
    if task.n_hops > 1 and not asks_several(task):
        refuse(kind, "a sequence of this task asks for one hop anyway")


def require_depths(kind: str, task: Task, final: bool) -> None:
    """Checks that a curriculum can have shallower sequences, perhaps with their last hop alone.

    Raises:
        HeadwayError: if not.
    """
    if task.n_depths == 1:
        refuse(kind, "sequences of this task have one depth only (task.n_depths = 1)")
    if final:
        require_final(kind, task)


def require_time(every: int, stages: int, steps: int) -> None:
    """Checks that the last stage comes before the end.

    Raises:
        HeadwayError: if not.
    """
    allowed = f"so few that the last of {stages} stages comes before training.steps = {steps}"
    require((stages - 1) * every < steps, "training.curriculum.every", every, allowed)
