"""Facts that are known by heart: maps of symbols that are named, not written out."""

from dataclasses import dataclass
from functools import cache
from typing import Annotated, Literal

import torch
from annotated_types import Ge, Le
from jaxtyping import Int
from torch import Tensor

from headway.fields import AtLeastOne, NotNegative
from headway.tasks import Batch, SeveralHops


@dataclass(frozen=True)
class Named(SeveralHops):
    """Sequences x r_1 … r_K of a symbol and names; asks at the end where k names lead from x.

    A name r stands for a permutation σ_r, which is the same in all sequences and never shown, so
    that it must be memorised: a hop from y along r leads to σ_r(y). It is `Composition` but for
    names where that has permutations written out. Some beginnings (x, r_1, r_2) are held out: no
    sequence has them unless `beginnings` says so. An answer to two hops or more in these can be put
    together from facts that were shown, and cannot have been learnt as such.

    Tokens: the symbols, then the names.

    Attributes:
        asked: the k that are asked, rising; a sequence has as many names as the largest.
        n_symbols: N, what permutations permute.
        n_names: R, permutations.
        facts: the seed of the permutations, and of the fifth of all beginnings that is held out.
        beginnings: those of sequences.
    """

    n_symbols: Annotated[int, Ge(2), Le(256)] = 8
    n_names: AtLeastOne = 8
    facts: NotNegative = 0
    beginnings: Literal["shown", "held out"] = "shown"

    @property
    def vocabulary(self) -> int:
        return self.n_symbols + self.n_names

    def draw(self, count: int, generator: torch.Generator) -> tuple[Tensor, ...]:
        device = generator.device
        allowed = beginnings_of(self, device)
        which = torch.randint(len(allowed), (count,), generator=generator, device=device)
        shape = count, max(self.asked[-1] - 2, 0)
        more = torch.randint(self.n_names, shape, generator=generator, device=device)
        return (torch.cat([allowed[which], more], dim=1),)

    def assemble(self, draws: tuple[Tensor, ...]) -> Batch:
        (drawn,) = draws
        most, maps = self.asked[-1], facts_of(self, drawn.device)
        reached = [drawn[:, 0]]
        for name in drawn[:, 1 : most + 1].unbind(1):
            reached.append(maps[name, reached[-1]])
        answers = torch.stack([reached[k] for k in self.asked], dim=1)
        names = self.n_symbols + drawn[:, 1 : most + 1]
        return Batch(torch.cat([drawn[:, :1], names], dim=1), answers[:, None])


@cache
def facts_of(task: Named, device: torch.device) -> Int[Tensor, "name symbol"]:
    """The permutations of a task on a device."""
    fixed = torch.Generator().manual_seed(task.facts)
    return torch.rand(task.n_names, task.n_symbols, generator=fixed).argsort(-1).to(device)


@cache
def beginnings_of(task: Named, device: torch.device) -> Int[Tensor, "beginning 3"]:
    """The beginnings (x, r_1, r_2) that a task's sequences have."""
    r, fixed = task.n_names, torch.Generator().manual_seed(task.facts)
    order = torch.randperm(task.n_symbols * r * r, generator=fixed)
    fifth = len(order) // 5
    chosen = order[:fifth] if task.beginnings == "held out" else order[fifth:]
    rest = chosen // r
    return torch.stack([rest // r, rest % r, chosen % r], dim=1).to(device)
