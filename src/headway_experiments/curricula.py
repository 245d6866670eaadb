"""Curricula that only experiments train with.

training.curriculum = gaps           some of the hops at every step
training.curriculum = final_hop      the last hop alone
training.curriculum = final_mixture  sequences of all depths, asked for the last hop
training.curriculum = growing        ever deeper sequences
training.curriculum = leaps          sequences of 1, 3, 7, … hops and of all, in turn
training.curriculum = scheduled      ever more hops, or one at a time
training.curriculum = per_layer      every hop by a layer of its own
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from headway.errors import require
from headway.fields import AtLeastOne
from headway.models import Tap, Transformer, TransformerConfig
from headway.tasks import Batch, Targets, Task
from headway.training import Ask, Curriculum, Mixture, TrainingConfig, seed_of
from headway_experiments.asked import Asked, asks_several, last_of


@dataclass(frozen=True)
class Gaps(Curriculum):
    """Some hops at every step.

    Attributes:
        hops: their numbers, from 1, rising to the last; by default all.
    """

    kind = "gaps"
    hops: tuple[AtLeastOne, ...] | None = None

    def require(
        self, task: Task, model: TransformerConfig, training: TrainingConfig
    ) -> None:
        """Checks that the numbers rise to that of the last hop."""
        if self.hops is not None:
            steps = pairwise((0, *self.hops))
            rise = all(low < high for low, high in steps)
            ends_with_last = self.hops[-1:] == (task.n_hops,)
            allowed = (
                f"numbers from 1 up that rise to {task.n_hops}, the number "
                "of hops, or none"
            )
            require(
                rise and ends_with_last, "training.curriculum.hops", self.hops, allowed
            )

    def view(self, task: Task) -> Task:
        """The named hops."""
        if self.hops is None or len(self.hops) == task.n_hops:
            return task
        return Asked(task, tuple(hop - 1 for hop in self.hops))


@dataclass(frozen=True)
class FinalHop(Curriculum):
    """The last hop alone: no curriculum."""

    kind = "final_hop"

    def require(
        self, task: Task, model: TransformerConfig, training: TrainingConfig
    ) -> None:
        """Checks that sequences do not ask for one of several hops."""
        super().require(task, model, training)
        require_final(self, task)

    def view(self, task: Task) -> Task:
        """The last hop."""
        return last_of(task)


@dataclass(frozen=True)
class FinalMixture(FinalHop, Mixture):
    """Every batch is of one depth, drawn from 1 to the task's, and asks for its last
    hop alone.
    """

    kind = "final_mixture"


@dataclass(frozen=True)
class Leaps(Mixture):
    """Every batch is of one depth out of 1, 3, 7, … and the task's; all its hops are
    asked for.

    The depths are those that 2, 3, 4, … layers can follow at most. Otherwise than
    `Deepening`, every batch passes through the whole model, and is read out at its end.
    """

    kind = "leaps"

    def ask(self, step: int, stage: int, task: Task, seed: object) -> Ask:
        """Sequences of a depth that is drawn for every step."""
        most = task.n_depths
        depths = []
        depth = 1
        while depth < most:
            depths.append(depth)
            depth = 2 * depth + 1
        depths.append(most)
        drawn = seed_of(seed, "depth", step) % len(depths)
        return Ask(depth=depths[drawn])


@dataclass(frozen=True)
class Growing(Curriculum):
    """First sequences of depth 1, then ever deeper ones.

    Attributes:
        every: steps between one depth and the next.
        final: whether sequences ask for their last hop alone; else for all of theirs.
    """

    kind = "growing"
    every: AtLeastOne = 200
    final: bool = False

    def require(
        self, task: Task, model: TransformerConfig, training: TrainingConfig
    ) -> None:
        """Checks that the task has several depths, and the last comes before the
        end.
        """
        self.require_depths(task)
        if self.final:
            require_final(self, task)
        require_time(self.every, task.n_depths, training.steps)

    def view(self, task: Task) -> Task:
        """All hops, or the last."""
        return last_of(task) if self.final else task

    def ask(self, step: int, stage: int, task: Task, seed: object) -> Ask:
        """Sequences that are one hop deeper every so many steps."""
        return Ask(depth=min(task.n_depths, 1 + (step - 1) // self.every))

    def full_from(self, task: Task) -> int:
        """The step at which the last depth but one is over."""
        return (task.n_depths - 1) * self.every


@dataclass(frozen=True)
class Scheduled(Curriculum):
    """Some of the hops count at a step.

    Attributes:
        order: `rising`, first the nearest, then one more every so many steps;
            `falling`, first the farthest, and so on; or `random`, one at a time, drawn
            for every step.
        every: steps between one hop and the next, if they do not come at random.
    """

    kind = "scheduled"
    order: Literal["rising", "falling", "random"] = "rising"
    every: AtLeastOne = 200

    def require(
        self, task: Task, model: TransformerConfig, training: TrainingConfig
    ) -> None:
        """Checks that sequences ask for several hops, and the last comes before the
        end.
        """
        if not asks_several(task):
            self.refuse("a sequence of this task does not ask for several hops")
        if self.order != "random":
            require_time(self.every, task.n_hops, training.steps)

    def ask(self, step: int, stage: int, task: Task, seed: object) -> Ask:
        """The first few hops, the last few, or one."""
        hops = range(task.n_hops)
        if self.order == "random":
            drawn = seed_of(seed, "target", step) % len(hops)
            return Ask(hops=hops[drawn : drawn + 1])
        count = min(len(hops), 1 + (step - 1) // self.every)
        return Ask(hops=hops[:count] if self.order == "rising" else hops[-count:])

    def full_from(self, task: Task) -> int:
        """The step at which all hops but one have come, if they do not come at
        random.
        """
        return 0 if self.order == "random" else (task.n_hops - 1) * self.every


@dataclass(frozen=True)
class PerLayer(FinalHop):
    """The model answers the last hop alone, but every hop is read out of a layer of its
    own.

    There is one read-out map. It must find hop j of D at the query after layer ⌈j · L /
    D⌉ of L.
    """

    kind = "per_layer"

    def require(
        self, task: Task, model: TransformerConfig, training: TrainingConfig
    ) -> None:
        """Checks that sequences ask for several hops of one chain, with a layer for
        each.
        """
        if not asks_several(task) or task.hop_order != list(pairwise(task.hops)):
            self.refuse(
                "a sequence of this task does not ask for several hops of one chain"
            )
        require(
            task.n_hops <= model.n_layers,
            "model.n_layers",
            model.n_layers,
            f"at least {task.n_hops}, the number of hops, with training.curriculum "
            "= per_layer",
        )

    def taught(self, task: Task) -> Task:
        """All hops."""
        return task

    def loss(
        self,
        model: Transformer,
        targets: Targets,
        batch: Batch,
        ask: Ask,
        tap: Tap | None = None,
    ) -> Float[Tensor, ""]:
        """The mean over the hops, each read out of its layer."""
        hops = batch.targets.shape[2]
        losses = []
        for hop, outputs in enumerate(read_by_layers(model, batch.inputs, hops, tap)):
            its_targets = batch.targets[:, :, [hop]]
            losses.append(targets.loss(outputs, its_targets))
        return torch.stack(losses).mean()


def read_by_layers(
    model: Transformer, inputs: Tensor, hops: int, tap: Tap | None = None
) -> list[Float[Tensor, "batch query output"]]:
    """The model's outputs read after layer ⌈j · n_layers / hops⌉, for every hop j from
    1.
    """
    layers = [-(-hop * model.n_layers // hops) for hop in range(1, hops + 1)]
    streams = enumerate(model.streams(inputs, tap), start=1)
    return [model.read(stream) for layer, stream in streams if layer in layers]


def require_final(curriculum: Curriculum, task: Task) -> None:
    """Checks that a curriculum can ask for the last hop alone.

    Raises:
        HeadwayError: if every sequence asks for one of several hops.
    """
    if task.n_hops > 1 and not asks_several(task):
        curriculum.refuse("a sequence of this task asks for one hop anyway")


def require_time(every: int, stages: int, steps: int) -> None:
    """Checks that the last stage comes before the end.

    Raises:
        HeadwayError: if not.
    """
    allowed = (
        f"so few that the last of {stages} stages comes before training.steps = {steps}"
    )
    require((stages - 1) * every < steps, "training.curriculum.every", every, allowed)
