"""k-fold composition: permutations given in context and hidden ones between (Wang et al. 2025)."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from headway.errors import require, require_types
from headway.tasks.base import Batch, Relation, Task
from headway.tasks.hops import require_hops


@dataclass(frozen=True)
class CompositionConfig:
    """The parameters of k-fold composition (Wang, Nichani et al. 2025, arXiv 2505.23683).

    Attributes:
        hops: the k that are asked, rising; a sequence has as many permutations as the largest.
        n_symbols: N, what permutations permute.
        hidden: the seed of the hidden permutations, one before every one that is given, the same
            in all sequences; they are not drawn by the run's seed. None means that nothing is
            hidden.
    """

    hops: tuple[int, ...] = (1, 2, 4)
    n_symbols: int = 5
    hidden: int | None = 0

    def __post_init__(self):
        require_types(self, "task.")
        require_hops(self.hops)
        n = self.n_symbols
        require(2 <= n <= 256, "task.n_symbols", n, "a whole number from 2 to 256")
        drawn = self.hidden is None or self.hidden >= 0
        require(drawn, "task.hidden", self.hidden, "a whole number of at least 0, or none")


class Composition(Task):
    """Samples sequences σ_1 … σ_K of permutations; asks where k hops lead, for every k at once.

    A hop from symbol x at permutation i leads to symbol σ_i(π_i(x)) at permutation i + 1, and from
    the last on to the first. The given permutations σ are uniform; π_1 … π_K are hidden: they are
    the same in all sequences, and never shown. With K = 2, three symbols and nothing hidden

        b c a   a c b

    says σ_1(a) = b and σ_2(b) = c, so two hops lead from a at σ_1 to c. At the place of σ_i(x) it
    is asked where hops lead from x at σ_i. Hops lead on, so a model must see both ways
    (`model.causal = false`).

    Tokens are the symbols; every k has logits of its own, as a single answer would teach a model
    to hide what it knows (docs/khop.md).
    """

    def __init__(self, config: CompositionConfig | None = None, device: str = "cpu"):
        self.config = config = config or CompositionConfig()
        self.n_permutations = max(config.hops)
        n = config.n_symbols
        self.length = self.n_read = self.n_permutations * n
        self.d_input = 2
        self.d_target = n * len(config.hops)
        self.vocabulary = n
        self.hop_names = tuple(f"hop {k}" for k in config.hops)
        self._hops = torch.tensor(config.hops, device=device)
        hidden = torch.arange(n).expand(self.n_permutations, -1)
        if config.hidden is not None:
            fixed = torch.Generator().manual_seed(config.hidden)
            hidden = torch.rand(self.n_permutations, n, generator=fixed).argsort(-1)
        self.hidden: Int[Tensor, "permutation symbol"] = hidden.to(device)

    def draw(self, count: int, generator: torch.Generator) -> tuple[Tensor]:
        """Draws the permutations."""
        shape = (count, *self.hidden.shape)
        given = torch.rand(shape, generator=generator, device=generator.device).argsort(-1)
        return (given.to(torch.uint8),)

    def assemble(self, draws: tuple[Tensor, ...], depth: int | None = None) -> Batch:
        """Lays out the permutations one after the other, each as its symbols in order of x."""
        given = draws[0].long()
        targets = self.reached(given)[self._hops].flatten(2).permute(1, 2, 0)
        tokens = given.flatten(1)
        places = torch.arange(self.length, device=tokens.device).expand_as(tokens)
        roles = tokens.new_empty(len(tokens), 0, 0)
        return Batch(torch.stack([tokens, places], dim=-1), targets[..., None], roles)

    def reached(
        self, given: Int[Tensor, "batch permutation symbol"]
    ) -> Int[Tensor, "hop batch permutation symbol"]:
        """Where 0, 1, … K hops lead from every symbol at every permutation."""
        once = given.gather(2, self.hidden.expand(len(given), -1, -1))
        symbols = torch.arange(self.config.n_symbols, device=given.device).expand_as(given)
        reached = [symbols]
        for j in range(self.n_permutations):
            reached.append(once.roll(-j, 1).gather(2, reached[-1]))
        return torch.stack(reached)

    @property
    def path_names(self) -> tuple[str, ...]:
        """`y_j` for j from 1 to K, and `after j` for j from 1 to K - 1."""
        most = self.n_permutations
        return (
            *(f"y_{j}" for j in range(1, most + 1)),
            *(f"after {j}" for j in range(1, most)),
        )

    def paths(self, batch: Batch) -> dict[str, Relation]:
        """From the place of σ_i(x), by name, to one place each.

        Be y_j the symbol to which j hops lead from there. `y_j` is the place that holds it, in
        σ_{i+j-1}; `after j` is the place of σ_{i+j}(y_j), at which is asked where further hops
        lead.
        """
        size, n, most = len(batch.inputs), self.config.n_symbols, self.n_permutations
        given = batch.inputs[:, :, 0].view(size, most, n)
        reached = self.reached(given)
        queries = torch.arange(self.length, device=given.device).expand(size, -1)
        hidden = self.hidden.expand(size, -1, -1)
        starts = n * torch.arange(most, device=given.device)[:, None]
        holds, after = {}, {}
        for j in range(most):
            onward = starts.roll(-j, 0)
            holds[f"y_{j + 1}"] = onward + hidden.roll(-j, 1).gather(2, reached[j])
            if j:
                after[f"after {j}"] = onward + reached[j]
        return {
            name: Relation(name, queries, keys.flatten(1)[..., None])
            for name, keys in (holds | after).items()
        }

    def relations(self, batch: Batch) -> dict[str, Relation]:
        """The paths: there are no others."""
        return self.paths(batch)

    def reference_losses(self) -> dict[str, float]:
        """Saying every symbol with the same probability."""
        return {"any symbol": math.log(self.config.n_symbols)}
