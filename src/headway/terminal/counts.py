"""How many minimal circuits a chain has."""

from collections.abc import Sequence

from headway.terminal.base import columns, console
from headway.text import wrapped
from headway.theory import PairOrder, count_circuits

EXACT = 10**15
"""From here on only a number's first digits are shown."""


def print_counts(depths: Sequence[int], order: PairOrder) -> None:
    """How many minimal circuits there are with the fewest layers, for every depth.

    Args:
        depths: D, retrieval steps.
        order: of the pairs.

    Raises:
        HeadwayError: if a depth cannot be counted, or the order does not fit it.
    """
    counts = [count_circuits(depth, order) for depth in depths]
    out = console()
    said = order if isinstance(order, str) else "pairs " + ", ".join(map(str, order))
    out.print(f"Minimal circuits for D retrieval steps, causal mask, {said}", style="bold")
    table = columns((), ("D", "layers", "paths of each", "circuits"))
    for c in counts:
        number = f"{c.circuits:,}" if c.circuits < EXACT else f"{c.circuits:.3e}"
        table.add_row(str(c.depth), str(c.layers), str(c.paths), number)
    out.print(table)
    for line in (
        "layers: the fewest that are enough; a circuit is a set of paths (layer, who attends, to"
        " whom)",
        "minimal: the query ends with the goal, and no path can be left out; every minimal circuit"
        " has just 2D paths, so none is smaller",
    ):
        out.print("\n".join(wrapped(line)))
