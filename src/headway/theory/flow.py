"""Information flow through attention (Musat 2024, section 5, appendix B).

Every position starts with the pieces it is given: the symbol of its token, and the
position code of its pair. In one layer, every position at once

1. may attend only to positions (that it may see under the mask) with which it shares a
   piece, and
2. takes over everything that such a position held before the layer.

A query can be answered once it holds the piece it is asked for. The least number of
layers after which it does is the flow minimum. No transformer that keeps these two
assumptions has fewer; transformers that do not keep them may, and training may need
more.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, count, islice
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool

from headway.errors import HeadwayError, require
from headway.relations.paths import AttentionPath
from headway.relations.roles import is_code

Holdings = dict[str, frozenset[str]]
"""Role by role, the names of the pieces held."""

Held = Bool[np.ndarray, "role piece"]
Found = Bool[np.ndarray, "query key"]


class Along(NamedTuple):
    """The flow of information along the paths of a circuit and nowhere else.

    Attributes:
        stages: what every role holds before the first layer, and after each.
        broken: the paths whose key cannot be found when it is needed: what the circuit
            has brought to both ends is not enough, or the mask hides it.
    """

    stages: list[Holdings]
    broken: tuple[AttentionPath, ...]


@dataclass(frozen=True)
class Flow:
    """One query of a task, and all that bears on it, as a flow problem.

    Attributes:
        roles: every position's role, in the order of the sequence; the query stands
            last.
        starts: for every role, the names of the pieces it starts with.
        goal: the piece that must reach the query.
        related: further pairs (role that attends, role attended to) that a head can
            follow whatever they share, such as a position and the one before it.
        singled: groups of roles, each with pieces. A role outside a group can attend to
            one inside only if the two share all of these pieces, such as x and y of a
            row of a table.
        codes_first: whether layer 0 finds by position codes alone, and later layers by
            symbols alone, as in the compiled transformers.

    Raises:
        HeadwayError: if a role or a piece is named that there is not, or a role twice.
    """

    roles: tuple[str, ...]
    starts: tuple[frozenset[str], ...]
    goal: str
    related: frozenset[tuple[str, str]] = frozenset()
    singled: tuple[tuple[frozenset[str], frozenset[str]], ...] = ()
    codes_first: bool = False

    def __post_init__(self) -> None:
        roles = ", ".join(self.roles)
        pieces = ", ".join(self.pieces)
        require(
            len(set(self.roles)) == len(self.roles), "roles", roles, "each named once"
        )
        require(
            self.goal in self.pieces, "goal", self.goal, f"one of the pieces {pieces}"
        )
        groups = [group for group, _ in self.singled]
        for role in chain(*self.related, *groups):
            require(role in self.roles, "role", role, f"one of {roles}")
        for _, needed in self.singled:
            for piece in needed:
                require(piece in self.pieces, "piece", piece, f"one of {pieces}")

    @property
    def query(self) -> str:
        return self.roles[-1]

    @cached_property
    def pieces(self) -> tuple[str, ...]:
        """The pieces there are, sorted by name."""
        pieces = frozenset().union(*self.starts)
        return tuple(sorted(pieces))

    def start(self) -> Held:
        """The holdings of every role before the first layer."""
        starts = zip(self.roles, self.starts, strict=True)
        return self.marked(dict(starts))

    def marked(self, held: Holdings) -> Held:
        """Holdings by name as a table of roles and `pieces`."""
        rows = [[piece in held[role] for piece in self.pieces] for role in self.roles]
        return np.array(rows)

    def visible(self, causal: bool) -> Found:
        """The roles visible to each: all, or with the causal mask those up to it."""
        count = len(self.roles)
        seen = np.ones((count, count), dtype=bool)
        return np.tril(seen) if causal else seen

    @cached_property
    def known(self) -> Found:
        """The pairs that are `related`."""
        count = len(self.roles)
        known = np.zeros((count, count), dtype=bool)
        for pair in self.related:
            query, key = map(self.roles.index, pair)
            known[query, key] = True
        return known

    def finders(self, layer: int) -> Bool[np.ndarray, " piece"]:
        """The pieces that a head of a layer can find its key by."""
        if not self.codes_first:
            return np.ones(len(self.pieces), dtype=bool)
        return np.array([is_code(piece) == (layer == 0) for piece in self.pieces])

    @cached_property
    def guards(self) -> list[tuple[Found, Bool[np.ndarray, " piece"]]]:
        """The pairs (query outside, key inside) of every group in `singled`, and the
        pieces that the two must share."""
        guards = []
        for group, needed in self.singled:
            inside = np.array([role in group for role in self.roles])
            pieces = np.array([piece in needed for piece in self.pieces])
            looking_in = ~inside[:, None] & inside
            guards.append((looking_in, pieces))
        return guards

    def attends(self, held: Held, layer: int) -> Found:
        """The roles that can find each other before a layer, without a mask."""
        numbers = (held & self.finders(layer)).astype(np.float32)
        looks = numbers @ numbers.T > 0
        for looking_in, needed in self.guards:
            numbers = (held & needed).astype(np.float32)
            looks &= ~looking_in | (numbers @ numbers.T == needed.sum())
        return looks | self.known

    def layers(self, causal: bool, hidden: Iterable[str] = ()) -> Iterator[Held]:
        """The holdings of every role before the first layer and after each.

        Args:
            causal: whether a position sees only itself and what stands before it.
            hidden: roles that none but themselves may attend to.
        """
        held = self.start()
        visible = self.visible(causal)
        itself = np.eye(len(self.roles), dtype=bool)
        for role in hidden:
            visible[:, self.roles.index(role)] = False
        for layer in count():
            yield held
            attends = (self.attends(held, layer) & visible) | itself
            sources = attends.astype(np.float32) @ held.astype(np.float32)
            held = sources > 0

    def minimum_layers(self, causal: bool, hidden: Iterable[str] = ()) -> int | None:
        """The layers until the query holds the goal; None if it never does."""
        goal = self.pieces.index(self.goal)
        before = -1
        for done, held in enumerate(self.layers(causal, hidden)):
            if held[-1, goal]:
                return done
            if (
                held.sum() == before and done > 1
            ):  # layer 0 may find by less than the others
                return None
            before = held.sum()
        raise AssertionError("the stages never end")

    def holdings(self, layers: int, causal: bool) -> list[Holdings]:
        """Role by role, the pieces held at first and after each of `layers`.

        A head of layer t (counted from 0) can follow a path only if, in entry t, its
        two roles have a piece in common.
        """
        stages = islice(self.layers(causal), layers + 1)
        return [self.named(held) for held in stages]

    def named(self, held: Held) -> Holdings:
        """The inverse of `marked`."""
        pieces = np.array(self.pieces)
        named = Holdings()
        for role, row in zip(self.roles, held, strict=True):
            named[role] = frozenset(pieces[row].tolist())
        return named

    def along(
        self, paths: Sequence[AttentionPath], causal: bool, layers: int | None = None
    ) -> Along:
        """The flow if heads attend along these paths alone.

        A broken path still brings what its key holds, as it does in the model that has
        it.

        Args:
            paths: layer (from 0), head, and relation `query←key` between two roles.
            causal: whether a position sees only itself and what stands before it.
            layers: how many to follow; by default up to the last that has a path. Paths
                beyond are left out.

        Raises:
            HeadwayError: if a path names a role that there is not.
        """
        held = self.start()
        visible = self.visible(causal)
        stages = [self.named(held)]
        broken = list[AttentionPath]()
        for layer in range(_layers_in(paths) if layers is None else layers):
            attends = self.attends(held, layer) & visible
            after = held.copy()
            for path in paths:
                if path.layer != layer:
                    continue
                query, key = map(self.roles.index, self.ends(path))
                if not attends[query, key]:
                    broken.append(path)
                after[query] |= held[key]
            held = after
            stages.append(self.named(held))
        return Along(stages, tuple(broken))

    def ends(self, path: AttentionPath) -> tuple[str, str]:
        """The role that attends along a path, and the one attended to.

        Raises:
            HeadwayError: if there is no such role.
        """
        ends = path.relation.ends or ("", path.relation)
        for role in ends:
            if role not in self.roles:
                roles = ", ".join(self.roles)
                raise HeadwayError(
                    f"path = {path.relation!r} is not allowed: roles are {roles}"
                )
        return ends


def _layers_in(paths: Sequence[AttentionPath]) -> int:
    """The layers up to the last that has a path."""
    return max((path.layer for path in paths), default=-1) + 1
