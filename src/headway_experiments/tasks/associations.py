"""Associations to be kept in weights: an item, and the class that belongs to it."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from headway.errors import require
from headway.fields import AtLeastTwo
from headway.tasks import Batch, Edges, Task, Tokens


@dataclass(frozen=True)
class Associations(Task):
    """Items, one a sequence; asks for the class f(z) of the item z.

    With five items and two classes one batch of five, all in a random order, could read

        item   3  0  4  1  2
        class  1  0  0  1  1

    Items and classes are both numbered from 0, but do not share their vectors (Cabannes
    et al. 2024, arXiv 2310.02984).

    Attributes:
        n_items: N, how many items there are.
        n_classes: how many classes; the class of every item is drawn uniformly among
            them, by the task and not by a run's seed. By default every item is its own
            class.
    """

    n_items: AtLeastTwo = 64
    n_classes: AtLeastTwo | None = None

    def __post_init__(self):
        super().__post_init__()
        n = self.n_items
        require(
            self.n_classes is None or self.n_classes <= n,
            "task.n_classes",
            self.n_classes,
            f"a whole number from 2 to task.n_items = {n}, or none",
        )

    @property
    def hops(self) -> tuple[str, ...]:
        return ("class",)

    @property
    def label(self) -> str:
        return f"N={self.n_items}"

    @property
    def vocabulary(self) -> int:
        return self.n_items

    @property
    def targets(self) -> Tokens:
        return Tokens(self.n_classes or self.n_items)

    def classes(self, device: torch.device | str = "cpu") -> Int[Tensor, " item"]:
        """The class of every item."""
        if self.n_classes is None:
            return torch.arange(self.n_items, device=device)
        fixed = torch.Generator().manual_seed(0)
        return torch.randint(self.n_classes, (self.n_items,), generator=fixed).to(
            device
        )

    def draw(
        self, count: int, generator: torch.Generator
    ) -> tuple[Int[Tensor, " batch"]]:
        """All items in a random order, then all again: a batch of N items holds each
        once.
        """
        shape = -(-count // self.n_items), self.n_items
        items = torch.rand(shape, generator=generator, device=generator.device).argsort(
            -1
        )
        return (items.flatten()[:count],)

    def assemble(self, draws: tuple[Tensor, ...]) -> Batch:
        (items,) = draws
        classes = self.classes(items.device)[items]
        return Batch(items[:, None], classes[:, None, None])

    def relations(self, batch: Batch) -> dict[str, Edges]:
        """Empty, as a sequence has one position."""
        return {}

    def reference_losses(self) -> dict[str, dict[str, float]]:
        """Predicting all classes alike, and the frequencies of the classes, whatever
        the item.
        """
        shares = self.classes().bincount().double() / self.n_items
        entropy = torch.special.entr(shares).sum().item()
        uniform = math.log(self.targets.vocabulary)
        return {
            "uniform": {"class": uniform},
            "frequencies of classes": {"class": entropy},
        }
