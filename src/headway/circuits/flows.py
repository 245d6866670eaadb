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
from typing import NamedTuple

from headway.circuits.roles import Cast, joins_roles, places, symbol_order
from headway.relations.paths import AttentionPath
from headway.tasks import Task
from headway.theory import Along, Flow, is_code


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


@dataclass(frozen=True)
class Lost:
    """The loss of a circuit with one of its paths, by the flow of information.

    Attributes:
        unfound: the others that then do not find their key: nothing that their two ends still hold
            singles it out.
        lacking: those that find it, but lack a symbol that they carried.
        answers: what the query is asked for and then does not get.
    """

    unfound: tuple[AttentionPath, ...]
    lacking: tuple[AttentionPath, ...]
    answers: tuple[str, ...]


def lost_without(
    task: Task, paths: Sequence[AttentionPath], causal: bool
) -> dict[AttentionPath, Lost] | None:
    """The loss with every path of a circuit.

    A path that finds its key in the model although the flow does not say how (it is broken in the
    whole circuit) is taken to find it whatever else is cut. None if the task's flow is not known,
    or a path leads elsewhere than from role to role.

    Args:
        task: whose flow it is.
        paths: of the circuit.
        causal: whether a position sees only itself and what stands before it.
    """
    flow = task.flow()
    ends = {end for path in paths for end in path.relation.ends or ("",)}
    if flow is None or not ends <= set(flow.roles):
        return None
    asked, whole = {*task.hops, flow.goal}, flow.along(paths, causal)

    def held(along: Along, path: AttentionPath) -> tuple[frozenset[str], frozenset[str]]:
        """The pieces that stand before a path's layer where it attends, and where it looks."""
        query, key = flow.ends(path)
        stage = along.stages[min(path.layer, len(along.stages) - 1)]
        return stage[query], stage[key]

    def brought(path: AttentionPath) -> frozenset[str]:
        there, new = held(whole, path)
        return frozenset(piece for piece in new - there if not is_code(piece))

    def without(cut: AttentionPath) -> Lost:
        others = left = [path for path in paths if path != cut]
        along = flow.along(left, causal)
        while unfound := {*along.broken} - {*whole.broken}:
            left = [path for path in left if path not in unfound]
            along = flow.along(left, causal)
        return Lost(
            tuple(path for path in others if path not in left),
            tuple(path for path in left if brought(path) - held(along, path)[1]),
            tuple(sorted(asked & (whole.stages[-1][flow.query] - along.stages[-1][flow.query]))),
        )

    return {path: without(path) for path in paths}


_layers = lru_cache(maxsize=1024)(Flow.minimum_layers)


class Least(NamedTuple):
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
    def cell(self) -> str:
        """The number in a column that says what it is."""
        if not self.known:
            return "not known"
        return "none is enough" if self.layers is None else str(self.layers)
