"""Relations between positions: where they lead in every sequence of a batch; and
relations that any sequence has."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headway.relations.paths import OTHERS, Relation

NO_KEY = -1
"""In `Edges`, a row that a sequence does not have, or a key that a row does not
have.
"""


@dataclass(frozen=True)
class Edges:
    """The positions that a relation leads to, in every sequence of a batch.

    Row n says: the position `queries[:, n]` is related to the positions `keys[:, n]`.
    Where some sequences have fewer rows than others, or some rows fewer keys, the rest
    is `NO_KEY`.

    Attributes:
        queries: the positions that attend.
        keys: the positions attended to.
        use: whether a circuit may use it as a `path`; or as a `stay`, by which a
            position keeps some of what stands there; or whether attention along it is
            `measured` only.
        weights: how much a path attends to each key of a row, in proportion; by default
            evenly.
    """

    queries: Int[Tensor, "batch row"]
    keys: Int[Tensor, "batch row key"]
    use: Literal["path", "stay", "measured"] = "path"
    weights: Float[Tensor, "batch row key"] | None = None

    @classmethod
    def where(
        cls,
        mask: Bool[Tensor, "batch query key"],
        use: Literal["path", "stay", "measured"] = "path",
        weights: Float[Tensor, "batch query key"] | None = None,
    ) -> "Edges":
        """Every query reads all the keys at which a mask holds; a query without any has
        no row.
        """
        queries, keys = packed(mask.any(2)), packed(mask)
        rows = queries.clamp(min=0)[..., None]
        keys = keys.gather(1, rows.expand(-1, -1, keys.shape[2]))
        keys = keys.masked_fill(queries[..., None] == NO_KEY, NO_KEY)
        if weights is not None:
            weights = weights.gather(1, rows.expand(-1, -1, weights.shape[2]))
            weights = weights.gather(2, keys.clamp(min=0))
        return cls(queries, keys, use, weights)

    def mask(self, length: int) -> Bool[Tensor, "batch query key"]:
        """The keys of every query, among so many positions."""
        size, device = len(self.queries), self.queries.device
        none = torch.zeros(size, length, length, dtype=torch.float32, device=device)
        rows = torch.arange(size, device=device)[:, None, None]
        queries = self.queries.clamp(min=0)[..., None]
        keys = self.keys.clamp(min=0)
        cells = rows, queries, keys
        counts = none.index_put(cells, self.there.float(), accumulate=True)
        return counts > 0

    def part(self, rows: slice) -> "Edges":
        """The edges of some of the sequences."""
        weights = None if self.weights is None else self.weights[rows]
        return replace(
            self, queries=self.queries[rows], keys=self.keys[rows], weights=weights
        )

    @cached_property
    def there(self) -> Bool[Tensor, "batch row key"]:
        """True for rows and keys that there are; the others are `NO_KEY`."""
        is_row = self.queries != NO_KEY
        return (self.keys != NO_KEY) & is_row[..., None]


def packed(mask: Bool[Tensor, "*row place"]) -> Int[Tensor, "*row found"]:
    """The places where a mask holds, in every row from the left, then `NO_KEY`."""
    most = int(mask.sum(-1).max()) if mask.numel() else 0
    order = (~mask).to(torch.int8).argsort(dim=-1, stable=True)
    first = order[..., :most]
    is_place = mask.gather(-1, first)
    return first.masked_fill(~is_place, NO_KEY)


def previous_token(tokens: Tensor, use: Literal["path", "measured"] = "path") -> Edges:
    """Every position but the first reads the one before it.

    Args:
        tokens: of the sequences, [batch, position, …].
        use: see `Edges`.
    """
    size, length = tokens.shape[:2]
    queries = torch.arange(1, length, device=tokens.device).expand(size, -1)
    return Edges(queries, queries[..., None] - 1, use)


def own_position(tokens: Tensor) -> Edges:
    """Every position keeps some of what stands there."""
    own = torch.eye(tokens.shape[1], dtype=torch.bool, device=tokens.device)
    return Edges.where(own.expand(len(tokens), -1, -1), "stay")


def between_roles(
    roles: Int[Tensor, "batch role chain"], names: tuple[str, ...]
) -> dict[str, Edges]:
    """Every ordered pair of roles in one chain, each role to itself, and to those of
    other chains.

    Args:
        roles: the position at which each chain plays each role.
        names: of the roles; those beyond the roles that a shallower sequence has are
            left out.
    """
    names = names[: roles.shape[1]]
    own, others = dict[str, Edges](), dict[str, Edges]()
    for i, query in enumerate(names):
        for j, key in enumerate(names):
            name = Relation.between(query, key)
            queries = roles[:, i]
            keys = roles[:, j]
            own[name] = Edges(queries, keys[..., None], "stay" if i == j else "path")
            if roles.shape[2] > 1:
                others[name + OTHERS] = Edges(queries, _other_columns(keys), "measured")
    return own | others


def _other_columns(
    positions: Int[Tensor, "batch chain"],
) -> Int[Tensor, "batch chain other"]:
    """For every column of a row, the values in all the other columns of that row."""
    n = positions.shape[1]
    columns = torch.arange(n, device=positions.device)[:, None]
    others = torch.arange(n - 1, device=positions.device).expand(n, -1)
    others = others + (others >= columns)
    return positions[:, others]
