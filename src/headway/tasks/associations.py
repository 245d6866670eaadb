"""Associations to be kept in weights: an item, and the class that belongs to it."""

import math
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headway.errors import require, require_types
from headway.tasks.base import Batch, Relation, Task


@dataclass(frozen=True)
class AssociationsConfig:
    """The parameters of a set of associations (Cabannes et al. 2024, arXiv 2310.02984).

    Attributes:
        n_items: N, how many items there are.
        n_classes: how many classes; the class of every item is drawn uniformly among them, by the
            task and not by a run's seed. None means that every item is its own class.
        exponent: a of the items' frequencies p(z) ∝ (z + 1)^-a; 0 means that all are as frequent.
        sampling: items are drawn at `random`, or `all` in a random order, and then all again: a
            batch of N items then holds each once.
    """

    n_items: int = 64
    n_classes: int | None = None
    exponent: float = 0.0
    sampling: Literal["all", "random"] = "random"

    def __post_init__(self):
        require_types(self, "task.")
        n = self.n_items
        require(n >= 2, "task.n_items", n, "a whole number of at least 2")
        require(
            self.n_classes is None or 2 <= self.n_classes <= n,
            "task.n_classes",
            self.n_classes,
            f"a whole number from 2 to task.n_items = {n}, or none",
        )
        require(0 <= self.exponent < math.inf, "task.exponent", self.exponent, "0 or more")
        require(
            self.sampling == "random" or self.exponent == 0,
            "task.sampling",
            self.sampling,
            f"random with task.exponent = {self.exponent}: of all items, each comes once",
        )


class Associations(Task):
    """Samples items, one a sequence; asks for the class f(z) of the item z.

    With five items and two classes one batch of five, all in a random order, could read

        item   3  0  4  1  2
        class  1  0  0  1  1

    Items and classes are both numbered from 0, but do not share their vectors.
    """

    def __init__(self, config: AssociationsConfig | None = None, device: str = "cpu"):
        self.config = config = config or AssociationsConfig()
        n = config.n_items
        self.length = self.n_read = 1
        self.d_input = 2
        self.vocabulary = n
        self.d_target = config.n_classes or n
        self.hop_names = ("class",)
        fixed = torch.Generator().manual_seed(0)
        drawn = torch.randint(config.n_classes or n, (n,), generator=fixed)
        classes = torch.arange(n) if config.n_classes is None else drawn
        weights = torch.arange(1, n + 1, dtype=torch.float64) ** -config.exponent
        self.classes: Int[Tensor, " item"] = classes.to(device)
        self.frequencies: Float[Tensor, " item"] = (weights / weights.sum()).to(device)

    def draw(self, count: int, generator: torch.Generator) -> tuple[Int[Tensor, " batch"]]:
        """Draws the items."""
        n, device = self.config.n_items, generator.device
        if self.config.sampling == "all":
            rounds = -(-count // n)
            items = torch.rand(rounds, n, generator=generator, device=device).argsort(-1).flatten()
            return (items[:count],)
        if self.config.exponent == 0:
            return (torch.randint(n, (count,), generator=generator, device=device),)
        chances = torch.rand(count, generator=generator, device=device, dtype=torch.float64)
        items = torch.searchsorted(self.frequencies.cumsum(0), chances, right=True)
        return (items.clamp(max=n - 1),)

    def assemble(self, draws: tuple[Tensor, ...], depth: int | None = None) -> Batch:
        """Puts every item into a sequence of its own."""
        (items,) = draws
        inputs = torch.stack([items, torch.zeros_like(items)], dim=-1)[:, None]
        targets = self.classes[items][:, None, None]
        return Batch(inputs, targets, items.new_empty(len(items), 0, 0))

    def relations(self, batch: Batch) -> dict[str, Relation]:
        """None: a sequence has one position."""
        return {}

    def reference_losses(self) -> dict[str, float]:
        """Predicting all classes alike, and the frequencies of the classes, whatever the item."""
        shares = torch.zeros_like(self.frequencies).index_add(0, self.classes, self.frequencies)
        shares = shares[shares > 0]
        entropy = -(shares * shares.log()).sum().item()
        return {"uniform": math.log(self.d_target), "frequencies of classes": entropy}
