"""A circuit in the theory of flows: the way of its answer, and the part of each path in it.

As in `headway.theory`, every position starts with its symbol and the code of its pair or row, and
a path copies all that stands where it looks. A path can find its key by what both positions hold
before the layer. So the paths below that a path needs can be traced: those that brought one of its
two positions what both have in common. Without a path, others may not find their keys any more;
these bring nothing, so what they brought is missing above them, too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from headway.circuits.roles import Cast, joins_roles, places, symbol_order
from headway.relations.paths import AttentionPath
from headway.tasks import Task
from headway.theory import Flow, Holdings, is_code


@dataclass(frozen=True)
class Routes:
    """The ways of the symbols that come to a query.

    Attributes:
        brings: for every path of the circuit, in the order in which information flows, the symbols
            that are new to the position that attends.
        needs: for every symbol that comes to the query, all paths that this depends on.
    """

    brings: dict[AttentionPath, tuple[str, ...]]
    needs: dict[str, tuple[AttentionPath, ...]]


def trace(task: Task | Cast, paths: Sequence[AttentionPath]) -> Routes | None:
    """Traces every symbol through a circuit, with the paths that brought it and its keys.

    A path finds its key by the symbols that both positions hold before the layer, or else by the
    codes of pairs and rows that both hold; within one pair, fact or row by the code that its
    positions share from the start.

    None if the task names no symbols, or a path leads elsewhere than from role to role.
    """
    standing = places(task)
    if not all(place.symbol for place in standing) or not joins_roles(task, paths):
        return None
    order = symbol_order(task)
    group = {place.role: place.group for place in standing}
    held = {place.role: {place.symbol, place.group} for place in standing}
    brings = dict[AttentionPath, tuple[str, ...]]()
    support = dict[tuple[str, str], set[AttentionPath]]()
    for layer in sorted({path.layer for path in paths}):
        before = {role: set(pieces) for role, pieces in held.items()}
        brought = dict[tuple[str, str], set[AttentionPath]]()
        for path in (path for path in paths if path.layer == layer):
            assert path.relation.ends is not None
            query, key = path.relation.ends
            shared, new = before[query] & before[key], before[key] - before[query]
            by = [symbol for symbol in order if symbol in shared] or sorted(shared)
            by = [] if group[query] == group[key] else by
            brings[path] = tuple(symbol for symbol in order if symbol in new)
            for piece in new:
                ways = [(key, piece), *((end, one) for end in (query, key) for one in by)]
                found = set().union(*(support.get(way, ()) for way in ways))
                brought.setdefault((query, piece), {path}).update(found, {path})
            held[query] |= new
        support |= brought
    asked = [symbol for symbol in order if (standing[-1].role, symbol) in support]
    needs = {symbol: tuple(sorted(support[standing[-1].role, symbol])) for symbol in asked}
    return Routes(brings, needs)


Kind = Literal["finds", "carries", "serves", "apart"]
"""The part of a path P in another path Q:

finds     without P, Q does not find its key: nothing that its two ends still hold singles it out. P
          brought what Q looks for or is found by, itself or through others.
carries   Q finds its key, but a symbol that it brought in the whole circuit is not there: P
          brought something that Q carries, itself or through others.
serves    Q finds and carries all that it did, but no answer that it served is reached without P.
apart     none of these.

Codes of positions and pairs that a path brings do not count as carried, as nobody asks for them.
"""

NEEDS: tuple[Kind, ...] = ("finds", "carries")
"""The kinds in which Q needs P."""


@dataclass(frozen=True)
class Lost:
    """The loss of a circuit with one of its paths, by the flow of information.

    Attributes:
        kinds: what the path is to every other.
        answers: what the query is asked for and then does not get.
    """

    kinds: dict[AttentionPath, Kind]
    answers: tuple[str, ...]

    @property
    def paths(self) -> tuple[AttentionPath, ...]:
        """The others that then do not find their key, or lack something that they carried."""
        return tuple(path for path, kind in self.kinds.items() if kind in NEEDS)


def lost_without(
    task: Task, paths: Sequence[AttentionPath], causal: bool
) -> dict[AttentionPath, Lost] | None:
    """The loss with every path of a circuit.

    None if the task's flow is not known, or a path leads elsewhere than from role to role.

    Args:
        task: whose flow it is.
        paths: of the circuit.
        causal: whether a position sees only itself and what stands before it.
    """
    flow = task.flow()
    ends = {end for path in paths for end in path.relation.ends or ("",)}
    if flow is None or not ends <= set(flow.roles):
        return None
    asked = frozenset({*task.hops, flow.goal} & set(flow.pieces))
    whole, found = _Rest(flow, paths, causal, asked), dict[AttentionPath, Lost]()
    for cut in paths:
        rest = whole.without(cut)
        kinds: dict[AttentionPath, Kind] = {p: _kind(whole, rest, p) for p in paths if p != cut}
        found[cut] = Lost(kinds, tuple(sorted(whole.answers - rest.answers)))
    return found


def _kind(whole: "_Rest", rest: "_Rest", path: AttentionPath) -> Kind:
    if path not in rest.paths:
        return "finds"
    if whole.brought(path) - rest.offered(path):
        return "carries"
    return "serves" if whole.uses(path) and not rest.uses(path) else "apart"


class _Rest:
    """The rest of a circuit: paths that find their keys, and what they bring.

    A path that finds its key in the model although the flow does not say how (it is broken in the
    whole circuit) is taken to find it whatever else is cut.

    Args:
        flow: of the task.
        paths: that are not cut.
        causal: whether the mask is causal.
        asked: the pieces that the query is asked for.
        unexplained: paths that find their keys whatever the flow says.
    """

    def __init__(
        self,
        flow: Flow,
        paths: Sequence[AttentionPath],
        causal: bool,
        asked: frozenset[str],
        unexplained: Sequence[AttentionPath] | None = None,
    ):
        self.flow, self.causal, self.asked = flow, causal, asked
        self.paths, along = tuple(paths), flow.along(paths, causal)
        self.unexplained = along.broken if unexplained is None else unexplained
        while lost := set(along.broken) - set(self.unexplained):
            self.paths = tuple(path for path in self.paths if path not in lost)
            along = flow.along(self.paths, causal)
        self.stages = along.stages

    def without(self, path: AttentionPath) -> "_Rest":
        """The rest if one more path is cut."""
        left = [other for other in self.paths if other != path]
        return _Rest(self.flow, left, self.causal, self.asked, self.unexplained)

    def _before(self, layer: int) -> Holdings:
        """The pieces that every role holds before a layer."""
        return self.stages[min(layer, len(self.stages) - 1)]

    def offered(self, path: AttentionPath) -> frozenset[str]:
        """The pieces at the position that a path reads."""
        return self._before(path.layer)[self.flow.ends(path)[1]]

    def brought(self, path: AttentionPath) -> frozenset[str]:
        """The symbols that a path brings and that were not there before."""
        new = self.offered(path) - self._before(path.layer)[self.flow.ends(path)[0]]
        return frozenset(piece for piece in new if not is_code(piece))

    @property
    def answers(self) -> frozenset[str]:
        """The pieces that the query is asked for and gets."""
        return self.stages[-1][self.flow.query] & self.asked

    def uses(self, path: AttentionPath) -> bool:
        """True if an answer is lost without a path."""
        return self.without(path).answers != self.answers


@dataclass(frozen=True)
class Least:
    """The least number of layers under the assumptions of `theory.flow`.

    Attributes:
        known: whether it is known how information must flow in the task.
        layers: the least number of layers; None if no number is enough, or that is not known.
    """

    known: bool
    layers: int | None = None

    @classmethod
    def of(cls, task: Task, causal: bool) -> "Least":
        """Of a task, with the causal mask or without."""
        flow = task.flow()
        return cls(False) if flow is None else cls(True, _layers(flow, causal))

    @property
    def words(self) -> str:
        """The same in a few words."""
        if not self.known:
            return "flow minimum not known"
        if self.layers is None:
            return "no number of layers can answer"
        return f"flow minimum: {self.layers} {'layer' if self.layers == 1 else 'layers'}"

    @property
    def cell(self) -> str:
        """The same in a column that says what it is."""
        if not self.known:
            return "not known"
        return "none is enough" if self.layers is None else str(self.layers)


@lru_cache(maxsize=1024)
def _layers(flow: Flow, causal: bool) -> int | None:
    return flow.minimum_layers(causal)
