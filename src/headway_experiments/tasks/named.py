"""Facts that are known by heart: maps of symbols that are named, not written out."""

from dataclasses import dataclass
from functools import cache
from typing import Literal

import torch
from jaxtyping import Int
from torch import Tensor

from headway.fields import AtLeastOne, NotNegative
from headway.tasks import Batch, SeveralHops


@dataclass(frozen=True)
class Named(SeveralHops):
    """Sequences x r_1 … r_K of a symbol and names; asks at the end where k hops lead
    from x.

    A hop from y along r leads to σ_r(y). The permutation σ_r is the same in all
    sequences, and never shown: unlike those of `Composition` it must be memorised. A
    fifth of the beginnings (x, r_1, r_2) are held out. What is asked there can be put
    together from facts that sequences show, but has not been shown itself.

    Tokens are the symbols, then the names.

    Attributes:
        asked: the k that are asked, rising; the largest is K.
        n_symbols: N, what permutations permute.
        n_names: R, permutations.
        facts: the seed of the permutations, and of what is held out.
        beginnings: those of sequences.
    """

    asked: tuple[AtLeastOne, ...] = (1, 2)
    n_symbols: AtLeastOne = 8
    n_names: AtLeastOne = 8
    facts: NotNegative = 0
    beginnings: Literal["shown", "held out"] = "shown"

    @property
    def vocabulary(self) -> int:
        return self.n_symbols + self.n_names

    def draw(self, count: int, generator: torch.Generator) -> tuple[Tensor]:
        n_names = self.n_names
        device = generator.device
        most = self.asked[-1]
        begun = self._beginnings(count, generator)
        symbol = begun // n_names**2
        first = begun // n_names % n_names
        second = begun % n_names
        rest = torch.randint(n_names, (count, most), generator=generator, device=device)
        beginnings = torch.stack([symbol, first, second], 1)
        whole = torch.cat([beginnings, rest[:, 2:]], 1)
        return (whole[:, : most + 1],)

    def _beginnings(self, count: int, generator: torch.Generator) -> Tensor:
        """Numbers of beginnings: a symbol and two names. A fifth of them is held
        out.
        """
        fixed = torch.Generator().manual_seed(self.facts)
        order = torch.randperm(self.n_symbols * self.n_names**2, generator=fixed)
        n_shown = len(order) - len(order) // 5
        shown, held_out = order.to(generator.device).tensor_split([n_shown])
        those = held_out if self.beginnings == "held out" else shown
        device = generator.device
        return those[
            torch.randint(len(those), (count,), generator=generator, device=device)
        ]

    def assemble(self, draws: tuple[Tensor, ...]) -> Batch:
        start, *names = draws[0].unbind(1)
        maps = facts_of(self, draws[0].device)
        reached = [start]
        tokens = [start]
        for name in names:
            reached.append(maps[name, reached[-1]])
            tokens.append(self.n_symbols + name)
        answers = torch.stack([reached[k] for k in self.asked], 1)
        return Batch(torch.stack(tokens, 1), answers[:, None])


@cache
def facts_of(task: Named, device: torch.device) -> Int[Tensor, "name symbol"]:
    """The permutations of a task on a device."""
    fixed = torch.Generator().manual_seed(task.facts)
    drawn = torch.rand(task.n_names, task.n_symbols, generator=fixed)
    facts = drawn.argsort(-1)
    return facts.to(device)
