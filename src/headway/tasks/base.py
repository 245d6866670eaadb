"""What every task shares: a batch, the roles of its positions, and relations between them."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headway.errors import require

Order = Literal["deep-first", "shallow-first"]


UNASKED = -1
"""The target where nothing is asked."""

NONE = -1
"""In a relation, a row that a sequence does not have, or a key that a row does not have."""


@dataclass(frozen=True)
class Batch:
    """Sequences, what must be predicted at their queries, and where every role stands.

    Sequences are of vectors, and a query must predict a vector per hop, at best with a squared
    error of 0; or they are of tokens out of a vocabulary, and a query must predict tokens, one per
    hop that is asked of it, with the cross-entropy as its loss. All hops of tokens share their
    logits, or each has its own.

    Attributes:
        inputs: of every position, side by side, token and position code, or token and place (from
            0) by number.
        targets: for every query position in order, one vector, or token, per hop; `UNASKED` where
            a hop is not asked. Tokens that all hops read off the same logits are [batch, query,
            hop]; tokens that each reads off its own have a dimension more, of size 1.
        roles: the position at which each chain plays each role (names: `Task.role_names`).
        asked: which of the hops that are read out the targets are, by index; none means the first.
    """

    inputs: Float[Tensor, "batch position feature"] | Int[Tensor, "batch position 2"]
    targets: (
        Float[Tensor, "batch query hop token"]
        | Int[Tensor, "batch query hop"]
        | Int[Tensor, "batch query hop 1"]
    )
    roles: Int[Tensor, "batch role chain"]
    asked: tuple[int, ...] | None = None

    def part(self, rows: slice) -> "Batch":
        """Some of the sequences."""
        return replace(
            self, inputs=self.inputs[rows], targets=self.targets[rows], roles=self.roles[rows]
        )


@dataclass(frozen=True)
class Relation:
    """A named set of (query position, key position) pairs in every sequence of a batch.

    Row n says: the position `queries[:, n]` is related to the positions `keys[:, n]`. Where some
    sequences have fewer rows than others, or some rows fewer keys, the rest is `NONE`.
    """

    name: str
    queries: Int[Tensor, "batch row"]
    keys: Int[Tensor, "batch row key"]

    @cached_property
    def there(self) -> Bool[Tensor, "batch row key"]:
        """Which rows and keys there are; the others are `NONE`."""
        return (self.keys != NONE) & (self.queries != NONE)[..., None]

    @cached_property
    def query_span(self) -> tuple[int, int]:
        """The first and the last position that is a query in some sequence."""
        return _span(self.queries)

    @cached_property
    def key_span(self) -> tuple[int, int]:
        """The first and the last position that is a key in some sequence."""
        return _span(self.keys)


def _span(positions: Int[Tensor, "*shape"]) -> tuple[int, int]:
    last = int(positions.max())
    if last == NONE:
        return 0, 0
    return int(torch.where(positions == NONE, last, positions).min()), last


def path_name(query_role: str, key_role: str) -> str:
    """The name of the relation in which a role attends to another role of its own chain."""
    return f"{query_role}→{key_role}"


class Task(ABC):
    """A sampler of batches that names the relations between their positions.

    Subclasses set the attributes and say how random draws become a batch. A task whose positions
    play no roles in chains names its relations itself, in `paths` and `relations`.

    Attributes:
        length: positions in a sequence.
        n_read: queries in a sequence: they are the last positions.
        d_input: numbers that the model reads at a position.
        d_target: numbers that the model must say at a query.
        vocabulary: how many tokens there are; none if tokens are vectors.
        hop_names: what a query must predict, in chain order.
        role_names: the roles that positions play in a chain, the query first.
        n_chains: chains in a sequence.
    """

    length: int
    n_read: int
    d_input: int
    d_target: int
    vocabulary: int | None = None
    hop_names: tuple[str, ...]
    role_names: tuple[str, ...] = ()
    n_chains: int = 0

    @property
    def n_depths(self) -> int:
        """How many depths sequences can have (see `TrainingConfig.depths`)."""
        return 1

    @abstractmethod
    def draw(self, count: int, generator: torch.Generator) -> tuple[Tensor, ...]:
        """Draws all that is random about `count` sequences, on the generator's device."""

    @abstractmethod
    def assemble(self, draws: tuple[Tensor, ...], depth: int | None = None) -> Batch:
        """Lays out what `draw` drew as sequences.

        Args:
            draws: what `draw` drew.
            depth: how deep, from 1 to `n_depths`; none means as deep as the task is.
        """

    @abstractmethod
    def reference_losses(self) -> dict[str, float]:
        """Losses of predictors that follow no chain, to read a loss curve against."""

    def sample(self, count: int, generator: torch.Generator) -> Batch:
        """Samples `count` fresh sequences on the generator's device."""
        return self.assemble(self.draw(count, generator))

    @property
    def n_hops(self) -> int:
        """Vectors that a query must predict."""
        return len(self.hop_names)

    def roles_in_order(self, device: str = "cpu") -> list[str]:
        """The roles in the order in which they stand in a sequence (on average, if shuffled).

        Args:
            device: where the task's tables are.
        """
        batch = self.sample(64, torch.Generator(device).manual_seed(0))
        places = batch.roles.float().mean((0, 2))
        return [self.role_names[i] for i in places.argsort().tolist()]

    @property
    def hop_order(self) -> list[tuple[str, str]]:
        """Pairs of hops of which the first is nearer to the query in the chain."""
        return list(pairwise(self.hop_names))

    @property
    def measure(self) -> str:
        """What losses are: the mean squared error of vectors, the cross-entropy of tokens."""
        return "MSE" if self.vocabulary is None else "cross-entropy"

    @property
    def judged(self) -> tuple[str, ...]:
        """The hops by which a circuit is judged: those that can be predicted without error."""
        return self.hop_names

    @property
    def path_names(self) -> tuple[str, ...]:
        """Names of the relations between two roles of one chain: the paths a circuit may use."""
        names = self.role_names
        return tuple(path_name(query, key) for query in names for key in names if query != key)

    @property
    def stay_names(self) -> tuple[str, ...]:
        """Names of the relations of a role to itself: a head may keep some of what stands there."""
        return tuple(path_name(role, role) for role in self.role_names)

    def paths(self, batch: Batch) -> dict[str, Relation]:
        """The relation of every ordered pair of roles within one chain, and of each to itself."""
        relations = {}
        for i, query in enumerate(self.role_names):
            for j, key in enumerate(self.role_names):
                name = path_name(query, key)
                keys = batch.roles[:, j, :, None]
                relations[name] = Relation(name, batch.roles[:, i], keys)
        return relations

    def relations(self, batch: Batch) -> dict[str, Relation]:
        """Every relation that attention is measured along, by name.

        The paths within a chain; `previous token`; and for every pair of roles
        `s_i→s_j (other chains)`, from a role to that role of all the other chains.
        """
        relations = self.paths(batch)
        relations["previous token"] = previous_token(batch)
        if self.n_chains > 1:
            for i, query in enumerate(self.role_names):
                for j, key in enumerate(self.role_names):
                    name = f"{path_name(query, key)} (other chains)"
                    relations[name] = Relation(
                        name, batch.roles[:, i], _other_columns(batch.roles[:, j])
                    )
        return relations


def previous_token(batch: Batch) -> Relation:
    """Every position but the first, related to the one before it."""
    size, length, _ = batch.inputs.shape
    queries = torch.arange(1, length, device=batch.roles.device).expand(size, -1)
    return Relation("previous token", queries, queries[..., None] - 1)


def require_code(d_token: int, base: float | None) -> None:
    """Checks what a position code is made of.

    Raises:
        HeadwayError: if `d_token` is odd or below 2, or the base is not greater than 1.
    """
    require(
        d_token >= 2 and d_token % 2 == 0,
        "task.d_token",
        d_token,
        "an even whole number of at least 2 (the position code is made of sine, cosine pairs)",
    )
    require(
        base is None or 1 < base < math.inf,
        "task.position_base",
        base,
        "greater than 1, or none to fit the sequence's length",
    )


def sinusoid(
    positions: Int[Tensor, " position"], d_code: int, base: float | None
) -> Float[Tensor, "position {d_code}"]:
    """The sine/cosine position code, sines first (Vaswani et al. 2017, section 3.5).

    Frequencies are base^(-2i/d_code) for i = 0 .. d_code/2 - 1; `d_code` must be even. Without a
    base, the longest wave is 1.25 times the number of positions: short enough to tell neighbours
    apart, long enough to tell the ends apart. (With two dimensions there is one wave, of 2π, and
    the base makes no difference.)
    """
    if base is None:
        longest = 1.25 * (int(positions.max()) + 1) / (2 * math.pi)
        base = math.pow(max(longest, 1.0), d_code / max(d_code - 2, 1))
    exponents = torch.arange(0, d_code, 2, dtype=torch.float32) / d_code
    angles = positions[:, None].float() * torch.exp(-math.log(base) * exponents)
    return torch.cat([angles.sin(), angles.cos()], dim=1)


def _other_columns(positions: Int[Tensor, "batch chain"]) -> Int[Tensor, "batch chain other"]:
    """For every column of a row, the values in all the other columns of that row."""
    n = positions.shape[1]
    others = torch.arange(n - 1, device=positions.device).expand(n, -1)
    others = others + (others >= torch.arange(n, device=positions.device)[:, None])
    return positions[:, others]
