"""Relations between positions: where they lead in every sequence of a batch; those of any."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headway.relations.paths import OTHERS, Relation

NO_KEY = -1
"""In `Edges`, a row that a sequence does not have, or a key that a row does not have."""

FARTHEST = 4
"""The largest offset that is a relation of its own."""


@dataclass(frozen=True)
class Edges:
    """The positions that a relation leads to, in every sequence of a batch.

    Row n says: the position `queries[:, n]` is related to the positions `keys[:, n]`. Where some
    sequences have fewer rows than others, or some rows fewer keys, the rest is `NO_KEY`.

    Attributes:
        queries: the positions that attend.
        keys: the positions attended to.
        use: whether a circuit may use it as a `path`; or as a `stay`, by which a position keeps
            some of what stands there; or whether attention along it is `measured` only.
        weights: how much a path attends to each key of a row, in proportion; by default evenly.
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
        """Every query reads all the keys at which a mask holds; a query without any has no row."""
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
        found = torch.zeros(len(self.queries), length, length, device=self.queries.device)
        rows = torch.arange(len(found), device=found.device)[:, None, None]
        queries, keys = self.queries.clamp(min=0)[..., None], self.keys.clamp(min=0)
        return found.index_put((rows, queries, keys), self.there.float(), accumulate=True) > 0

    @cached_property
    def there(self) -> Bool[Tensor, "batch row key"]:
        """True for rows and keys that there are; the others are `NO_KEY`."""
        return (self.keys != NO_KEY) & (self.queries != NO_KEY)[..., None]


def packed(mask: Bool[Tensor, "*row place"]) -> Int[Tensor, "*row found"]:
    """The places where a mask holds, in every row from the left, then `NO_KEY`."""
    most = int(mask.sum(-1).max()) if mask.numel() else 0
    order = (~mask).to(torch.int8).argsort(dim=-1, stable=True)[..., :most]
    return order.masked_fill(~mask.gather(-1, order), NO_KEY)


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
    size, length = tokens.shape[:2]
    places = torch.arange(length, device=tokens.device).expand(size, -1)
    return Edges(places, places[..., None], "stay")


def between_roles(
    roles: Int[Tensor, "batch role chain"], names: tuple[str, ...]
) -> dict[str, Edges]:
    """Every ordered pair of roles in one chain, each role to itself, and to those of other chains.

    Args:
        roles: the position at which each chain plays each role.
        names: of the roles; those beyond the roles that a shallower sequence has are left out.
    """
    names = names[: roles.shape[1]]
    found: dict[str, Edges] = {}
    for i, query in enumerate(names):
        for j, key in enumerate(names):
            use = "stay" if i == j else "path"
            found[Relation.between(query, key)] = Edges(roles[:, i], roles[:, j, :, None], use)
    if roles.shape[2] > 1:
        for i, query in enumerate(names):
            for j, key in enumerate(names):
                name = f"{Relation.between(query, key)}{OTHERS}"
                found[name] = Edges(roles[:, i], _other_columns(roles[:, j]), "measured")
    return found


def _other_columns(positions: Int[Tensor, "batch chain"]) -> Int[Tensor, "batch chain other"]:
    """For every column of a row, the values in all the other columns of that row."""
    n = positions.shape[1]
    others = torch.arange(n - 1, device=positions.device).expand(n, -1)
    others = others + (others >= torch.arange(n, device=positions.device)[:, None])
    return positions[:, others]


def general_relations(
    inputs: Tensor,
    of_tokens: bool = True,
    ahead: bool = False,
    classes: Mapping[str, Collection[int]] | None = None,
) -> dict[str, Edges]:
    """Relations of any sequence, by where a position stands and by its token.

    `previous token`, `2 back`, … `4 back`; `first position`; of tokens `same token` (all others
    like it), `after same token` (what followed each of these: the induction head of Olsson et al.
    2022) and `after latest same token`; all positions of a class of tokens; and `own position`. A
    row that leads to several positions shares its attention evenly among them. A
    relation that applies nowhere in these sequences has no rows.

    Args:
        inputs: [batch, position], tokens by number, or vectors [batch, position, number].
        of_tokens: whether inputs are tokens; vectors have places alone.
        ahead: whether positions may read later ones, too.
        classes: sets of tokens, by the names that their relations shall have.
    """
    length = inputs.shape[1]
    at = torch.arange(length, device=inputs.device)
    before = at[:, None] - at
    seen = (before != 0 if ahead else before > 0).expand(len(inputs), -1, -1)
    masks = {f"{n} back": seen & (before == n) for n in range(2, min(FARTHEST, length - 1) + 1)}
    masks["first position"] = seen & (at == 0)
    if of_tokens:
        masks |= _by_token(inputs, seen, classes or {})
    found = {"previous token": previous_token(inputs)}
    found |= {name: Edges.where(mask) for name, mask in masks.items()}
    return {**found, "own position": own_position(inputs)}


def _by_token(
    tokens: Int[Tensor, "batch position"],
    seen: Bool[Tensor, "batch query key"],
    classes: Mapping[str, Collection[int]],
) -> dict[str, Tensor]:
    same = (tokens[:, :, None] == tokens[:, None]) & seen
    after = F.pad(same, (1, 0))[..., :-1]
    latest = after & (after.cumsum(2) == after.sum(2, keepdim=True))
    of_class = {
        name: seen & torch.isin(tokens, tokens.new_tensor(sorted(those)))[:, None]
        for name, those in classes.items()
    }
    named = {"same token": same, "after same token": after, "after latest same token": latest}
    return named | of_class
