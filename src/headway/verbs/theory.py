"""The verb about the least layers by the theory."""

from functools import partial
from pathlib import Path
from typing import Literal

from headway.verbs import opened, require_goes_with


def theory(
    run: Path | None = None,
    /,
    depth: str | None = None,
    mask: Literal["causal", "none"] | None = None,
    order: str | None = None,
    facts: tuple[str, ...] | None = None,
    query: str | None = None,
    goal: str | None = None,
    count: bool = False,
) -> None:
    """Show how few layers are enough: exact bounds, what positions hold, a circuit that
    has so few.

    For a run: what its positions hold after every layer, along the circuit that was
    found.

    Args:
        run: the run's folder, in which a circuit has been found.
        depth: D, retrieval steps: a number, a range or a list: 3, 1..64 (default),
            10,100.
        mask: whether a position sees only what stands before it (causal, the default).
        order: of the pairs in the sequence: deep-first (default), shallow-first, or for
            a single depth their numbers: 2,3,1.
        facts: of another task than retrieval, each letter a symbol; xyz ay ax is the
            conditional one. Three or more symbols are found by all but the last
            together, not by one of them.
        query: the symbol that is asked about, if there are facts (default: a).
        goal: the symbol that is the answer (default: z).
        count: count the minimal circuits with the fewest layers; by default for depths
            1..8.
    """
    options = {name: value for name, value in locals().items() if name != "run"}
    from headway.fields import read, values_of
    from headway.terminal import theory as terminal
    from headway.theory import Order, facts_flow, retrieval_flow

    only = partial(require_goes_with, options)
    ordered = partial(read, "order", order or "deep-first")
    known = "1..8" if count else "1..64"
    depths = values_of("depth", known if depth is None else depth, int)
    causal = mask != "none"
    if run is not None:
        only("a run")
        terminal.print_run(opened(run))
    elif count:
        only("--count", "count", "depth", "order")
        terminal.print_counts(depths, ordered(Order | tuple[int, ...]))
    elif facts:
        only("--facts", "facts", "mask", "query", "goal")
        flow = facts_flow(facts, query or "a", goal or "z", singled=True)
        terminal.print_flow(flow, causal, f"{' '.join(facts)}, {query or 'a'}?")
    elif len(depths) == 1 and depths[0] <= terminal.TOLD:
        only("a single depth", "depth", "mask", "order")
        flow = retrieval_flow(depths[0], ordered(Order | tuple[int, ...]))
        terminal.print_flow(flow, causal, f"retrieval, D = {depths[0]}")
    else:
        only("several depths, or so great a one", "depth", "mask", "order")
        terminal.print_bounds(depths, causal, ordered(Order))
