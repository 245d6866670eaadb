"""Two hops in context among distractors: facts of several chains, and one query."""

import math
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Int
from torch import Tensor

from headway.errors import require
from headway.fields import AtLeastTwo
from headway.tasks import Batch, Task


@dataclass(frozen=True)
class TwoHops(Task):
    """Chains source → bridge → end, as facts of two tokens each, and a source; asks for
    its end.

    With two chains, a → b → c and d → e → f, a sequence could read

        BOS  e f  a b  b c  d e  a

    and its answer is c. The facts of all chains stand in a random order, so the second
    fact of a chain may come before its first. All symbols of a sequence differ, so
    nothing but the facts tells ends from bridges. Guo et al. 2025, arXiv 2502.13913.

    Roles: query, the last token; source and bridge, the target chain's first fact;
    bridge again and end, its second fact.

    Attributes:
        n_chains: the target's chain and its distractors.
        n_symbols: tokens that may be drawn; BOS is one more.
        asked: the end alone, as in the source, or the bridge too, by logits of its own.
    """

    n_chains: AtLeastTwo = 5
    n_symbols: AtLeastTwo = 30
    asked: Literal["end", "both"] = "end"

    def __post_init__(self):
        super().__post_init__()
        least = 3 * self.n_chains
        allowed = f"at least {least}, three for each of task.n_chains = {self.n_chains}"
        require(self.n_symbols >= least, "task.n_symbols", self.n_symbols, allowed)

    @property
    def roles(self) -> tuple[str, ...]:
        return ("query", "source", "bridge", "bridge again", "end")

    @property
    def hops(self) -> tuple[str, ...]:
        return ("bridge", "end") if self.asked == "both" else ("end",)

    @property
    def vocabulary(self) -> int:
        return self.n_symbols + 1

    @property
    def tokens(self) -> tuple[str, ...]:
        return ("BOS", *map(str, range(1, self.n_symbols + 1)))

    def draw(
        self, count: int, generator: torch.Generator
    ) -> tuple[Int[Tensor, "batch chain part"], Int[Tensor, "batch fact"]]:

        def shuffled(n: int) -> Tensor:
            numbers = torch.rand(count, n, generator=generator, device=generator.device)
            return numbers.argsort(-1)

        symbols = 1 + shuffled(self.n_symbols)
        named = symbols[:, : 3 * self.n_chains]
        return named.view(count, self.n_chains, 3), shuffled(2 * self.n_chains)

    def assemble(self, draws: tuple[Tensor, ...]) -> Batch:
        """Lays out the facts in their order; the first chain is the target's."""
        chains, order = draws
        count = len(chains)
        first_fact = chains[..., :2]
        second_fact = chains[..., 1:]
        facts = torch.stack([first_fact, second_fact], dim=2).view(count, -1, 2)
        places_of = order[..., None].expand_as(facts)
        shown = facts.gather(1, places_of).flatten(1)
        bos = torch.zeros_like(chains[:, 0, :1])
        query = chains[:, 0, :1]
        tokens = torch.cat([bos, shown, query], dim=1)
        places = order.argsort(-1)
        first, second = 1 + 2 * places[:, :2].T
        last = torch.full_like(first, tokens.shape[1] - 1)
        roles = torch.stack([last, first, first + 1, second, second + 1], dim=1)
        answers = chains[:, 0, None, 1:]
        targets = answers if self.asked == "both" else answers[..., 1:]
        return Batch(tokens, targets, roles[..., None])

    def ends(self, batch: Batch) -> Int[Tensor, "batch chain"]:
        """The ends of all chains of every sequence, which stand once and second in
        their fact.
        """
        facts = batch.inputs[:, 1:-1].unflatten(1, (-1, 2))
        first = facts[..., 0]
        second = facts[..., 1]
        is_apart = second[:, :, None] != first[:, None]
        is_end = is_apart.all(-1)
        return second[is_end].view(len(facts), self.n_chains)

    def reference_losses(self) -> dict[str, dict[str, float]]:
        """Predicting all tokens alike, and all ends in the sequence: the plateau of the
        source.
        """
        uniform = dict.fromkeys(self.hops, math.log(self.vocabulary))
        any_chain = dict.fromkeys(self.hops, math.log(self.n_chains))
        return {"uniform": uniform, "any chain": any_chain}
