"""The retrieval problem: follow a chain of D facts (Musat 2024, sections 3 and 6)."""

from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import Literal

import torch
from jaxtyping import Float, Integer
from torch import Tensor

from headway.errors import require, require_types
from headway.tasks.base import Batch, Order, Task, require_code, sinusoid

Copies = Literal["same", "rotated", "independent"]


@dataclass(frozen=True)
class RetrievalConfig:
    """The retrieval problem's parameters; in the paper N = 4 and K = 4 throughout.

    Attributes:
        depth: D, retrieval steps in a chain.
        n_chains: N, interleaved chains.
        d_token: K, dimensions of a token and of the position code; even.
        curriculum: the implicit curriculum (IC): predict x_1 .. x_D rather than x_D alone.
        hops: which of x_1 .. x_D the curriculum asks for, by number, x_D among them; none means
            all.
        position_code: a code for every token, or one for both tokens of a pair.
        position_base: the base of the code's wavelengths (2π to 2π · base^(1 - 2/K)); none picks
            the base whose longest wave is 1.25 sequences.
        order: the order of the blocks: deepest pairs first, or shallowest.
        copies: what the two places of a symbol have in common, its place as the second of a pair
            and as the first of the next. The `same` vector; one that is `rotated` by a map that is
            the same in all sequences; or two `independent` vectors, so that nothing leads from one
            pair to the next.
    """

    depth: int = 3
    n_chains: int = 4
    d_token: int = 4
    curriculum: bool = True
    hops: tuple[int, ...] | None = None
    position_code: Literal["token", "pair"] = "token"
    position_base: float | None = 10_000.0
    order: Order = "deep-first"
    copies: Copies = "same"

    def __post_init__(self):
        require_types(self, "task.")
        require(self.depth >= 1, "task.depth", self.depth, "a whole number of at least 1")
        require(self.n_chains >= 1, "task.n_chains", self.n_chains, "a whole number of at least 1")
        if self.hops is not None:
            rising = all(low < high for low, high in pairwise((0, *self.hops)))
            require(
                self.curriculum and rising and self.hops[-1:] == (self.depth,),
                "task.hops",
                self.hops,
                f"numbers from 1 up that rise to task.depth = {self.depth}, with task.curriculum ="
                " true, or none",
            )
        require_code(self.d_token, self.position_base)

    @property
    def asked(self) -> tuple[int, ...]:
        """The numbers j of the x_j that a query must predict."""
        if not self.curriculum:
            return (self.depth,)
        return self.hops or tuple(range(1, self.depth + 1))


class Retrieval(Task):
    """Samples sequences of interleaved chains x_0 → x_1 → … → x_D; asks for what follows x_0.

    With D = 2 and the chains a b c and p q r, one sequence, deepest pairs first, reads

        b c   q r   p q   a b   a   p
        └ block 2 ┘ └ block 1 ┘ └ queries

    and its targets are (b, c) at the query a and (q, r) at the query p. Chains are shuffled
    within every block and among the queries. Every symbol is a vector drawn from N(0, I) afresh
    for every sequence, so nothing can be memorised: the chain must be followed.

    Roles (appendix B, definition 1): s0 is the query; s1, s2 are the two tokens of the pair
    (x_0, x_1), s3, s4 those of (x_1, x_2), and so on. So s2 and s3 hold the same symbol x_1; the
    query is the first of its kind, and what is asked for is always a second.
    """

    def __init__(self, config: RetrievalConfig | None = None, device: str = "cpu"):
        self.config = config = config or RetrievalConfig()
        depth, n, k = config.depth, config.n_chains, config.d_token
        self.length = n * (2 * depth + 1)
        self.n_chains = self.n_read = n
        self.d_token, self.d_input = k, 2 * k
        self.d_target = k * len(config.asked)
        self.role_names = tuple(f"s{i}" for i in range(2 * depth + 1))
        self.hop_names = tuple(f"x_{j}" for j in config.asked)

        # Where each role of the chain in slot 0 stands, and how far apart slots are.
        blocks = [depth - 1 - j if config.order == "deep-first" else j for j in range(depth)]
        starts = [2 * n * depth] + [2 * n * blocks[j] + i for j in range(depth) for i in (0, 1)]
        self._role_start = torch.tensor(starts, device=device)[:, None]
        role_block = [0] + [j + 1 for j in range(depth) for _ in (0, 1)]
        self._role_block = torch.tensor(role_block, device=device)
        self._role_stride = torch.tensor([1] + [2] * (2 * depth), device=device)[:, None]
        role = torch.arange(2 * depth + 1, device=device)
        self._is_second = (role % 2 == 0) & (role > 0)
        apart = config.copies == "independent"
        self._role_symbol = role // 2 + (depth + 1) * self._is_second * apart
        self._asked_from = (depth + 1) * apart

        positions = torch.arange(self.length)
        if config.position_code == "pair":
            pairs = n * depth
            positions = torch.cat([torch.arange(pairs).repeat_interleave(2), pairs + positions[:n]])
        self.position_code: Float[Tensor, "position token"] = sinusoid(
            positions, k, config.position_base
        ).to(device)

    @property
    def n_depths(self) -> int:
        """D, if the end of a sequence is one of fewer hops."""
        can_shorten = self.config.order == "deep-first" and self.config.hops is None
        return self.config.depth if can_shorten else 1

    def draw(
        self, count: int, generator: torch.Generator
    ) -> tuple[Float[Tensor, "batch chain symbol token"], Integer[Tensor, "batch block chain"]]:
        """Draws the symbols of every chain and its slot in the queries and in every block.

        Slots are stored as bytes, so that a fixed training set of 2^20 sequences stays small.
        """
        n, steps = self.n_chains, self.config.depth + 1
        device, vectors = generator.device, steps + self._asked_from
        symbols = torch.randn(count, n, vectors, self.d_token, generator=generator, device=device)
        slots = torch.rand(count, steps, n, generator=generator, device=device).argsort(-1)
        return symbols, slots.to(torch.uint8 if n <= 256 else torch.int32)

    def assemble(self, draws: tuple[Tensor, ...], depth: int | None = None) -> Batch:
        """Puts every chain's symbols at the slots drawn for it.

        Args:
            draws: what `draw` drew.
            depth: keep the last positions only, those of a problem with so few hops (deepest pairs
                first); what is asked are then its hops. None means all.
        """
        symbols, slots = draws
        kept = self.config if depth is None else replace(self.config, depth=depth, hops=None)
        depth = kept.depth
        count, _, _, k = symbols.shape
        slots = slots.long()
        roles = self._role_start + self._role_stride * slots[:, self._role_block]

        inputs = symbols.new_empty(count, self.length, 2 * k)
        inputs[..., k:] = self.position_code
        tokens = symbols[:, :, self._role_symbol]
        if self.config.copies == "rotated":
            turned = tokens[:, :, self._is_second] @ rotation(k, symbols.device)
            tokens[:, :, self._is_second] = turned
        tokens = tokens.transpose(1, 2).reshape(count, self.length, k)
        where = roles.reshape(count, self.length, 1).expand(-1, -1, k)
        inputs[..., :k].scatter_(1, where, tokens)

        asked = symbols[:, :, [self._asked_from + number for number in kept.asked]]
        if self.config.copies == "rotated":
            asked = asked @ rotation(k, symbols.device)
        at_query = slots[:, 0, :, None, None].expand_as(asked)
        targets = torch.zeros_like(asked).scatter_(1, at_query, asked)
        left_out = 2 * self.n_chains * (self.config.depth - depth)
        return Batch(inputs[:, left_out:], targets, roles[:, : 2 * depth + 1] - left_out)

    def reference_losses(self) -> dict[str, float]:
        """Predicting zero, and predicting the mean of the N candidates at a depth."""
        return {"zero": 1.0, "mean of the candidates": 1 - 1 / self.n_chains}


@cache
def rotation(size: int, device: torch.device) -> Float[Tensor, "size size"]:
    """A map that keeps lengths and angles, drawn once and for all."""
    drawn = torch.randn(size, size, generator=torch.Generator().manual_seed(0))
    return torch.linalg.qr(drawn).Q.to(device)
