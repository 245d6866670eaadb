"""A curriculum for many hops in few layers: a shallow problem first, then the whole one."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Literal

from jaxtyping import Float
from torch import Tensor

from headway.errors import require
from headway.fields import AtLeastOne, Positive
from headway.models import Tap, Transformer, TransformerConfig
from headway.tasks import Batch, Targets, Task
from headway.theory import closed_form
from headway.training.curriculum_base import CurriculumBase, refuse, require_depths
from headway.training.losses import Reader, loss_on
from headway.training.seeds import seed_of


@dataclass(frozen=True)
class Deepening(CurriculumBase):
    """First a shallow problem in as few layers as it takes, then the whole one in all layers.

    A shallow problem of d hops passes through the first ⌊log2 d⌋ + 2 layers only, and is read out
    there. In so few layers a model must jump over facts; it cannot pass symbols on one by one. A
    stage begins as soon as all hops of the one before are learnt:

    1. `near`: sequences of `start` hops, at the end of the positions;
    2. `anywhere`: the same anywhere, so that heads find by any position's code;
    3. `longer`, if wanted: the first `start` hops of sequences of every depth from `start` on, so
       that heads find them among ever more others;
    4. `mixed`: every other batch asks for the full depth, the others as `anywhere` does;
    5. `whole`: the full depth alone.

    Layers that shallow problems do not pass through should write nothing at first
    (`model.silent_above`). Otherwise their random weights disturb what the layers below learnt.

    Attributes:
        start: hops of the shallow problem.
        learnt: the loss below which a hop counts as learnt.
        longer: whether there is the stage of that name. From six hops on, sequences are so much
            longer than shallow ones that the first hops are lost without it (docs/recipes.md).
    """

    kind: Literal["deepening"] = field(default="deepening", kw_only=True)
    start: AtLeastOne = 3
    learnt: Positive = 0.35
    longer: bool = False
    is_steady = False

    @property
    def stages(self) -> tuple[str, ...]:
        """The names of its stages."""
        longer = ("longer",) if self.longer else ()
        return ("near", "anywhere", *longer, "mixed", "whole")

    def require(self, task: Task, model: TransformerConfig, steps: int) -> None:
        """Checks that the task is a chain of more than `start` hops, with layers enough for it."""
        require_depths(self.kind, task, final=False)
        flow = task.flow()
        least = flow and flow.minimum_layers(model.causal)
        if least != closed_form(task.n_depths) or task.hop_order != list(pairwise(task.hops)):
            refuse(
                self.kind, "it is for a chain under the causal mask, as in the retrieval problem"
            )
        depth, layers = task.n_depths, model.n_layers
        allowed = f"below {depth}, the hops of the task"
        require(self.start < depth, "training.curriculum.start", self.start, allowed)
        allowed = f"at least {least}, with training.curriculum = deepening at depth {depth}"
        require(layers >= closed_form(depth), "model.n_layers", layers, allowed)

    def depth_at(self, step: int, task: Task, seed: object, stage: int = 0) -> int:
        """The shallow problem's, any from there on, or the full one."""
        match self.stages[stage]:
            case "longer":
                return self.start + seed_of(seed, "longer", step) % (task.n_depths - self.start + 1)
            case "mixed" if step % 2 == 0:
                return task.n_depths
            case "whole":
                return task.n_depths
            case _:
                return self.start

    def first_at(self, step: int, task: Task, seed: object, stage: int = 0) -> int | None:
        """In longer sequences, as many as the shallow problem has."""
        return self.start if self.stages[stage] == "longer" else None

    def earlier_at(self, step: int, task: Task, seed: object, stage: int = 0) -> int:
        """Drawn for every step from the second stage on."""
        room = task.room(self.depth_at(step, task, seed, stage))
        return seed_of(seed, "place", step) % (room + 1) if stage else 0

    def judged_in(self, stage: int, task: Task) -> tuple[int, int]:
        """The shallow depth in the first two stages; its hops alone up to the third."""
        shallow = stage < self.stages.index("mixed")
        depth = self.start if stage < 2 else task.n_depths
        return depth, self.start if shallow else task.n_depths

    def is_over(self, losses: Sequence[float]) -> bool:
        """Whether every hop is learnt."""
        return max(losses) < self.learnt

    def through(self, model: Transformer, hops: int) -> Reader:
        """Shallow problems pass through as few layers as they take."""
        return partial(model, layers=closed_form(hops)) if hops == self.start else model

    def loss(
        self, model: Transformer, targets: Targets, batch: Batch, tap: Tap | None = None
    ) -> Float[Tensor, ""]:
        """The loss after as many layers as the batch passes through."""
        return loss_on(self.through(model, batch.targets.shape[2]), targets, batch, tap)
