"""Associations to be kept in weights: an item, and the class that belongs to it."""

import math
from dataclasses import dataclass
from functools import cache
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headway.errors import require
from headway.fields import AtLeastTwo, NotBelowZero
from headway.tasks.base import Batch, Task
from headway.relations.edges import Edges
from headway.tasks.targets import Tokens


@dataclass(frozen=True)
class Associations(Task):
    """Items, one a sequence; asks for the class f(z) of the item z.

    With five items and two classes one batch of five, all in a random order, could read

        item   3  0  4  1  2
        class  1  0  0  1  1

    Items and classes are both numbered from 0, but do not share their vectors (Cabannes et al.
    2024, arXiv 2310.02984).

    Attributes:
        n_items: N, how many items there are.
        n_classes: how many classes; the class of every item is drawn uniformly among them, by the
            task and not by a run's seed. By default every item is its own class.
        exponent: a of the items' frequencies p(z) ∝ (z + 1)^-a; 0 makes all equally frequent.
        sampling: items are drawn at `random`, or `all` in a random order, and then all again: a
            batch of N items then holds each once.
    """

    n_items: AtLeastTwo = 64
    n_classes: AtLeastTwo | None = None
    exponent: NotBelowZero = 0.0
    sampling: Literal["all", "random"] = "random"

    def __post_init__(self):
        super().__post_init__()
        n = self.n_items
        require(
            self.n_classes is None or self.n_classes <= n,
            "task.n_classes",
            self.n_classes,
            f"a whole number from 2 to task.n_items = {n}, or none",
        )
        require(
            self.sampling == "random" or self.exponent == 0,
            "task.sampling",
            self.sampling,
            f"random with task.exponent = {self.exponent}: of all items, each comes once",
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
        return tables_of(self, torch.device(device))[0]

    def frequencies(self, device: torch.device | str = "cpu") -> Float[Tensor, " item"]:
        """The share of every item, in double precision."""
        return tables_of(self, torch.device(device))[1]

    def draw(self, count: int, generator: torch.Generator) -> tuple[Int[Tensor, " batch"]]:
        n, device = self.n_items, generator.device
        if self.sampling == "all":
            rounds = -(-count // n)
            items = torch.rand(rounds, n, generator=generator, device=device).argsort(-1).flatten()
            return (items[:count],)
        if self.exponent == 0:
            return (torch.randint(n, (count,), generator=generator, device=device),)
        chances = torch.rand(count, generator=generator, device=device, dtype=torch.float64)
        items = torch.searchsorted(self.frequencies(device).cumsum(0), chances, right=True)
        return (items.clamp(max=n - 1),)

    def assemble(self, draws: tuple[Tensor, ...]) -> Batch:
        (items,) = draws
        return Batch(items[:, None], self.classes(items.device)[items][:, None, None])

    def relations(self, batch: Batch) -> dict[str, Edges]:
        """Empty, as a sequence has one position."""
        return {}

    def reference_losses(self) -> dict[str, dict[str, float]]:
        """Predicting all classes alike, and the frequencies of the classes, whatever the item."""
        frequencies = self.frequencies()
        shares = torch.zeros_like(frequencies).index_add(0, self.classes(), frequencies)
        shares = shares[shares > 0]
        entropy = -(shares * shares.log()).sum().item()
        return {
            "uniform": {"class": math.log(self.targets.vocabulary)},
            "frequencies of classes": {"class": entropy},
        }


@cache
def tables_of(task: Associations, device: torch.device) -> tuple[Tensor, Tensor]:
    """The class and the share of every item, on a device."""
    n, fixed = task.n_items, torch.Generator().manual_seed(0)
    drawn = torch.randint(task.n_classes or n, (n,), generator=fixed)
    classes = torch.arange(n) if task.n_classes is None else drawn
    weights = torch.arange(1, n + 1, dtype=torch.float64) ** -task.exponent
    return classes.to(device), (weights / weights.sum()).to(device)
