"""The flow along one chain: what a position holds is a stretch of a line.

The pieces stand on a line, p_0, x_0, p_1, x_1, …, p_D, x_D, and role s_i starts with
two neighbours. It attends only to positions with which it shares a piece, so whatever
it takes over overlaps with what it held, and that stays one stretch, whatever the mask
and the order. So two numbers a role, its least piece and its greatest, stand for the
set of its pieces.

Throughout, `depth` is D, retrieval steps; `causal` says whether a position sees only
itself and what comes before it; `order` is that of the pairs (see `pair_order`). A
depth below 1 or an order that is none raises a `HeadwayError`.
"""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Int

from headway.theory.problems import PairOrder, pair_order

BLOCK = 256
"""Positions that are compared with each other at once."""
SEEN = np.tri(BLOCK, dtype=bool)
"""Pairs of a block's positions of which the first sees the second."""

Ends = Int[np.ndarray, "end role"]
"""The least and the greatest piece of every role, in the order of the sequence."""


def stretches(
    depth: int, causal: bool = True, order: PairOrder = "deep-first"
) -> Iterator[Ends]:
    """The holdings of every role of a chain at first and after each layer.

    Roles stand as in the sequence, the query s_0 last; piece 2k is p_k, and 2k + 1 is
    x_k.
    """
    pairs = np.array(pair_order(depth, order))
    in_pairs = np.stack([2 * pairs - 1, 2 * pairs], axis=1)
    roles = np.append(in_pairs.flatten(), 0).astype(np.int32)
    ends = np.stack([roles, roles + 1])
    last = 2 * depth + 1
    while True:
        yield ends
        low, high = ends
        down = _furthest(last - high, last - low, causal)  # the line turned round
        up = _furthest(low, high, causal)
        ends = np.stack([last - down, up])


def minimum_layers(
    depth: int, *, causal: bool = True, order: PairOrder = "deep-first"
) -> int:
    """The least number of layers for `depth` retrieval steps, by exact simulation."""
    last = 2 * depth + 1
    stages = stretches(depth, causal, order)
    furthest = (high[-1] for _, high in stages)
    return next(layers for layers, high in enumerate(furthest) if high == last)


def _furthest(
    low: Int[np.ndarray, " role"], high: Int[np.ndarray, " role"], causal: bool
) -> Int[np.ndarray, " role"]:
    """The greatest piece of every role after one more layer.

    It is the greatest among the roles that it may see and whose least piece is not
    above its own greatest. Of these, some lie wholly below it and share no piece with
    it. They hold nothing greater than its own, so they change nothing and need not be
    told apart.
    """
    best = np.full(high.max() + 1, -1, dtype=high.dtype)
    if not causal:
        np.maximum.at(best, low, high)
        return np.maximum.accumulate(best)[high]
    furthest = np.empty_like(high)
    for first in range(0, len(low), BLOCK):
        own = slice(first, first + BLOCK)
        least = low[own]
        most = high[own]
        size = len(least)
        attends = (least <= most[:, None]) & SEEN[:size, :size]
        inside = np.where(attends, most, -1).max(1)
        furthest[own] = np.maximum(inside, best[most])
        np.maximum.at(best, least, most)
        np.maximum.accumulate(best, out=best)
    return furthest
