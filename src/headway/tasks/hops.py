"""The k-hop problem: look up what came after last time, again and again (Sanford et al.
2024).
"""

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

import torch
from annotated_types import Ge, Le
from jaxtyping import Int
from torch import Tensor

from headway.errors import require
from headway.fields import Depth
from headway.relations.edges import NO_KEY, Edges, previous_token
from headway.tasks.base import Batch, Task
from headway.tasks.targets import IGNORE_INDEX, Tokens


@dataclass(frozen=True)
class SeveralHops(Task, registered=False):
    """Asks where k hops lead among symbols, for the rising numbers k in `asked`."""

    threshold = 0.05
    asked: tuple[Depth, ...] = (1,)
    n_symbols: int = 2

    def __post_init__(self):
        super().__post_init__()
        steps = pairwise((0, *self.asked))
        rising = self.asked != () and all(low < high for low, high in steps)
        require(
            rising, "task.asked", self.asked, "whole numbers of at least 1 that rise"
        )

    @property
    def hops(self) -> tuple[str, ...]:
        return tuple(f"hop {k}" for k in self.asked)

    @property
    def label(self) -> str:
        return "k=" + ",".join(map(str, self.asked))

    def reference_losses(self) -> dict[str, dict[str, float]]:
        """Predicting every symbol with the same probability."""
        loss = math.log(self.n_symbols)
        return {"any symbol": dict.fromkeys(self.hops, loss)}


@dataclass(frozen=True)
class Hops(SeveralHops):
    """Sequences k X_1 … X_T; asks at every place i for hop_k(i).

    Symbols are uniform but for that none comes twice in a row. find^1(i) is the latest
    j ≤ i with X_{j-1} = X_i: the place after the last place that held the same symbol.
    find^k follows it k times, and hop_k(i) is the symbol there. In

        k = 2   a  b  c  a  b  d  a

    the last a looks at the place after the a before, which holds a b; that b at the
    place after the b before, which holds c: hop_2 = c. Where there is no such place,
    the answer is the token `none`.

    Tokens: the symbols, then one for every k, then `none`.

    Attributes:
        asked: the k that are asked, rising; every sequence has one of them.
        n_symbols: that sequences are made of; 4 in the paper. At least 3: of two, none
            of which comes twice in a row, each is the other's next.
        n_places: symbols in a sequence; 100 in the paper.
    """

    asked: tuple[Depth, ...] = (1, 2, 4, 8)
    n_symbols: Annotated[int, Ge(3), Le(256)] = 4
    n_places: Annotated[int, Ge(3)] = 100

    @property
    def tokens(self) -> tuple[str, ...]:
        """Symbols by number, a token for every k, and `none`."""
        symbols = map(str, range(self.n_symbols))
        ks = [f"k={k}" for k in self.asked]
        return (*symbols, *ks, "none")

    @property
    def targets(self) -> Tokens:
        return Tokens(len(self.tokens))

    @property
    def none(self) -> int:
        """The answer where hops lead nowhere."""
        return len(self.tokens) - 1

    @property
    def n_depths(self) -> int:
        return len(self.asked)

    def draw(self, count: int, generator: torch.Generator) -> tuple[Tensor, ...]:
        """Draws the first symbol, the step to each next one, and what decides k."""
        n = self.n_symbols
        places = self.n_places
        device = generator.device
        first = torch.randint(n, (count, 1), generator=generator, device=device)
        rest = (count, places - 1)
        steps = torch.randint(1, n, rest, generator=generator, device=device)
        chosen = torch.rand(count, generator=generator, device=device)
        symbols = torch.cat([first, steps], dim=1)
        return symbols.to(torch.uint8), chosen

    def assemble(self, draws: tuple[Tensor, ...]) -> Batch:
        """Puts k before the symbols; a sequence is asked for the column of its k."""
        return self.shallower(draws, len(self.asked))

    def shallower(
        self, draws: tuple[Tensor, ...], depth: int, earlier: int = 0
    ) -> Batch:
        """Asks only for the first so many k."""
        steps, chosen = draws
        symbols = steps.long().cumsum(1) % self.n_symbols
        which = (chosen * depth).long()
        answers = self._answers(symbols, which)
        which = which[:, None]
        hops = torch.arange(len(self.asked), device=which.device)
        asked = (which == hops)[:, None]
        answers = answers[:, :, None]
        targets = answers.where(asked, IGNORE_INDEX)
        inputs = torch.cat([self.n_symbols + which, symbols], dim=1)
        return Batch(inputs, targets)

    def _answers(
        self, symbols: Int[Tensor, "batch place"], which: Int[Tensor, " batch"]
    ) -> Int[Tensor, "batch place"]:
        """The symbol that each sequence's k hops lead to from each place, by index."""
        ks = torch.tensor(self.asked, device=which.device)
        rows = torch.arange(len(which), device=which.device)
        by_hop = find(symbols, max(self.asked))
        led_to = by_hop[ks[which] - 1, rows]
        symbols = symbols.gather(1, led_to.clamp(min=0))
        return symbols.where(led_to != NO_KEY, self.none)

    def reference_losses(self) -> dict[str, dict[str, float]]:
        """Predicting every symbol and `none` with the same probability."""
        loss = math.log(self.n_symbols + 1)
        return {"any answer": dict.fromkeys(self.hops, loss)}

    def relations(self, batch: Batch) -> dict[str, Edges]:
        """Relations from every place to the one before, and to find^j where that is."""
        symbols = batch.inputs[:, 1:]
        places = torch.arange(1, self.length, device=symbols.device)
        relations = {"previous token": previous_token(batch.inputs)}
        for j, led_to in enumerate(find(symbols, max(self.asked)), start=1):
            is_there = led_to != NO_KEY
            keys = (led_to + 1).where(is_there, NO_KEY)
            queries = places.where(is_there, NO_KEY)
            relations[f"find^{j}"] = Edges(queries, keys[..., None])
        return relations


def find(
    symbols: Int[Tensor, "batch place"], most: int
) -> Int[Tensor, "{most} batch place"]:
    """find^1 to find^most of every place, from 0, or `NO_KEY` if there is none."""
    at = torch.arange(symbols.shape[1], device=symbols.device)
    is_before = at < at[:, None]
    same = (symbols[:, :, None] == symbols[:, None]) & is_before
    last = torch.where(same, at, NO_KEY).amax(-1)
    once = torch.where(last == NO_KEY, NO_KEY, last + 1)
    hops = [once]
    for _ in range(most - 1):
        place = hops[-1]
        further = once.gather(1, place.clamp(min=0))
        hops.append(further.where(place != NO_KEY, NO_KEY))
    return torch.stack(hops)
