"""Sinks: the positions on which heads rest, found from attention.

The first position is one. In some models the first occurrence of an ordinary token is
another, such as the first ` the` in SmolLM2.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headway.relations import Composed, parse

FAR = 4
"""Attention counts from so many positions on: nearer, it may be meant for the token."""

OFTEN = 5
"""A token is judged by at least so many texts."""

TIMES = 3.0
"""A sink gets so many times what the first occurrence of a token mostly gets."""

Sinks = Bool[Tensor, "text query key"]


@dataclass(frozen=True)
class SinkTokens:
    """Tokens of which the first occurrence is a sink.

    Attributes:
        tokens: by number.
        times: how many times the usual attention each gets from afar, averaged over all
            heads.
    """

    tokens: tuple[int, ...]
    times: tuple[float, ...]

    def further(self, at: Composed) -> Sinks:
        """The sinks of every query beyond the first position."""
        earliest = [parse(f"earliest token {token}") for token in self.tokens]
        masks = [at.mask(relation) for relation in earliest]
        none = torch.zeros_like(at.seen)
        sinks = torch.stack([none, *masks]).any(0)
        sinks[:, :, 0] = False
        return sinks


def sinks_in(
    attention: Float[Tensor, "text head query key"], at: Composed
) -> SinkTokens:
    """The tokens that are sinks in some texts.

    Args:
        attention: of every head.
        at: the texts.
    """
    is_far = (at.offset >= FAR).float()
    queries = is_far.sum(0).clamp(min=1)
    of_heads = attention.mean(1)
    from_afar = (of_heads * is_far).sum(1) / queries
    is_first = ~at.mask("same token").any(2)
    is_first[:, 0] = False
    is_first[:, at.length - 2 * FAR :] = False  # too few queries are behind these
    usual = from_afar[is_first].median()
    times = dict[int, float]()
    for token in at.tokens[is_first].unique().tolist():
        places = is_first & (at.tokens == token)
        level = from_afar[places].mean() / usual
        if places.sum() >= OFTEN and level >= TIMES:
            times[token] = level.item()
    return SinkTokens(tuple(times), tuple(times.values()))
