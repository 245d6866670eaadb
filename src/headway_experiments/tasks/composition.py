"""k-fold composition: permutations given in context and hidden ones between (Wang et
al. 2025).
"""

from dataclasses import dataclass
from functools import cache
from typing import Annotated

import torch
from annotated_types import Ge, Le
from jaxtyping import Int
from torch import Tensor

from headway.fields import Depth, NotNegative
from headway.tasks import Batch, Edges, SeveralHops


@dataclass(frozen=True)
class Composition(SeveralHops):
    """Sequences σ_1 … σ_K of permutations; asks where k hops lead, for every k at once.

    A hop from symbol x at permutation i leads to symbol σ_i(π_i(x)) at permutation i +
    1, and from the last on to the first. The given permutations σ are uniform; π_1 …
    π_K are hidden: they are the same in all sequences, and never shown. With K = 2,
    three symbols and nothing hidden

        b c a   a c b

    says σ_1(a) = b and σ_2(b) = c, so two hops lead from a at σ_1 to c. At the place of
    σ_i(x) it is asked where hops lead from x at σ_i. Hops lead on, so a model must see
    both ways (`model.causal = false`).

    Tokens are the symbols. Every k has logits of its own. With a single answer, a model
    that does not know the larger k yet learns to hide what it knows of the smaller
    ones. Wang, Nichani et al. 2025, arXiv 2505.23683.

    Attributes:
        asked: the k that are asked, rising; a sequence has as many permutations as the
            largest.
        n_symbols: N, what permutations permute.
        hidden: the seed of the hidden permutations, one before every one that is given,
            the same in all sequences; they are not drawn by the run's seed. None if
            nothing is hidden.
    """

    asked: tuple[Depth, ...] = (1, 2, 4)
    n_symbols: Annotated[int, Ge(2), Le(256)] = 5
    hidden: NotNegative | None = 0

    @property
    def n_permutations(self) -> int:
        """K, the largest k."""
        return max(self.asked)

    @property
    def vocabulary(self) -> int:
        return self.n_symbols

    @property
    def looks_ahead(self) -> bool:
        return True

    def draw(self, count: int, generator: torch.Generator) -> tuple[Tensor]:
        shape = (count, self.n_permutations, self.n_symbols)
        given = torch.rand(shape, generator=generator, device=generator.device).argsort(
            -1
        )
        return (given.to(torch.uint8),)

    def assemble(self, draws: tuple[Tensor, ...]) -> Batch:
        """Lays out the permutations one after the other, each as its symbols in order
        of x.
        """
        given = draws[0].long()
        reached = self.reached(given)[list(self.asked)]
        targets = reached.flatten(2).permute(1, 2, 0)
        return Batch(given.flatten(1), targets)

    def reached(
        self, given: Int[Tensor, "batch permutation symbol"]
    ) -> Int[Tensor, "hop batch permutation symbol"]:
        """The symbols that 0, 1, … K hops lead to, from every symbol at every
        permutation.
        """
        hidden = hidden_of(self, given.device).expand(len(given), -1, -1)
        once = given.gather(2, hidden)
        symbols = torch.arange(self.n_symbols, device=given.device)
        reached = [symbols.expand_as(given)]
        for j in range(self.n_permutations):
            onward = once.roll(-j, 1)
            reached.append(onward.gather(2, reached[-1]))
        return torch.stack(reached)

    def relations(self, batch: Batch) -> dict[str, Edges]:
        """Relations from the place of σ_i(x) to one place each, by name.

        Let y_j be the symbol to which j hops lead from there. `y_j` is the place that
        holds it, in σ_{i+j-1}; `after j` is the place of σ_{i+j}(y_j), at which is
        asked where further hops lead.
        """
        size = len(batch.inputs)
        n = self.n_symbols
        most = self.n_permutations
        device = batch.inputs.device
        reached = self.reached(batch.inputs.view(size, most, n))
        queries = torch.arange(self.length, device=device).expand(size, -1)
        hidden = hidden_of(self, device).expand(size, -1, -1)
        starts = n * torch.arange(most, device=device)[:, None]
        holds = {}
        after = {}
        for j in range(most):
            onward = starts.roll(-j, 0)
            symbols = hidden.roll(-j, 1).gather(2, reached[j])
            holds[f"y_{j + 1}"] = _edges(queries, onward + symbols)
            if j:
                after[f"after {j}"] = _edges(queries, onward + reached[j])
        return holds | after


def _edges(queries: Tensor, keys: Tensor) -> Edges:
    """From every query to one key."""
    return Edges(queries, keys.flatten(1)[..., None])


@cache
def hidden_of(
    task: Composition, device: torch.device
) -> Int[Tensor, "permutation symbol"]:
    """The hidden permutations of a task on a device."""
    n = task.n_symbols
    most = task.n_permutations
    if task.hidden is None:
        return torch.arange(n, device=device).expand(most, -1)
    fixed = torch.Generator().manual_seed(task.hidden)
    numbers = torch.rand(most, n, generator=fixed)
    return numbers.argsort(-1).to(device)
