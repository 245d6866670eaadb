"""The least number of attention layers, by information flow (Musat 2024, section 5, appendix B).

Every position starts with the pieces it is given: the symbol of its token, and the position code
of its pair. In one layer, every position at once

1. may attend only to positions (that it may see under the mask) with which it shares a piece, and
2. takes over everything that such a position held before the layer.

A query can be answered once it holds the piece it is asked for. No transformer under these two
assumptions does with fewer layers; training may well need more.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, islice

import numpy as np
from jaxtyping import Bool

from headway.errors import require
from headway.tasks import ConditionalConfig, RetrievalConfig, TaskConfig
from headway.tasks.base import Order


@dataclass(frozen=True)
class Flow:
    """One chain of a task as a flow problem.

    Attributes:
        roles: every position's role, in the order of the sequence; the query stands last.
        starts: for every role, the names of the pieces it starts with.
        goal: the piece that the query must come to hold.
    """

    roles: tuple[str, ...]
    starts: tuple[frozenset[str], ...]
    goal: str

    @property
    def pieces(self) -> tuple[str, ...]:
        """All pieces there are, sorted by name."""
        return tuple(sorted(frozenset().union(*self.starts)))

    def layers(self, causal: bool) -> Iterator[Bool[np.ndarray, "role piece"]]:
        """What every role holds before the first layer, after it, after the second, and so on."""
        pieces = self.pieces
        held = np.array([[piece in start for piece in pieces] for start in self.starts])
        visible = np.ones((len(self.roles), len(self.roles)), dtype=bool)
        if causal:
            visible = np.tril(visible)
        while True:
            yield held
            attends = (held @ held.T) & visible
            held = attends @ held

    def minimum_layers(self, causal: bool) -> int:
        """The layers after which the query first holds the goal."""
        goal = self.pieces.index(self.goal)
        reached = (done for done, held in enumerate(self.layers(causal)) if held[-1, goal])
        return next(reached)

    def holdings(self, layers: int, causal: bool) -> list[dict[str, frozenset[str]]]:
        """Role by role, the pieces held before the first layer and after each of `layers` layers.

        A head of layer t (counted from 0) can follow a path only if, in entry t, its two roles
        have a piece in common.
        """
        pieces = np.array(self.pieces)
        return [
            {
                role: frozenset(pieces[row].tolist())
                for role, row in zip(self.roles, held, strict=True)
            }
            for held in islice(self.layers(causal), layers + 1)
        ]


def retrieval_flow(depth: int, order: Order = "deep-first") -> Flow:
    """One chain of the retrieval problem (appendix B, definitions 1 and 2).

    Role s_i starts with the symbol x_⌊i/2⌋ and the code p_⌊(i+1)/2⌋ of its pair, so that s_{2k}
    and s_{2k+1} share x_k, and s_{2k-1} and s_{2k} share p_k. Other chains share nothing with it.

    Args:
        depth: D, retrieval steps.
        order: whether the deepest pair comes first in the sequence, or the shallowest.

    Raises:
        HeadwayError: if `depth` is below 1.
    """
    _require_depth(depth)
    pairs = range(depth, 0, -1) if order == "deep-first" else range(1, depth + 1)
    ranks = [i for pair in pairs for i in (2 * pair - 1, 2 * pair)] + [0]
    return Flow(
        roles=tuple(f"s{i}" for i in ranks),
        starts=tuple(frozenset({f"x_{i // 2}", f"p_{(i + 1) // 2}"}) for i in ranks),
        goal=f"x_{depth}",
    )


def conditional_flow(order: Order = "deep-first") -> Flow:
    """One query of the conditional retrieval problem, its two facts and its row of the table.

    The tokens of a fact or a row share the code of that fact or row. The query counts as able to
    answer once it holds z; that it can tell z from the z of other rows is not asked, so this is
    a lower bound. Other queries and other rows open no shorter way.

    Args:
        order: table, y fact, x fact, or the other way round; the query stands last.
    """
    row = [("xy.x", "x", "p_row"), ("xy.y", "y", "p_row"), ("xy.z", "z", "p_row")]
    y_fact = [("ay.a", "a", "p_y"), ("ay.y", "y", "p_y")]
    x_fact = [("ax.a", "a", "p_x"), ("ax.x", "x", "p_x")]
    facts = [row, y_fact, x_fact] if order == "deep-first" else [x_fact, y_fact, row]
    tokens = [token for fact in facts for token in fact] + [("a", "a", "p_query")]
    return Flow(
        roles=tuple(role for role, _, _ in tokens),
        starts=tuple(frozenset({symbol, code}) for _, symbol, code in tokens),
        goal="z",
    )


def minimum_layers(depth: int, *, causal: bool = True, order: Order = "deep-first") -> int:
    """The least number of layers for `depth` retrieval steps, by exact simulation.

    Raises:
        HeadwayError: if `depth` is below 1.
    """
    return retrieval_flow(depth, order).minimum_layers(causal)


def holdings(
    depth: int, layers: int, *, causal: bool = True, order: Order = "deep-first"
) -> list[dict[str, frozenset[str]]]:
    """What every role of the retrieval problem holds after 0 .. `layers` layers.

    Returns: see `Flow.holdings`; roles are `s0` .. `s{2D}`, pieces `x_0` .. `x_D`, `p_0` .. `p_D`.

    Raises:
        HeadwayError: if `depth` is below 1 or `layers` below 0.
    """
    require(layers >= 0, "layers", layers, "a whole number of at least 0")
    return retrieval_flow(depth, order).holdings(layers, causal)


def closed_form(depth: int, causal: bool = True) -> int:
    """The same minimum as `minimum_layers` as a formula, in exact integers.

    Without a mask ⌈log₃(4D + 1)⌉. Line the pieces up as e_0 = x_0, e_1 = p_1, e_2 = x_1, …: role
    s_i starts with e_{i-1}, e_i, and after t layers holds all from e_{i-1-c} to e_{i+c}, as far
    as there are any. It overlaps with every s_j up to j = i + 2c + 1, which holds up to e_{j+c};
    so c grows to 3c + 1, c = (3^t - 1)/2, and the query s_0 holds e_{2D} = x_D once c ≥ 2D.

    With the causal mask ⌊log₂ D⌋ + 2, in either order of the pairs:

    - Deepest first: s_{2k-1} sees only deeper pairs, which never hold any of its pieces, so it
      never grows. s_{2k} after t ≥ 1 layers holds all from x_{k-1} to p_{k+r}, r = 2^(t-1), and
      overlaps with every later s_{2j} up to j = k + r, which holds up to p_{j+r}: r doubles.
      The query holds up to p_r likewise: p_1 after one layer, and then the s_{2j} up to j = r.
    - Shallowest first: the mirror image. s_{2k-1} and s_{2k} never hold anything beyond their own
      p_k and x_k, and after t ≥ 1 layers reach back to p_{k-r} and x_{k-r}. The query again holds
      up to p_r, as it overlaps with s_{2k-1} up to k = 2r; and x_D stands only at s_{2D}, which
      overlaps with it once D - r ≤ r - 1.

    Either way the query holds x_D after t layers just if D ≤ 2^(t-1) - 1.

    Args:
        depth: D, retrieval steps.
        causal: whether a position sees only itself and what comes before it.

    Raises:
        HeadwayError: if `depth` is below 1.
    """
    _require_depth(depth)
    return depth.bit_length() + 1 if causal else _ceil_log3(4 * depth + 1)


def theorem_1_bound(depth: int) -> int:
    """The paper's lower bound (theorem 1): the least whole t with t ≥ log₃(2D), in exact integers.

    Raises:
        HeadwayError: if `depth` is below 1.
    """
    _require_depth(depth)
    return _ceil_log3(2 * depth)


def proven_minimum(config: TaskConfig, causal: bool = True) -> int:
    """The least number of layers for a task, if its pairs and rows have one code each.

    With a code for every token (`position_code = "token"`) the tokens of a pair are taken to know
    of each other all the same, as neighbours.
    """
    match config:
        case RetrievalConfig():
            return closed_form(config.depth, causal)
        case ConditionalConfig():
            return conditional_flow(config.order).minimum_layers(causal)


def _ceil_log3(number: int) -> int:
    """The least t with 3^t ≥ number."""
    return next(t for t in count() if 3**t >= number)


def _require_depth(depth: int) -> None:
    require(depth >= 1, "depth", depth, "a whole number of at least 1")
