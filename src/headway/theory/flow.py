"""The flow of information through layers of attention (Musat 2024, section 5, appendix B).

Every position starts with the pieces it is given: the symbol of its token, and the position code
of its pair. In one layer, every position at once

1. may attend only to positions (that it may see under the mask) with which it shares a piece, and
2. takes over everything that such a position held before the layer.

A query can be answered once it holds the piece it is asked for. No transformer under these two
assumptions does with fewer layers; training may well need more.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool

from headway.errors import HeadwayError, require

Path = tuple[int, int, str]
"""Layer, head, and who attends to whom: `s0→s2`."""

Holdings = dict[str, frozenset[str]]
"""Role by role, the names of the pieces held."""


class Along(NamedTuple):
    """How information flows along the paths of a circuit, and no others.

    Attributes:
        stages: what every role holds before the first layer, and after each.
        broken: the paths whose two ends share no piece when they are needed. Whatever finds the
            key there, it is nothing that the circuit brought: an assumption is violated.
    """

    stages: list[Holdings]
    broken: tuple[Path, ...]


@dataclass(frozen=True)
class Flow:
    """One query of a task, and all that bears on it, as a flow problem.

    Attributes:
        roles: every position's role, in the order of the sequence; the query stands last.
        starts: for every role, the names of the pieces it starts with.
        goal: the piece that the query must come to hold.
        related: further pairs (role that attends, role attended to) that a head can follow
            whatever they share, such as a position and the one before it.
        singled: groups of roles that others can attend to only if they share all of some pieces
            with them, as it takes all of these to single the group out.
        codes_first: whether layer 0 finds by position codes alone, and later layers by symbols
            alone. Attention is largest where q · k is, which says that two symbols are alike only
            once an MLP has added their squares; and it leaves codes behind.
    """

    roles: tuple[str, ...]
    starts: tuple[frozenset[str], ...]
    goal: str
    related: frozenset[tuple[str, str]] = frozenset()
    singled: tuple[tuple[frozenset[str], frozenset[str]], ...] = ()
    codes_first: bool = False

    def __post_init__(self) -> None:
        for pair in self.related:
            for role in pair:
                require(role in self.roles, "related", role, f"one of {', '.join(self.roles)}")

    @property
    def query(self) -> str:
        """The role that is asked."""
        return self.roles[-1]

    @property
    def pieces(self) -> tuple[str, ...]:
        """All pieces there are, sorted by name."""
        return tuple(sorted(frozenset().union(*self.starts)))

    def start(self) -> Bool[np.ndarray, "role piece"]:
        """What every role holds before the first layer."""
        return np.array([[piece in start for piece in self.pieces] for start in self.starts])

    def visible(self, causal: bool) -> Bool[np.ndarray, "query key"]:
        """Whom every role may see: all, or with the causal mask itself and what stands before."""
        seen = np.ones((len(self.roles), len(self.roles)), dtype=bool)
        return np.tril(seen) if causal else seen

    def known(self) -> Bool[np.ndarray, "query key"]:
        """The pairs that are `related`."""
        known = np.zeros((len(self.roles), len(self.roles)), dtype=bool)
        for query, key in self.related:
            known[self.roles.index(query), self.roles.index(key)] = True
        return known

    def finders(self, layer: int) -> Bool[np.ndarray, " piece"]:
        """The pieces that a head of a layer can find its key by."""
        codes = np.array([is_code(piece) for piece in self.pieces])
        if not self.codes_first:
            return np.ones_like(codes)
        return codes if layer == 0 else ~codes

    def guards(self) -> Iterator[tuple[Bool[np.ndarray, "query key"], Bool[np.ndarray, " piece"]]]:
        """For every group of `singled`: who looks into it from outside, and what it takes."""
        for group, needed in self.singled:
            inside = np.array([role in group for role in self.roles])
            pieces = np.array([piece in needed for piece in self.pieces])
            yield ~inside[:, None] & inside, pieces

    def attends(
        self, held: Bool[np.ndarray, "role piece"], layer: int
    ) -> Bool[np.ndarray, "query key"]:
        """Who can find whom in a layer, were there no mask, by what they hold before it."""
        numbers = (held & self.finders(layer)).astype(np.float32)
        shared = numbers @ numbers.T
        found = shared > 0
        for looking_in, needed in self.guards():
            numbers = (held & needed).astype(np.float32)
            found &= ~looking_in | (numbers @ numbers.T == needed.sum())
        return found | self.known()

    def layers(
        self, causal: bool, hidden: Iterable[str] = ()
    ) -> Iterator[Bool[np.ndarray, "role piece"]]:
        """What every role holds before the first layer, after it, after the second, and so on.

        Args:
            causal: whether a position sees only itself and what stands before it.
            hidden: roles that none but themselves may attend to.
        """
        held, visible = self.start(), self.visible(causal)
        itself = np.eye(len(self.roles), dtype=bool)
        visible[:, [self.roles.index(role) for role in hidden]] = False
        for layer in count():
            yield held
            attends = (self.attends(held, layer) & visible) | itself
            held = attends.astype(np.float32) @ held.astype(np.float32) > 0

    def minimum_layers(self, causal: bool, hidden: Iterable[str] = ()) -> int | None:
        """The layers after which the query first holds the goal; none if it never does."""
        goal, before = self.pieces.index(self.goal), -1
        for done, held in enumerate(self.layers(causal, hidden)):
            if held[-1, goal]:
                return done
            if held.sum() == before and done > 1:
                return None
            before = held.sum()
        raise AssertionError("the stages never end")

    def holdings(self, layers: int, causal: bool) -> list[Holdings]:
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

    def along(self, paths: Sequence[Path], layers: int | None = None) -> Along:
        """The flow if heads attend along these paths alone.

        A broken path still brings what its key holds, as it does in the model that has it.

        Args:
            paths: layer (from 0), head, and relation `query→key` between two roles.
            layers: how many to follow; none means up to the last that has a path.

        Raises:
            HeadwayError: if a path names a role that there is not.
        """
        last = max((layer for layer, _, _ in paths), default=-1) + 1
        held: dict[str, frozenset[str]] = dict(zip(self.roles, self.starts, strict=True))
        stages, broken = [held], list[Path]()
        for layer in range(last if layers is None else layers):
            after = dict(held)
            for path in (path for path in paths if path[0] == layer):
                query, key = self.ends(path)
                if not self._finds(held, query, key, layer):
                    broken.append(path)
                after[query] |= held[key]
            held = after
            stages.append(held)
        return Along(stages, tuple(broken))

    def _finds(self, held: Holdings, query: str, key: str, layer: int) -> bool:
        """Whether one role can find another; `attends` for two roles."""
        if (query, key) in self.related:
            return True
        shared = held[query] & held[key]
        for group, needed in self.singled:
            if key in group and query not in group and not needed <= shared:
                return False
        if self.codes_first:
            return any(is_code(piece) == (layer == 0) for piece in shared)
        return bool(shared)

    def ends(self, path: Path) -> tuple[str, str]:
        """The role that attends along a path, and the one attended to.

        Raises:
            HeadwayError: if there is no such role.
        """
        query, _, key = path[2].partition("→")
        for role in (query, key):
            if role not in self.roles:
                raise HeadwayError(
                    f"path = {path[2]!r} is not allowed: roles are {', '.join(self.roles)}"
                )
        return query, key


def is_code(piece: str) -> bool:
    """Whether a piece is the code of a position or of its pair, and not a symbol."""
    return piece.startswith(("p_", "n_"))
