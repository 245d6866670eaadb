"""The verb about the least layers by the theory."""

import re
from pathlib import Path
from typing import Literal

from headway.errors import require
from headway.verbs import opened, require_goes_with

GOES_WITH = {
    "a run": (),
    "--facts": ("facts", "mask", "query", "goal"),
    "--task conditional": ("task", "mask", "order"),
    "--task hops": ("task", "depth", "mask"),
    "a single depth": ("task", "depth", "mask", "order", "queries"),
    "several depths, or so great a one": ("task", "depth", "mask", "order"),
    "--count": ("count", "depth", "order"),
}
"""The options that mean something for what is asked."""


def theory(
    run: Path | None = None,
    /,
    depth: str | None = None,
    mask: Literal["causal", "none"] | None = None,
    order: str | None = None,
    task: Literal["retrieval", "conditional", "hops"] | None = None,
    facts: tuple[str, ...] | None = None,
    query: str | None = None,
    goal: str | None = None,
    queries: int | None = None,
    count: bool = False,
) -> None:
    """Show how few layers are enough: exact bounds, what positions hold, a circuit that has so few.

    For a run: what its positions hold after every layer, along the circuit that was found.

    Args:
        run: the run's folder, in which a circuit has been found.
        depth: D, retrieval steps, or k: a number, a range or a list: 3, 1..64 (default), 10,100.
        mask: whether a position sees only what stands before it (causal, the default).
        order: of the pairs in the sequence: deep-first (default), shallow-first, or for a single
            depth their numbers: 2,3,1.
        task: the retrieval problem (default), the conditional one, or k-hop.
        facts: of a task of your own, each letter a symbol, such as: xyz ay ax. A fact of three or
            more symbols is found by all but its last together, not by one of them.
        query: the symbol that is asked about, if there are facts (default: a).
        goal: the symbol that is the answer (default: z).
        queries: how many positions at the end hold what is asked about: room to think in.
        count: count the minimal circuits with the fewest layers; by default for depths 1..8.
    """
    options = {name: value for name, value in locals().items() if name != "run"}
    from headway.fields import read, values_of
    from headway.terminal import theory as terminal
    from headway.theory import Order, conditional_flow, facts_flow, retrieval_flow

    depths = values_of("depth", depth or ("1..8" if count else "1..64"), int)
    single = len(depths) == 1 and depths[0] <= terminal.TOLD
    asked = (
        *(["a run"] if run is not None else []),
        *(["--count"] if count else []),
        *(["--facts"] if facts else []),
        *([f"--task {task}"] if task in ("conditional", "hops") else []),
        "a single depth" if single else "several depths, or so great a one",
    )[0]
    require_goes_with(asked, options, GOES_WITH[asked])
    causal, order = mask != "none", "deep-first" if order is None else order
    by_numbers = "," in order and asked in ("--count", "a single depth")
    pairs = read("order", order, tuple[int, ...] if by_numbers else Order)
    if run is not None:
        return terminal.print_run(opened(run))
    if count:
        return terminal.print_counts(depths, pairs)
    if asked == "--task hops":
        return terminal.print_hops(depths, causal)
    if asked.startswith("several"):
        return terminal.print_bounds(depths, causal, pairs)
    if facts:
        said = re.findall(r"[^\s,]+", " ".join(facts))
        start, end = "a" if query is None else query, "z" if goal is None else goal
        flow, title = facts_flow(said, start, end, singled=True), f"{' '.join(said)}, {start}?"
    elif task == "conditional":
        flow, title = conditional_flow(pairs, singled=True), "conditional retrieval"
    else:
        spare = 1 if queries is None else queries
        require(1 <= spare <= terminal.TOLD, "queries", spare, f"from 1 to {terminal.TOLD}")
        flow = retrieval_flow(depths[0], pairs, spare)
        title = f"retrieval, D = {depths[0]}"
    terminal.print_flow(flow, causal, title)
