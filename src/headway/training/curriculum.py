"""Curricula: which depth and which hops a step asks for, and which hops the model then answers.

    training.curriculum = implicit      all hops, or those that are named, at every step
    training.curriculum = final_hop     the last hop alone
    training.curriculum = mixture       sequences of all depths, one depth a step
    training.curriculum = growing       ever deeper sequences
    training.curriculum = scheduled     ever more hops, or one at a time
    training.curriculum = per_layer     every hop by a layer of its own
    training.curriculum = deepening     few hops in few layers first, then about twice as many

Each says what it needs of a task, a model and a number of steps (`require`). Evaluations are always
of sequences of the full depth.
"""

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from headway.errors import require
from headway.fields import AtLeastOne
from headway.models import Tap, Transformer, TransformerConfig
from headway.tasks import Batch, Targets, Task
from headway.tasks.asked import Asked, asks_several, last_of
from headway.training.curriculum_base import (
    CurriculumBase,
    refuse,
    require_depths,
    require_final,
    require_time,
)
from headway.training.deepening import Deepening
from headway.training.losses import read_by_layers
from headway.training.seeds import seed_of


@dataclass(frozen=True)
class Implicit(CurriculumBase):
    """All hops at every step, as in the paper (Musat 2024, section 7).

    Attributes:
        hops: the numbers of the hops that are asked, from 1, rising to the last; by default all.
    """

    kind: Literal["implicit"] = field(default="implicit", kw_only=True)
    hops: tuple[AtLeastOne, ...] | None = None

    def require(self, task: Task, model: TransformerConfig, steps: int) -> None:
        """Checks that the numbers rise to that of the last hop."""
        if self.hops is not None:
            rise = all(low < high for low, high in pairwise((0, *self.hops)))
            require(
                rise and self.hops[-1:] == (task.n_hops,),
                "training.curriculum.hops",
                self.hops,
                f"numbers from 1 up that rise to {task.n_hops}, the number of hops, or none",
            )

    def view(self, task: Task) -> Task:
        """The named hops."""
        if self.hops is None or len(self.hops) == task.n_hops:
            return task
        return Asked(task, tuple(hop - 1 for hop in self.hops))


@dataclass(frozen=True)
class FinalHop(CurriculumBase):
    """The last hop alone: no curriculum."""

    kind: Literal["final_hop"] = field(default="final_hop", kw_only=True)

    def require(self, task: Task, model: TransformerConfig, steps: int) -> None:
        """Checks that sequences do not ask for one of several hops."""
        require_final(self.kind, task)

    def view(self, task: Task) -> Task:
        """The last hop."""
        return last_of(task)


@dataclass(frozen=True)
class Mixture(CurriculumBase):
    """Every batch is of one depth, drawn from 1 to the task's.

    Attributes:
        final: whether sequences ask for their last hop alone; else for all of theirs.
    """

    kind: Literal["mixture"] = field(default="mixture", kw_only=True)
    final: bool = False
    is_steady = False

    def require(self, task: Task, model: TransformerConfig, steps: int) -> None:
        """Checks that the task has several depths."""
        require_depths(self.kind, task, self.final)

    def view(self, task: Task) -> Task:
        """All hops, or the last."""
        return last_of(task) if self.final else task

    def depth_at(self, step: int, task: Task, seed: object, stage: int = 0) -> int:
        """Drawn for every step."""
        return 1 + seed_of(seed, "depth", step) % task.n_depths


@dataclass(frozen=True)
class Growing(CurriculumBase):
    """First sequences of depth 1, then ever deeper ones.

    Attributes:
        every: steps between one depth and the next.
        final: whether sequences ask for their last hop alone; else for all of theirs.
    """

    kind: Literal["growing"] = field(default="growing", kw_only=True)
    every: AtLeastOne = 200
    final: bool = False
    is_steady = False

    def require(self, task: Task, model: TransformerConfig, steps: int) -> None:
        """Checks that the task has several depths, and the last comes before the end."""
        require_depths(self.kind, task, self.final)
        require_time(self.every, task.n_depths, steps)

    def view(self, task: Task) -> Task:
        """All hops, or the last."""
        return last_of(task) if self.final else task

    def depth_at(self, step: int, task: Task, seed: object, stage: int = 0) -> int:
        """One more every so many steps."""
        return min(task.n_depths, 1 + (step - 1) // self.every)

    def full_from(self, task: Task) -> int:
        """When the last depth but one is over."""
        return (task.n_depths - 1) * self.every


@dataclass(frozen=True)
class Scheduled(CurriculumBase):
    """Some of the hops count at a step.

    Attributes:
        order: `rising`, first the nearest, then one more every so many steps; `falling`, first the
            farthest, and so on; or `random`, one at a time, drawn for every step.
        every: steps between one hop and the next, if they do not come at random.
    """

    kind: Literal["scheduled"] = field(default="scheduled", kw_only=True)
    order: Literal["rising", "falling", "random"] = "rising"
    every: AtLeastOne = 200
    is_steady = False

    def require(self, task: Task, model: TransformerConfig, steps: int) -> None:
        """Checks that sequences ask for several hops, and the last comes before the end."""
        if not asks_several(task):
            refuse(self.kind, "a sequence of this task does not ask for several hops")
        if self.order != "random":
            require_time(self.every, task.n_hops, steps)

    def hops_at(self, step: int, task: Task, seed: object) -> range:
        """The first few, the last few, or one."""
        hops = range(task.n_hops)
        if self.order == "random":
            one = seed_of(seed, "target", step) % len(hops)
            return hops[one : one + 1]
        count = min(len(hops), 1 + (step - 1) // self.every)
        return hops[:count] if self.order == "rising" else hops[-count:]

    def full_from(self, task: Task) -> int:
        """When all hops but one have come, if they do not come at random."""
        return 0 if self.order == "random" else (task.n_hops - 1) * self.every


@dataclass(frozen=True)
class PerLayer(CurriculumBase):
    """The model answers the last hop alone, but every hop is read out of a layer of its own.

    There is one read-out map. It must find hop j of D at the query after layer ⌈j · L / D⌉ of L.
    """

    kind: Literal["per_layer"] = field(default="per_layer", kw_only=True)
    is_steady = False

    def require(self, task: Task, model: TransformerConfig, steps: int) -> None:
        """Checks that sequences ask for several hops of one chain, with a layer for each."""
        if not asks_several(task) or task.hop_order != list(pairwise(task.hops)):
            refuse(self.kind, "a sequence of this task does not ask for several hops of one chain")
        require(
            task.n_hops <= model.n_layers,
            "model.n_layers",
            model.n_layers,
            f"at least {task.n_hops}, the number of hops, with training.curriculum = per_layer",
        )

    def view(self, task: Task) -> Task:
        """The last hop."""
        return last_of(task)

    def taught(self, task: Task) -> Task:
        """All hops."""
        return task

    def loss(
        self, model: Transformer, targets: Targets, batch: Batch, tap: Tap | None = None
    ) -> Float[Tensor, ""]:
        """The mean over the hops, each read out of its layer."""
        hops = batch.targets.shape[2]
        read = read_by_layers(model, batch.inputs, hops, tap)
        losses = [targets.loss(said, batch.targets[:, :, [hop]]) for hop, said in enumerate(read)]
        return torch.stack(losses).mean()


Curriculum = Implicit | FinalHop | Mixture | Growing | Scheduled | PerLayer | Deepening
