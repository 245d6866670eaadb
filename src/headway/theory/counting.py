"""The number of circuits that the flow allows along a chain, and a test.

A circuit is a set of paths (layer, who attends, to whom). It solves the problem if
every path finds its key by what the circuit itself has brought to both ends, and the
query ends with the goal. It is minimal if no path can be left out. Along a chain a
circuit is minimal just if it is a tree, in which every role but the query is attended
to once (proof: docs/theory.md), so that

- every minimal circuit has 2D paths, and
- all that a role gathers, it gathers before it is attended to.

What a role holds is a stretch of the line of pieces (`simulation`). In one layer it can
grow by one stretch that ends where it begins, and by one that begins where it ends. So
the trees are counted layer by layer, by role and stretch, without listing them.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from headway.errors import require
from headway.relations.paths import AttentionPath
from headway.theory.flow import Flow
from headway.theory.formulas import closed_form, fewest_paths
from headway.theory.problems import PairOrder, pair_order
from headway.theory.simulation import minimum_layers

MOST = 64
"""The greatest depth that is counted, in less than a second."""

Stretch = tuple[int, int]
"""Least and greatest piece on the line p_0, x_0, p_1, …: 2k is p_k, 2k + 1 x_k."""

Trees = dict[Stretch, int]
"""By stretch, how many trees of paths give a role just that."""

Ends = dict[int, dict[int, int]]
"""The number of trees that give a role just that stretch, by its two ends."""


@dataclass(frozen=True)
class Count:
    """The minimal circuits of a chain under the causal mask.

    Attributes:
        depth: D, retrieval steps.
        layers: how many layers they may use.
        paths: how many each of them has.
        circuits: how many there are.
    """

    depth: int
    layers: int
    paths: int
    circuits: int


def count_circuits(
    depth: int, order: PairOrder = "deep-first", layers: int | None = None
) -> Count:
    """Count a chain's minimal causal circuits, with one path a role and layer.

    Args:
        depth: D, retrieval steps.
        order: of the pairs in the sequence; see `pair_order`.
        layers: how many they may use; by default the fewest that do.

    Raises:
        HeadwayError: if `depth` is not from 1 to `MOST`, `order` is no order of the
            pairs, or `layers` is below 0.
    """
    require(
        1 <= depth <= MOST,
        "depth",
        depth,
        f"from 1 to {MOST} where circuits are counted",
    )
    if layers is None:
        named = isinstance(order, str)
        layers = closed_form(depth) if named else minimum_layers(depth, order=order)
    require(layers >= 0, "layers", layers, "a whole number of at least 0")
    roles = list[int]()
    for pair in pair_order(depth, order):
        roles += [2 * pair - 1, 2 * pair]
    roles.append(0)
    held: list[Trees] = [{(role, role + 1): 1} for role in roles]
    for _ in range(layers):
        held = _after_a_layer(held)
    whole = (0, 2 * depth + 1)
    circuits = held[-1].get(whole, 0)
    return Count(depth, layers, fewest_paths(depth), circuits)


def _after_a_layer(held: Sequence[Trees]) -> list[Trees]:
    """The trees of every role, in the order of the sequence, a layer later."""
    ending: Ends = defaultdict(_none_yet)
    starting: Ends = defaultdict(_none_yet)
    after = list[Trees]()
    for own in held:
        after.append(_grown(own, ending, starting))
        for (low, high), trees in own.items():  # those that stand later see this role
            starting[low][high] += trees
            ending[high][low] += trees
    return after


def _grown(own: Trees, ending: Ends, starting: Ends) -> Trees:
    """The trees of a role after a layer in which it sees roles with these stretches."""
    grown = defaultdict[Stretch, int](int)
    for (low, high), trees in own.items():
        below = {low: 1, **ending[low]}
        above = {high: 1, **starting[high]}
        for least, under in below.items():
            for greatest, over in above.items():
                grown[least, greatest] += trees * under * over
    return dict(grown)


def _none_yet() -> dict[int, int]:
    return defaultdict(int)


def solves(flow: Flow, paths: Sequence[AttentionPath], causal: bool = True) -> bool:
    """Tell whether a circuit answers, if paths find keys by what it brought.

    Args:
        flow: the problem.
        paths: the circuit; which head has a path makes no difference.
        causal: whether a position sees only itself and what stands before it.

    Raises:
        HeadwayError: if a path names a role that there is not.
    """
    along = flow.along(paths, causal)
    last = along.stages[-1]
    return not along.broken and flow.goal in last[flow.query]


def is_minimal_circuit(
    flow: Flow, paths: Sequence[AttentionPath], causal: bool = True
) -> bool:
    """Tell whether a circuit solves a problem and can spare no path.

    Raises:
        HeadwayError: if a path names a role that there is not.
    """

    def can_spare(i: int) -> bool:
        fewer = [*paths[:i], *paths[i + 1 :]]
        return solves(flow, fewer, causal)

    return solves(flow, paths, causal) and not any(map(can_spare, range(len(paths))))
