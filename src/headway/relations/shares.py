"""Attention by relation: where it goes, what else might be followed, and for which
tokens.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headway.relations.edges import Edges
from headway.text import ranges

Shares = Mapping[int, float]
Attention = Float[Tensor, "row key"]
Counts = Float[Tensor, " row"]
"""The weight of every row of attention; all together 1."""

Keys = Bool[Tensor, "row key"]
Masks = Mapping[str, Keys]
"""The keys of every row, by relation."""

RIVAL = 0.5
"""A rival of a relation leads at least this share of the rows that matter to the same
keys.
"""

LEAST = 0.05
"""The least share of a head's attention that is worth a word."""

SPLIT = 0.3
"""Shares for two groups of tokens that differ by so much are told apart."""

RANGES = 4
"""A split into more ranges of tokens is not told."""

PARTS = 3
"""Relations by which attention is described, at most."""


@dataclass(frozen=True)
class Rival:
    """A relation that mostly leads where a named one does.

    Attributes:
        relation: the named one.
        rival: the other.
        same: the share of the rows that matter on which both lead to the same keys.
        follows: on the other rows, the share of attention that only the named one leads
            to; where all of its keys are the rival's, too, the share of these against
            the rival's others.
        instead: there, the same of the rival.
    """

    relation: str
    rival: str
    same: float
    follows: float
    instead: float

    @property
    def wins(self) -> bool:
        """True if the head follows the rival where the two differ."""
        return self.instead > self.follows


def attention_along(
    patterns: Float[Tensor, "batch layer head query key"],
    relation: Edges,
    shared: bool = False,
    rows: Float[Tensor, "batch layer head query"] | None = None,
) -> Float[Tensor, "layer head"]:
    """The attention that goes along a relation: summed over keys, averaged over query
    positions.

    It is 1 if the head attends along the relation alone wherever it applies, and 0 if
    it applies nowhere.

    Args:
        patterns: of the model's heads.
        relation: where it leads.
        shared: whether to count no more at any key than a path would put there, which
            shares a row evenly among its keys. Then 1 means that the head does what the
            path does, and a relation that has other keys, too, gets less. With one key
            a row it is the same.
        rows: how much every row counts; by default all count the same.
    """
    sequence = torch.arange(len(patterns), device=patterns.device)[:, None]
    queries = relation.queries
    along = patterns[sequence[..., None], :, :, queries[..., None], relation.keys]
    is_key = relation.there
    if rows is not None:
        counts = rows[sequence, :, :, queries]
        return _weighted(along, is_key, counts)
    if shared:
        even = 1 / is_key.sum(-1).clamp(min=1).to(along.dtype)
        along = along.minimum(even[..., None, None, None])
    if is_key.numel() and bool(is_key.all()):
        return along.sum(2).mean((0, 1))
    n_rows = is_key.any(-1).sum().clamp(min=1)
    at_keys = along * is_key[..., None, None]
    return at_keys.sum((0, 1, 2)) / n_rows


def _weighted(
    along: Float[Tensor, "batch row key layer head"],
    is_key: Bool[Tensor, "batch row key"],
    counts: Float[Tensor, "batch row layer head"],
) -> Float[Tensor, "layer head"]:
    """Attention summed over keys and averaged over rows, each as much as it counts."""
    has_key = is_key.any(-1)[..., None, None]
    counts = counts * has_key
    at_keys = along * is_key[..., None, None]
    of_rows = at_keys.sum(2) * counts
    total = counts.sum((0, 1)).clamp(min=torch.finfo(along.dtype).tiny)
    return of_rows.sum((0, 1)) / total


def rivals_of(
    name: str, named: Keys, masks: Masks, own: Attention, counts: Counts
) -> list[Rival]:
    """The rivals of a relation, given by name and keys, that differ from it on some
    row.
    """
    counts = counts * named.any(1)
    total = counts.sum().clamp(min=torch.finfo(counts.dtype).tiny)
    counts = counts / total
    own = own[:, : named.shape[1]]
    rivals = list[Rival]()
    for rival, mask in masks.items():
        differs = (mask != named).any(1) * counts
        share = differs.sum().item()
        if 0 < share <= 1 - RIVAL:
            follows = _share_at(_apart(named, mask), own, differs, share)
            instead = _share_at(_apart(mask, named), own, differs, share)
            rivals.append(Rival(name, rival, 1 - share, follows, instead))
    return sorted(rivals, key=lambda rival: rival.follows - rival.instead)[:PARTS]


def _share_at(keys: Keys, own: Attention, differs: Counts, share: float) -> float:
    """The share of attention at some keys, in rows that count so much, together
    `share`.
    """
    at_keys = (own * keys).sum(1)
    return (at_keys @ differs / share).item()


def alike(name: str, named: Keys, masks: Masks) -> list[str]:
    """Other relations with the same keys in every row in which a relation has some."""
    rows = named.any(1)
    return [
        other
        for other, mask in masks.items()
        if other != name and torch.equal(mask[rows], named[rows])
    ]


def _apart(keys: Keys, other: Keys) -> Keys:
    """The keys of one relation alone, or all of them in rows where it has none of its
    own.
    """
    alone = keys & ~other
    return torch.where(alone.any(1, keepdim=True), alone, keys)


def largest(masks: Masks, left: Attention, counts: Counts) -> dict[str, float]:
    """The relations that have most of some attention, one after the other."""
    if not masks:
        return {}
    length = next(iter(masks.values())).shape[1]
    beside = (left[:, length:].sum(1) @ counts).item()
    left = left[:, :length]
    shares = dict[str, float]()
    while len(shares) < PARTS and left.sum(1) @ counts >= LEAST:
        total = left.sum(1, keepdim=True)
        name = max(masks, key=partial(_like, masks, left, total, counts))
        at_keys = (left * masks[name]).sum(1)
        share = (at_keys @ counts).item()
        if share < LEAST:
            break
        shares[name] = share
        left = left * ~masks[name]
    if beside >= LEAST:
        shares["keys that are no position"] = beside
    return shares


def _like(
    masks: Masks, left: Attention, total: Attention, counts: Counts, name: str
) -> float:
    """The attention that a relation would have in common with what is left."""
    mask = masks[name].to(left.dtype)
    n_keys = mask.sum(1, keepdim=True).clamp(min=1)
    even = total * mask / n_keys
    common = left.minimum(even).sum(1)
    return (common @ counts).item()


def by_token(
    tokens: Int[Tensor, "row key"],
    common: Attention,
    told: Attention,
    counts: Counts,
) -> dict[int, float]:
    """The share of a pattern that attention has in common with it, by the token that it
    leads to.

    Args:
        tokens: of the keys.
        common: to both.
        told: the pattern.
        counts: how much each row counts.
    """
    of_common = _sums_by_token(tokens, common, counts)
    of_told = _sums_by_token(tokens, told, counts)
    shares = of_common / of_told
    told_of = of_told.nonzero()[:, 0].tolist()
    return {token: shares[token].item() for token in told_of}


def _sums_by_token(
    tokens: Int[Tensor, "row key"], attention: Attention, counts: Counts
) -> Float[Tensor, " token"]:
    """The attention that every token gets, each row as much as it counts."""
    length = tokens.shape[1]
    weighted = attention[:, :length] * counts[:, None]
    return tokens.flatten().bincount(weighted.flatten())


def split_of(
    tokens: Shares, by: Shares | None = None
) -> tuple[str, float, float] | None:
    """The tokens for which a head does its work, and the shares for these and for the
    others.

    None if there is no clear split. Shares of other sequences may tell which tokens are
    which; by default these do, and then the tokens must be in a few ranges.
    """
    telling = tokens
    if by is not None:
        telling = {token: share for token, share in by.items() if token in tokens}
    above, below = _sides_of(telling)
    share = _mean_share(tokens, above)
    other = _mean_share(tokens, below)
    parts = ranges(above)
    is_short = len(parts) <= RANGES or by is not None
    is_clear = bool(below) and share - other >= SPLIT
    return (", ".join(parts), share, other) if is_clear and is_short else None


def _sides_of(shares: Shares) -> tuple[list[int], list[int]]:
    """The tokens whose shares are in the upper half between the least and the most, and
    the others.
    """
    least = min(shares.values(), default=0.0)
    most = max(shares.values(), default=0.0)
    middle = (least + most) / 2
    above = [token for token in shares if shares[token] >= middle]
    below = [token for token in shares if shares[token] < middle]
    return above, below


def _mean_share(shares: Shares, tokens: Sequence[int]) -> float:
    """The mean of the shares of some tokens; 0 if there are none."""
    return sum(shares[token] for token in tokens) / max(1, len(tokens))
