"""Relations that any sequence has, for tasks that name no roles."""

from collections.abc import Collection, Mapping

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Int
from torch import Tensor

from headway.relations.edges import Edges, own_position, previous_token

FARTHEST = 4
"""The largest offset that is a relation of its own."""


def general_relations(
    inputs: Tensor,
    of_tokens: bool = True,
    ahead: bool = False,
    classes: Mapping[str, Collection[int]] | None = None,
) -> dict[str, Edges]:
    """What a position may read in any sequence, by where it stands and by its token.

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
