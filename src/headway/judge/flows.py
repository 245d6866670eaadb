"""A circuit in the theory of flows: the route of its answer, path by path.

As in `headway.theory`, every position starts with its symbol and the code of its pair
or row, and a path copies all that stands where it looks. A path can find its key by
what both positions hold before the layer. So the paths below that a path needs can be
traced: those that brought one of its two positions what both have in common. Without a
path, others may not find their keys any more; these bring nothing, so what they brought
is missing above them, too.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

from headway.judge.roles import Cast, joins_roles, places, symbol_order
from headway.relations.paths import AttentionPath, ends_of
from headway.relations.roles import Place
from headway.tasks import Task
from headway.theory import Along, Flow, Holdings, chain_depth, closed_form, is_code

Stages = Sequence[Holdings]
"""The pieces that every role holds before each layer, and in the end."""


@dataclass(frozen=True)
class Routes:
    """The ways of the symbols that come to a query.

    Attributes:
        brings: for every path of the circuit, the symbols that are new to the position
            that attends.
        needs: for every symbol that comes to the query, all paths that this depends on.
    """

    brings: dict[AttentionPath, tuple[str, ...]]
    needs: dict[str, tuple[AttentionPath, ...]]


def trace(task: Task | Cast, paths: Sequence[AttentionPath]) -> Routes | None:
    """Traces every symbol through a circuit, with the paths and keys it needs.

    A path finds its key by the symbols that both positions hold before the layer, or
    else by the codes of pairs and rows that both hold; within one pair, fact or row by
    the code that its positions share from the start.

    None if the task names no symbols, or a path leads elsewhere than from role to role.
    """
    standing = places(task)
    order = symbol_order(task)
    if not all(place.symbol for place in standing) or not joins_roles(task, paths):
        return None
    stages = _stages(standing, order[0], paths)
    group = {place.role: place.group for place in standing}
    behind = _behind(stages, paths, group, frozenset(order))
    asks = standing[-1].role
    needs = dict[str, tuple[AttentionPath, ...]]()
    for symbol in order:
        if behind[asks, symbol]:
            needs[symbol] = tuple(sorted(behind[asks, symbol]))
    return Routes(_brought(stages, paths, order), needs)


def _brought(
    stages: Stages, paths: Sequence[AttentionPath], order: Sequence[str]
) -> dict[AttentionPath, tuple[str, ...]]:
    """The symbols that every path brings, in an order."""
    brings = dict[AttentionPath, tuple[str, ...]]()
    for path in sorted(paths):
        new = _new(stages, path)
        brings[path] = tuple(symbol for symbol in order if symbol in new)
    return brings


def _stages(
    standing: Sequence[Place], asked: str, paths: Sequence[AttentionPath]
) -> Stages:
    """The pieces that every role holds before each layer, along these paths."""
    roles = tuple(place.role for place in standing)
    starts = tuple(frozenset({place.symbol, place.group}) for place in standing)
    return Flow(roles, starts, asked).along(paths, causal=False).stages


def _behind(
    stages: Stages,
    paths: Sequence[AttentionPath],
    group: Mapping[str, str],
    symbols: frozenset[str],
) -> Mapping[tuple[str, str], frozenset[AttentionPath]]:
    """The paths that the coming of a piece to a role depends on, by role and piece.

    Args:
        stages: what every role holds before each layer.
        paths: of the circuit.
        group: the pair or row of every role.
        symbols: the pieces that are no codes.
    """
    behind = defaultdict[tuple[str, str], frozenset[AttentionPath]](frozenset)
    for _, in_layer in groupby(sorted(paths), key=lambda path: path.layer):
        below = behind.copy()
        for path in in_layer:
            query, key = path.relation.ends or ("", "")
            needed = frozenset({path})
            if group[query] != group[key]:
                for piece in _telling(stages, path, symbols):
                    needed |= below[query, piece] | below[key, piece]
            for piece in _new(stages, path):
                behind[query, piece] |= needed | below[key, piece]
    return behind


def _telling(
    stages: Stages, path: AttentionPath, symbols: frozenset[str]
) -> frozenset[str]:
    """The pieces by which a path finds its key: symbols that both of its ends hold, or
    else codes.
    """
    at_query, at_key = _held(stages, path)
    shared = at_query & at_key
    return shared & symbols or shared


def _held(stages: Stages, path: AttentionPath) -> tuple[frozenset[str], frozenset[str]]:
    """The pieces before a path's layer where it attends, and where it looks."""
    query, key = path.relation.ends or ("", "")
    stage = stages[min(path.layer, len(stages) - 1)]
    return stage[query], stage[key]


def _new(stages: Stages, path: AttentionPath) -> frozenset[str]:
    """The pieces that a path brings."""
    at_query, at_key = _held(stages, path)
    return at_key - at_query


@dataclass(frozen=True)
class Lost:
    """The loss of a circuit with one of its paths, by the flow of information.

    Attributes:
        unfound: the others that then do not find their key: nothing that their two ends
            still hold singles it out.
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

    A path that finds its key in the model although the flow does not say how (it is
    broken in the whole circuit) is taken to find it whatever else is cut. None if the
    task's flow is not known, or a path leads elsewhere than from role to role.

    Args:
        task: whose flow it is.
        paths: of the circuit.
        causal: whether a position sees only itself and what stands before it.
    """
    flow = task.flow()
    if flow is None or not ends_of(paths) <= {*flow.roles}:
        return None
    asked = {*task.hops, flow.goal}
    whole = flow.along(paths, causal)
    lost = dict[AttentionPath, Lost]()
    for cut in paths:
        others = [path for path in paths if path != cut]
        lost[cut] = _lost(flow, whole, others, causal, asked)
    return lost


def _lost(
    flow: Flow,
    whole: Along,
    others: Sequence[AttentionPath],
    causal: bool,
    asked: set[str],
) -> Lost:
    """The pieces that are lost if only these paths of a circuit are left.

    Args:
        flow: of the task.
        whole: the flow along all paths.
        others: those that are left.
        causal: as in `lost_without`.
        asked: all that is asked for.
    """
    left = others
    along = flow.along(left, causal)
    while unfound := {*along.broken} - {*whole.broken}:
        left = [path for path in left if path not in unfound]
        along = flow.along(left, causal)
    lacking = list[AttentionPath]()
    for path in left:
        brought = {piece for piece in _new(whole.stages, path) if not is_code(piece)}
        if brought - _held(along.stages, path)[1]:
            lacking.append(path)
    answers = asked & (whole.stages[-1][flow.query] - along.stages[-1][flow.query])
    unfound = tuple(path for path in others if path not in left)
    return Lost(unfound, tuple(lacking), tuple(sorted(answers)))


@lru_cache(maxsize=1024)
def least_layers(flow: Flow | None, causal: bool) -> str:
    """The flow minimum, with the causal mask or without, as a table says it."""
    if flow is None:
        return "not known"
    depth = chain_depth(flow)
    if depth is not None:  # simulation would take minutes with many roles
        return str(closed_form(depth, causal))
    least = flow.minimum_layers(causal)
    return "none is enough" if least is None else str(least)
