"""The retrieval problem: follow a chain of D facts (Musat 2024, sections 3 and 6)."""

import math
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Literal

import torch
from annotated_types import Ge, Gt, Lt, MultipleOf
from jaxtyping import Float, Int, Integer
from torch import Tensor

from headway import theory
from headway.fields import AtLeastOne, Depth
from headway.tasks.base import Batch, Task

Even = Annotated[int, Ge(2), MultipleOf(2)]
"""The dimensions of a position code, which is made of pairs of sine and cosine."""

Base = Annotated[float, Gt(1), Lt(1e38)]


@dataclass(frozen=True)
class Retrieval(Task):
    """Interleaved chains x_0 → x_1 → … → x_D; asks for what follows x_0.

    With D = 2 and the chains a b c and p q r, one sequence, deepest pairs first, reads

        b c   q r   p q   a b   a   p
        └ block 2 ┘ └ block 1 ┘ └ queries

    and its targets are (b, c) at the query a and (q, r) at the query p. Chains are
    shuffled within every block and among the queries. Every symbol is a vector drawn
    from N(0, I) afresh for every sequence, so nothing can be memorised: the chain must
    be followed.

    Roles (appendix B, definition 1): s0 is the query; s1, s2 are the two tokens of the
    pair (x_0, x_1), s3, s4 those of (x_1, x_2), and so on. So s2 and s3 hold the same
    symbol x_1; the query is the first of its kind, and what is asked for is always a
    second.

    Attributes:
        depth: D, retrieval steps in a chain.
        n_chains: N, interleaved chains; 4 in the paper.
        d_token: K, dimensions of a token and of the position code; 4 in the paper.
        position_code: a code for every token, or one for both tokens of a pair.
        position_base: the base of the code's wavelengths (2π to 2π · base^(1 - 2/K));
            if None, the longest is 1.25 sequences.
        order: the order of the blocks: deepest pairs first, or shallowest.
        copies: what the two places of a symbol have in common, its place as the second
            of a pair and as the first of the next. The `same` vector; one that is
            `rotated` by a map that is the same in all sequences; or two `independent`
            vectors, so that nothing leads from one pair to the next.
    """

    threshold = 0.05
    depth: Depth = 3
    n_chains: AtLeastOne = 4
    d_token: Even = 4
    position_code: Literal["token", "pair"] = "token"
    position_base: Base | None = 10_000.0
    order: "theory.Order" = "deep-first"
    copies: "theory.Copies" = "same"

    @property
    def roles(self) -> tuple[str, ...]:
        count = 2 * self.depth + 1
        return tuple(f"s{i}" for i in range(count))

    @property
    def hops(self) -> tuple[str, ...]:
        return tuple(f"x_{j}" for j in range(1, self.depth + 1))

    @property
    def label(self) -> str:
        return f"D={self.depth}"

    @property
    def title(self) -> str:
        facts = "fact" if self.depth == 1 else "facts"
        return f"Following a chain of {self.depth} {facts}"

    @property
    def reading(self) -> str:
        return (
            "A pair of tokens is a fact: a_0 a_1 says that a_1 follows a_0."
            f" {self.n_chains} chains, one letter each (x: any),"
            " are split into such pairs and shuffled."
            " At the end, asked a_0, the model must answer all that follows,"
            f" up to a_{self.depth}."
            " Symbols are random vectors, new in every sequence,"
            " so nothing can be known by heart."
        )

    def flow(self) -> "theory.Flow | None":
        """One chain; tokens of a pair count as sharing a code, even if they do not."""
        return theory.retrieval_flow(self.depth, self.order, copies=self.copies)

    @property
    def length(self) -> int:
        return self.n_chains * (2 * self.depth + 1)

    @property
    def n_depths(self) -> int:
        if self.order == "deep-first":
            return self.depth
        return 1

    def draw(
        self, count: int, generator: torch.Generator
    ) -> tuple[
        Float[Tensor, "batch chain symbol token"], Integer[Tensor, "batch block chain"]
    ]:
        """Draws every chain's symbols, and its slot in queries and blocks.

        Slots are stored as bytes, so that a fixed training set of 2^20 sequences stays
        small.
        """
        n = self.n_chains
        steps = self.depth + 1
        device = generator.device
        vectors = steps * (2 if self.copies == "independent" else 1)
        shape = (count, n, vectors, self.d_token)
        symbols = torch.randn(shape, generator=generator, device=device)
        noise = torch.rand(count, steps, n, generator=generator, device=device)
        slots = noise.argsort(-1)
        slots = slots.to(torch.uint8 if n <= 256 else torch.int32)
        return symbols, slots

    def assemble(self, draws: tuple[Tensor, ...]) -> Batch:
        symbols, slots = draws
        slots = slots.long()
        depth = self.depth
        firsts = symbols[:, :, :depth]
        asked = seconds = symbols[:, :, -depth:]
        if (
            self.copies == "rotated"
        ):  # products of a view and of its copy differ in their last bit
            turn = rotation(self.d_token, symbols.device)
            seconds = asked.contiguous() @ turn
            asked = asked @ turn
        pairs = torch.stack([firsts, seconds], dim=3).flatten(2, 3)
        tokens = torch.cat([firsts[:, :, :1], pairs], dim=2)
        tokens = tokens.transpose(1, 2).flatten(1, 2)  # role by role, as `roles`
        roles = self._positions(slots)
        code = code_of(self, symbols.device)
        inputs = coded(tokens, roles.flatten(1), code)
        return Batch(inputs, at_queries(asked, slots[:, 0]), roles)

    def _positions(
        self, slots: Int[Tensor, "batch block chain"]
    ) -> Int[Tensor, "batch role chain"]:
        """The position of every role, by the slots in the queries and blocks."""
        n = self.n_chains
        depth = self.depth
        blocks = torch.arange(depth, device=slots.device)
        if self.order == "deep-first":
            blocks = blocks.flip(0)
        numbers = n * blocks[:, None] + slots[:, 1:]
        firsts = 2 * numbers
        pairs = torch.stack([firsts, firsts + 1], dim=2).flatten(1, 2)
        queries = 2 * n * depth + slots[:, :1]
        return torch.cat([queries, pairs], dim=1)

    def shallower(
        self, draws: tuple[Tensor, ...], depth: int, earlier: int = 0
    ) -> Batch:
        """Keeps the last positions, those of a problem with so few hops."""
        whole = self.assemble(draws)
        left_out = 2 * self.n_chains * (self.depth - depth)
        kept = 2 * depth + 1
        roles = whole.roles[:, :kept] - left_out
        inputs = whole.inputs[:, left_out:]
        if earlier:
            places = self.places(inputs.device)[left_out:] - earlier
            code = sinusoid(places, self.d_token, self.code_base)
            codes = code.expand(len(inputs), -1, -1)
            inputs = torch.cat([inputs[..., : self.d_token], codes], -1)
        return Batch(inputs, whole.targets[:, :, :depth], roles)

    def room(self, depth: int) -> int:
        """The number of places of the pairs that are left out."""
        left_out = self.n_chains * (self.depth - depth)
        if self.position_code == "pair":
            return left_out
        return 2 * left_out

    def places(self, device: torch.device) -> Int[Tensor, " position"]:
        """The number of every position, or of the pair that it is in."""
        positions = torch.arange(self.length, device=device)
        if self.position_code == "token":
            return positions
        pairs = self.n_chains * self.depth
        is_in_pair = positions < 2 * pairs
        return torch.where(is_in_pair, positions // 2, positions - pairs)

    @property
    def code_base(self) -> float:
        """The base of the code's wavelengths."""
        places = self.places(torch.device("cpu"))
        last = int(places[-1])
        return self.position_base or base_for(last + 1, self.d_token)

    def reference_losses(self) -> dict[str, dict[str, float]]:
        """Predicting zero, and predicting the mean of the N candidates at a depth."""
        mean = 1 - 1 / self.n_chains
        by_mean = dict.fromkeys(self.hops, mean)
        return {
            "zero": dict.fromkeys(self.hops, 1.0),
            "mean of the candidates": by_mean,
        }


@cache
def code_of(task: Retrieval, device: torch.device) -> Float[Tensor, "position token"]:
    """The position code of a task on a device."""
    places = task.places(torch.device("cpu"))
    return sinusoid(places, task.d_token, task.position_base).to(device)


@cache
def rotation(size: int, device: torch.device) -> Float[Tensor, "size size"]:
    """A map that keeps lengths and angles, drawn once and for all."""
    generator = torch.Generator().manual_seed(0)
    drawn = torch.randn(size, size, generator=generator, dtype=torch.float32)
    return torch.linalg.qr(drawn).Q.to(device)


def sinusoid(
    positions: Int[Tensor, " position"], d_code: int, base: float | None = None
) -> Float[Tensor, "position {d_code}"]:
    """The sine/cosine position code, sines first (Vaswani et al. 2017, section 3.5).

    Frequencies are base^(-2i/d_code) for i = 0 .. d_code/2 - 1; `d_code` must be even.
    Without a base, the longest wave is 1.25 times the number of positions: short enough
    to tell neighbours apart, long enough to tell the ends apart. (With two dimensions
    there is one wave, of 2π, and the base makes no difference.)
    """
    if base is None:
        length = int(positions.max()) + 1
        base = base_for(length, d_code)
    steps = torch.arange(0, d_code, 2, dtype=torch.float32, device=positions.device)
    frequencies = torch.exp(-math.log(base) * steps / d_code)
    angles = positions[:, None].float() * frequencies
    return torch.cat([angles.sin(), angles.cos()], dim=1)


def coded(
    tokens: Float[Tensor, "batch token d_token"],
    positions: Int[Tensor, "batch token"],
    code: Float[Tensor, "position d_code"],
) -> Float[Tensor, "batch position number"]:
    """Tokens at their positions, every one beside the code of its position."""
    count = len(tokens)
    k = tokens.shape[2]
    width = k + code.shape[1]
    inputs = tokens.new_empty(count, len(code), width)
    inputs[..., k:] = code
    where = positions[..., None].expand(-1, -1, k)
    inputs[..., :k].scatter_(1, where, tokens)
    return inputs


def at_queries(
    asked: Float[Tensor, "batch chain hop d_token"], slots: Int[Tensor, "batch chain"]
) -> Float[Tensor, "batch query hop d_token"]:
    """The answers to every chain, at the chain's slot among the queries."""
    where = slots[..., None, None].expand_as(asked)
    return torch.zeros_like(asked).scatter_(1, where, asked)


def base_for(length: int, d_code: int) -> float:
    """The base whose longest wave is 1.25 times so many positions."""
    longest = 1.25 * length / (2 * math.pi)
    exponent = d_code / max(d_code - 2, 1)
    return math.pow(max(longest, 1.0), exponent)
