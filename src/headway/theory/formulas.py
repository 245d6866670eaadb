"""Layers and paths of a chain, in exact integers. Proofs: docs/theory.md.

Throughout, `depth` is D, retrieval steps; below 1 raises a `HeadwayError`. `causal`
says whether a position sees only itself and what comes before it.
"""

from itertools import count

from headway.errors import require


def closed_form(depth: int, causal: bool = True) -> int:
    """The least layers of a chain: ⌊log₂ D⌋ + 2 if causal, else ⌈log₃(4D+1)⌉.

    The same for both orders of the pairs. Line the pieces up as p_0, x_0, p_1, x_1, …:
    every role starts with two neighbours, and what a role holds is always one stretch
    of the line.

    - Without a mask every stretch grows at both ends by 2r + 1 where it had grown by r:
      r → 3r + 1.
    - With the mask it grows at one end only, and doubles.
    """
    require_depth(depth)
    if causal:
        return depth.bit_length() + 1
    return ceil_log(3, 4 * depth + 1)


def fewest_paths(depth: int) -> int:
    """The fewest attention paths for a chain: 2D, in any order and mask.

    Every position but the query must be attended to by another at least once, as it
    alone links the pieces on its one side to those on its other; and 2D are enough, in
    as few layers as `closed_form` says.
    """
    require_depth(depth)
    return 2 * depth


def theorem_1_bound(depth: int) -> int:
    """The paper's lower bound (theorem 1): the least whole t with t ≥ log₃(2D)."""
    require_depth(depth)
    return ceil_log(3, 2 * depth)


def ceil_log(base: int, number: int) -> int:
    """The least t with base^t ≥ number."""
    return next(t for t in count() if base**t >= number)


def require_depth(depth: int) -> None:
    """Raises a `HeadwayError` if a depth is below 1."""
    require(depth >= 1, "depth", depth, "a whole number of at least 1")
