"""A curriculum for models of the fewest layers: few hops come first, then about twice as many."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from headway.errors import require
from headway.fields import Positive
from headway.models import TransformerConfig
from headway.tasks import Task
from headway.theory import closed_form
from headway.training.curriculum import Ask, Curriculum, refuse, require_depths
from headway.training.seeds import seed_of

if TYPE_CHECKING:
    from headway.training.config import TrainingConfig

LEAP = 2
"""If the next depth has more than so many hops more, sequences get deeper before more is asked."""


class Stage(NamedTuple):
    """A part of training.

    Attributes:
        name: of it.
        depths: of its sequences; one is drawn for every step.
        hops: how many are asked for, from the first on, as far as sequences have them.
        reach: a depth; its sequences stand anywhere among the positions that one of this depth has.
    """

    name: str
    depths: Sequence[int]
    hops: int
    reach: int


@dataclass(frozen=True)
class Deepening(Curriculum):
    """Few hops come first, in few layers; then more, in one layer more.

    A batch that asks for d hops passes through the first ⌊log2 d⌋ + 2 layers, the fewest that d
    hops take, and is read out there. In so few layers a model must jump over facts; it cannot pass
    symbols on one by one. The most that 2, 3, 4, … layers can do is 1, 3, 7, … hops. The model
    learns one hop and three together, then seven, and so on, up to the depth of the task:

    1. `mixed`: every batch is of one hop or of three. Sequences of one hop stand anywhere among the
       positions of the others, so that the first head serves every pair;
    2. `anywhere`: three hops, anywhere among the positions of the next depth;
    3. `longer`, if the next depth is much greater: sequences get deeper, but only the hops that are
       known are asked for, so that heads find them among ever more others;
    4. `mixed`: every batch is of the hops that are known, or of the next depth. The same again from
       2, with these for three;
    5. `whole`: the full depth alone.

    So three hops have the stages 1 and 5, and two as well (`mixed` is of one hop or two then). A
    stage is over when, in its deepest sequences, all hops that it asks for are learnt.

    Layers that shallow problems do not pass through should write nothing at first
    (`model.silent_above=2`). Otherwise their random weights disturb what the layers below learnt.

    Attributes:
        learnt: the loss below which a hop counts as learnt.
    """

    kind = "deepening"
    learnt: Positive = 0.5

    def stages(self, task: Task) -> list[Stage]:
        """One hop, then more in turn, then the task's depth."""
        depth = task.n_depths
        tight = [2**k - 1 for k in range(1, depth) if 2**k - 1 < depth]
        found: list[Stage] = []
        for known, more in pairwise([*tight, depth]):
            if known > 1:
                found.append(Stage("anywhere", (known,), known, more))
            if more - known > LEAP:
                found.append(Stage("longer", range(known, more + 1), known, more))
            found.append(Stage("mixed", (known, more), more, more))
        return [*found, Stage("whole", (depth,), depth, depth)]

    def require(self, task: Task, model: TransformerConfig, training: "TrainingConfig") -> None:
        """Checks that the task is a chain of several hops, and layers the fewest that it takes."""
        require_depths(self.kind, task)
        flow = task.flow()
        least = flow and flow.minimum_layers(model.causal)
        if least != closed_form(task.n_depths) or task.hop_order != list(pairwise(task.hops)):
            refuse(
                self.kind, "it is for a chain under the causal mask, as in the retrieval problem"
            )
        allowed = f"{least}, the fewest, with training.curriculum = deepening at depth"
        require(
            model.n_layers == least, "model.n_layers", model.n_layers, f"{allowed} {task.n_depths}"
        )

    def ask(self, step: int, stage: int, task: Task, seed: object) -> Ask:
        """The stage's hops, in sequences of one of its depths, at a place that is drawn."""
        one = self.stages(task)[stage]
        depth = one.depths[seed_of(seed, "depth", step) % len(one.depths)]
        room = task.room(depth) - task.room(one.reach)
        hops = min(depth, one.hops)
        shift = seed_of(seed, "place", step) % (room + 1)
        return Ask(depth, range(hops), shift, closed_form(hops))

    def judged(self, stage: int, task: Task) -> Ask | None:
        """All hops that the stage asks for, in the deepest of its sequences."""
        *before, _ = self.stages(task)
        if stage == len(before):
            return None
        one = before[stage]
        return Ask(max(one.depths), range(one.hops), layers=closed_form(one.hops))

    def is_over(self, losses: Sequence[float]) -> bool:
        """Whether every hop is learnt."""
        return max(losses) < self.learnt
