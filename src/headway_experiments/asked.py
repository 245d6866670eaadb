"""Views of a task: with some of its hops only, for curricula that leave out others, or
with other methods."""

# pyright does not see a property behind `attrgetter`.
# pyright: reportIncompatibleMethodOverride=false

from dataclasses import dataclass, fields, replace
from functools import cache
from operator import attrgetter
from typing import Any

import torch
from torch import Tensor

from headway.tasks import Batch, Task


@dataclass(frozen=True)
class Asked(Task, registered=False):
    """The sequences of another task, of whose hops only some are asked.

    Kind, names, roles, relations and flow are those of the other task.

    Attributes:
        task: the other.
        asked: which of its hops are asked, by index, rising.
    """

    task: Task
    asked: tuple[int, ...]

    def __post_init__(self):
        """Checks nothing, as the curriculum that makes the view has checked it."""

    def assemble(self, draws: tuple[Tensor, ...]) -> Batch:
        """A batch of the other task, without the targets of hops that are not asked."""
        batch = self.task.assemble(draws)
        return replace(batch, targets=batch.targets[:, :, self.asked])

    def shallower(
        self, draws: tuple[Tensor, ...], depth: int, earlier: int = 0
    ) -> Batch:
        """Shallower sequences of the other task, with those asked hops that they have.

        If they have none, their last hop is asked. So a task that asks for its last hop
        alone has shallower sequences that ask for their own last hop.
        """
        if depth == self.n_depths:
            return self.assemble(draws)
        more = [earlier] if earlier else []
        batch = self.task.shallower(draws, depth, *more)
        count = batch.targets.shape[2]
        deepest = count if count < self.task.n_hops else min(depth, count)
        asked = [hop for hop in self.asked if hop < deepest] or [deepest - 1]
        return replace(batch, targets=batch.targets[:, :, asked])

    @property
    def hops(self) -> tuple[str, ...]:
        """The names of the hops that are asked."""
        return tuple(self.task.hops[hop] for hop in self.asked)

    @property
    def hop_order(self) -> list[tuple[str, str]]:
        """The other's. The hops before and after one that is not asked become a
        pair.
        """
        pairs = self.task.hop_order
        for left_out in set(self.task.hops) - set(self.hops):
            before = [first for first, then in pairs if then == left_out]
            after = [then for first, then in pairs if first == left_out]
            pairs = [pair for pair in pairs if left_out not in pair]
            pairs += [(first, then) for first in before for then in after]
        return list(dict.fromkeys(pairs))

    @property
    def judged(self) -> tuple[str, ...]:
        """The other's judged hops that are asked; all that are asked if there are
        none.
        """
        return tuple(hop for hop in self.task.judged if hop in self.hops) or self.hops

    def reference_losses(self) -> dict[str, dict[str, float]]:
        """The other's losses of the hops that are asked."""
        asked = {}
        for name, losses in self.task.reference_losses().items():
            asked[name] = {
                hop: loss for hop, loss in losses.items() if hop in self.hops
            }
        return asked

    kind = property(attrgetter("task.kind"))  # pyright: ignore[reportAssignmentType]
    threshold = property(attrgetter("task.threshold"))  # pyright: ignore[reportAssignmentType]
    draw = property(attrgetter("task.draw"))  # pyright: ignore[reportAssignmentType]
    relations = property(attrgetter("task.relations"))  # pyright: ignore[reportAssignmentType]
    flow = property(attrgetter("task.flow"))  # pyright: ignore[reportAssignmentType]
    label = property(attrgetter("task.label"))
    title = property(attrgetter("task.title"))
    reading = property(attrgetter("task.reading"))
    roles = property(attrgetter("task.roles"))
    vocabulary = property(attrgetter("task.vocabulary"))
    targets = property(attrgetter("task.targets"))
    n_depths = property(attrgetter("task.n_depths"))
    looks_ahead = property(attrgetter("task.looks_ahead"))


def altered(task: Task, **own: Any) -> Any:
    """A task of the same fields, with some methods or properties, by name, in place of
    its own.
    """
    cls = type(task)
    namespace = {"__module__": cls.__module__, **own}
    changed = type(cls.__name__, (cls,), namespace, registered=False)
    values = {field.name: getattr(task, field.name) for field in fields(task)}
    return changed(**values)


def last_of(task: Task) -> Task:
    """A task that asks for its last hop alone."""
    return task if task.n_hops == 1 else Asked(task, (task.n_hops - 1,))


@cache
def asks_several(task: Task) -> bool:
    """True if some sequence asks for more than one hop."""
    batch = task.sample(8, torch.Generator().manual_seed(0))
    asked = task.targets.asked(batch.targets)
    hops_of_each = asked.any(1).sum(1)
    has_several = (hops_of_each > 1).any()
    return bool(has_several)
