"""Averages in which some tokens count less than others, as a head weighs them."""

import torch
from jaxtyping import Float
from torch import Tensor

from headway.relations.composed import BY_WEIGHT, FEW_TOKENS, Composed

EVEN = 0.01
"""Keys that count less than others by this share or less count the same."""

FITTED = 8
"""Rounds in which weights are fitted."""


def weighed(
    name: str,
    relations: Composed,
    own: Float[Tensor, "sequence query key"],
    rows: Float[Tensor, "sequence query"],
) -> list[str]:
    """A relation with its keys weighed as a head weighs them: by their tokens, or also the query's.

    None if there are no tokens, or many, or all count the same.

    Args:
        name: of the relation.
        relations: of the sequences.
        own: the head's attention.
        rows: how much every row counts.
    """
    if not relations.of_tokens or len(relations.inputs.unique()) > FEW_TOKENS:
        return []
    tokens = relations.inputs
    parts = {"": _counted(name, relations, own, rows)}
    of = {f" at token {one}": rows * (tokens == one) for one in tokens.unique().tolist()}
    each = {at: _counted(name, relations, own, r) for at, r in of.items() if r.sum() > 0}
    listed = [
        [f"token {t}{at} {x:.3g}" for at, found in some.items() for t, x in found.items()]
        for some in (parts, each if len(each) > 1 else {})
    ]
    return [f"{name}{BY_WEIGHT}{', '.join(one)})" for one in listed if one]


def _counted(name: str, relations: Composed, own: Tensor, rows: Tensor) -> dict[int, float]:
    """How much less than the most tokens count as keys of some rows, where that is much."""
    tokens, mask = relations.inputs, relations.part(name)
    known = tokens.unique()
    own, keys = own * rows[..., None], mask * rows[..., None]
    of = (tokens[..., None] == known).to(own.dtype)  # [sequence, key, token]
    count = own.new_ones(len(known))
    for _ in range(FITTED):
        total = (mask * (of @ count)[:, None]).sum(2, keepdim=True)
        found, even = ((x.sum(1)[..., None] * of).sum((0, 1)) for x in (own * total, keys))
        count = torch.where(even > 0, found / even.clamp(min=1e-30), 1.0)
        count = count / count.max()
    each = zip(known.tolist(), count.clamp(min=1e-3).tolist(), strict=True)
    return {token: share for token, share in each if share < 1 - EVEN}
