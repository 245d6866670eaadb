"""A circuit in the theory of flows: the way of its answer, and the part of each path in it.

As in `headway.theory`, every position starts with its symbol and the code of its pair or row, and
a path copies all that stands where it looks. A path can find its key by what both positions hold
before the layer. So the paths below that a path needs can be traced: those that brought one of its
two positions what both have in common. Without a path, others may not find their keys any more;
these bring nothing, so what they brought is missing above them, too.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby, product

from headway.judge.roles import Cast, joins_roles, places, symbol_order
from headway.relations.paths import AttentionPath
from headway.tasks import Task
from headway.theory import Flow, Holdings, chain_depth, closed_form, is_code


@dataclass(frozen=True)
class Routes:
    """The ways of the symbols that come to a query.

    Attributes:
        brings: for every path of the circuit, the symbols that are new to the position that
            attends.
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
    standing, order = places(task), symbol_order(task)
    if not all(place.symbol for place in standing) or not joins_roles(task, paths):
        return None
    group = {place.role: place.group for place in standing}
    starts = tuple(frozenset({place.symbol, place.group}) for place in standing)
    stages = Flow(tuple(group), starts, order[0]).along(paths, causal=False).stages

    brings = dict[AttentionPath, tuple[str, ...]]()
    behind = defaultdict[tuple[str, str], frozenset[AttentionPath]](frozenset)
    for _, those in groupby(sorted(paths), key=lambda path: path.layer):
        below = behind.copy()
        for path in those:
            query, key = ends = path.relation.ends or ("", "")
            here, there = _held(stages, path)
            shared = set() if group[query] == group[key] else here & there
            by = shared & {*order} or shared
            found = frozenset({path}).union(*(below[way] for way in product(ends, by)))
            for piece in there - here:
                behind[query, piece] |= found | below[key, piece]
            brings[path] = tuple(symbol for symbol in order if symbol in there - here)
    asks = standing[-1].role
    needs = {s: tuple(sorted(behind[asks, s])) for s in order if behind[asks, s]}
    return Routes(brings, needs)


def _held(stages: Sequence[Holdings], path: AttentionPath) -> tuple[frozenset[str], frozenset[str]]:
    """The pieces that stand before a path's layer where it attends, and where it looks."""
    query, key = path.relation.ends or ("", "")
    stage = stages[min(path.layer, len(stages) - 1)]
    return stage[query], stage[key]


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

    def brought(path: AttentionPath) -> frozenset[str]:
        here, there = _held(whole.stages, path)
        return frozenset(piece for piece in there - here if not is_code(piece))

    def without(cut: AttentionPath) -> Lost:
        others = left = [path for path in paths if path != cut]
        along = flow.along(left, causal)
        while unfound := {*along.broken} - {*whole.broken}:
            left = [path for path in left if path not in unfound]
            along = flow.along(left, causal)
        return Lost(
            tuple(path for path in others if path not in left),
            tuple(path for path in left if brought(path) - _held(along.stages, path)[1]),
            tuple(sorted(asked & (whole.stages[-1][flow.query] - along.stages[-1][flow.query]))),
        )

    return {path: without(path) for path in paths}


@lru_cache(maxsize=1024)
def least_layers(flow: Flow | None, causal: bool) -> str:
    """The flow minimum, with the causal mask or without, as a table says it."""
    if flow is None:
        return "not known"
    if (depth := chain_depth(flow)) is not None:  # simulation would take minutes with many roles
        return str(closed_form(depth, causal))
    least = flow.minimum_layers(causal)
    return "none is enough" if least is None else str(least)
