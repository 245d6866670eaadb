"""The k-hop problem: look up what came after last time, again and again (Sanford et al. 2024)."""

import math
from dataclasses import dataclass
from itertools import pairwise

import torch
from jaxtyping import Int
from torch import Tensor

from headway.errors import require, require_types
from headway.tasks.base import NONE, UNASKED, Batch, Relation, Task, previous_token


@dataclass(frozen=True)
class HopsConfig:
    """The k-hop problem's parameters; in the paper 4 symbols and sequences of 100.

    Attributes:
        hops: the k that are asked, rising; every sequence has one of them.
        n_symbols: that sequences are made of.
        n_places: symbols in a sequence.
    """

    hops: tuple[int, ...] = (1, 2, 4, 8)
    n_symbols: int = 4
    n_places: int = 100

    def __post_init__(self):
        require_types(self, "task.")
        require_hops(self.hops)
        require(
            3 <= self.n_symbols <= 256,
            "task.n_symbols",
            self.n_symbols,
            "from 3 (of two, none of which comes twice in a row, each is the other's next) to 256",
        )
        require(self.n_places >= 3, "task.n_places", self.n_places, "a whole number of at least 3")


def require_hops(hops: tuple[int, ...]) -> None:
    """Checks which numbers of hops are asked.

    Raises:
        HeadwayError: if there are none, one is below 1, or they do not rise.
    """
    rising = bool(hops) and all(low < high for low, high in pairwise((0, *hops)))
    require(rising, "task.hops", hops, "whole numbers of at least 1 that rise")


class Hops(Task):
    """Samples sequences k X_1 … X_T; asks at every place i for hop_k(i).

    Symbols are uniform but for that none comes twice in a row. find^1(i) is the latest j ≤ i with
    X_{j-1} = X_i: the place after the last place that held the same symbol. find^k follows it k
    times, and hop_k(i) is the symbol there. In

        k = 2   a  b  c  a  b  d  a

    the last a looks at the place after the a before, which holds a b; that b at the place after
    the b before, which holds c: hop_2 = c. Where there is no such place, the answer is a token for
    none.

    Tokens: the symbols, then one for every k, then none.
    """

    def __init__(self, config: HopsConfig | None = None, device: str = "cpu"):
        self.config = config = config or HopsConfig()
        self.n_read = config.n_places
        self.length = 1 + config.n_places
        self.d_input = 2
        self.vocabulary = self.d_target = config.n_symbols + len(config.hops) + 1
        self.none = self.vocabulary - 1
        self.hop_names = tuple(f"hop {k}" for k in config.hops)
        self._hops = torch.tensor(config.hops, device=device)

    @property
    def n_depths(self) -> int:
        """Sequences may be of the first few k alone."""
        return len(self.config.hops)

    def draw(self, count: int, generator: torch.Generator) -> tuple[Tensor, ...]:
        """Draws the first symbol and the step from each to the next, and what decides k."""
        n, places, device = self.config.n_symbols, self.config.n_places, generator.device
        first = torch.randint(n, (count, 1), generator=generator, device=device)
        steps = torch.randint(1, n, (count, places - 1), generator=generator, device=device)
        chosen = torch.rand(count, generator=generator, device=device)
        return torch.cat([first, steps], dim=1).to(torch.uint8), chosen

    def assemble(self, draws: tuple[Tensor, ...], depth: int | None = None) -> Batch:
        """Puts k in front of the symbols; what is asked of a sequence is the column of its k.

        Args:
            draws: what `draw` drew.
            depth: only the first so many k; none means all.
        """
        steps, chosen = draws
        symbols = steps.long().cumsum(1) % self.config.n_symbols
        which = (chosen * (self.n_depths if depth is None else depth)).long()
        found = find(symbols, max(self.config.hops))[
            self._hops[which] - 1, torch.arange(len(which))
        ]
        answers = symbols.gather(1, found.clamp(min=0)).where(found != NONE, self.none)
        targets = answers[:, :, None].repeat(1, 1, len(self.config.hops))
        asked = which[:, None] == torch.arange(len(self.config.hops), device=which.device)
        targets = targets.where(asked[:, None], UNASKED)
        tokens = torch.cat([self.config.n_symbols + which[:, None], symbols], dim=1)
        places = torch.arange(self.length, device=tokens.device).expand_as(tokens)
        roles = tokens.new_empty(len(tokens), 0, 0)
        return Batch(torch.stack([tokens, places], dim=-1), targets, roles)

    @property
    def path_names(self) -> tuple[str, ...]:
        """`previous token`, and find^j for every j up to the largest k."""
        deepest = range(1, max(self.config.hops) + 1)
        return ("previous token", *(f"find^{j}" for j in deepest))

    def paths(self, batch: Batch) -> dict[str, Relation]:
        """From every place to the one before, and to find^j, if it is there."""
        symbols = batch.inputs[:, 1:, 0]
        places = torch.arange(1, self.length, device=symbols.device).expand_as(symbols)
        relations = {"previous token": previous_token(batch)}
        for j, found in enumerate(find(symbols, max(self.config.hops)), start=1):
            keys = (found + 1).where(found != NONE, NONE)
            queries = places.where(found != NONE, NONE)
            relations[f"find^{j}"] = Relation(f"find^{j}", queries, keys[..., None])
        return relations

    def relations(self, batch: Batch) -> dict[str, Relation]:
        """The paths: there are no others."""
        return self.paths(batch)

    def reference_losses(self) -> dict[str, float]:
        """Saying every symbol with the same probability."""
        return {"any symbol": math.log(self.config.n_symbols)}


def find(symbols: Int[Tensor, "batch place"], most: int) -> Int[Tensor, "{most} batch place"]:
    """find^1 to find^most of every place, counted from 0, or `NONE` where there is none."""
    count, length = symbols.shape
    at = torch.arange(length, device=symbols.device)
    same = (symbols[:, :, None] == symbols[:, None]) & (at < at[:, None])
    last = torch.where(same, at, NONE).amax(-1)
    once = torch.where(last == NONE, NONE, last + 1)
    found = [once]
    for _ in range(most - 1):
        before = found[-1]
        found.append(once.gather(1, before.clamp(min=0)).where(before != NONE, NONE))
    return torch.stack(found).view(most, count, length)
