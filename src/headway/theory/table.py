"""The table of bounds: how many layers so many hops take, by simulation and by every formula."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from headway.theory.formulas import closed_form, theorem_1_bound
from headway.theory.problems import Order
from headway.theory.simulation import minimum_layers

MOST = 20_000
"""The greatest depth that is simulated for a table, which takes some seconds."""


@dataclass(frozen=True)
class Bound:
    """Neighbouring depths with the same bounds.

    Attributes:
        first: the least of the depths.
        last: the greatest of them.
        layers: the least number of layers, by formula.
        simulated: the same by simulation, at `first` and at `last`; None beyond `MOST`.
        other: by formula, under the other mask.
        theorem_1: the paper's lower bound.
    """

    first: int
    last: int
    layers: int
    simulated: tuple[int | None, int | None]
    other: int
    theorem_1: int


def bounds(depths: Sequence[int], causal: bool = True, order: Order = "deep-first") -> list[Bound]:
    """The bounds for some depths, neighbours with the same bounds taken together.

    Raises:
        HeadwayError: if a depth is below 1.
    """

    def formulas(depth: int) -> tuple[int, int, int]:
        return closed_form(depth, causal), closed_form(depth, not causal), theorem_1_bound(depth)

    def simulated(depth: int) -> int | None:
        return minimum_layers(depth, causal=causal, order=order) if depth <= MOST else None

    ranked = sorted(set(depths))
    rows = []
    for (_, known), group in groupby(enumerate(ranked), lambda d: (d[1] - d[0], formulas(d[1]))):
        members = [depth for _, depth in group]
        first, last = members[0], members[-1]
        layers, other, theorem_1 = known
        ends = simulated(first), simulated(last)
        rows.append(Bound(first, last, layers, ends, other, theorem_1))
    return rows
