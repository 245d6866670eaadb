"""The verb about the least layers by the theory."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, cast, get_args

from tyro.conf import Positional

from headway.arguments import Flag, opened
from headway.errors import HeadwayError, require
from headway.theory import Order, PairOrder

GOES_WITH = {
    "a run": ("figure",),
    "--facts": ("facts", "mask", "query", "goal", "figure"),
    "--task conditional": ("task", "mask", "order", "figure"),
    "--task hops": ("task", "depth", "mask"),
    "a single depth": ("task", "depth", "mask", "order", "queries", "figure"),
    "several depths": ("task", "depth", "mask", "order", "figure"),
    "--count": ("count", "depth", "order"),
    "so great a depth": ("task", "depth", "mask", "order", "figure"),
}
"""The options that mean something for what is asked."""


def theory(
    run: Positional[Path | None] = None,
    depth: str | None = None,
    mask: Literal["causal", "none"] | None = None,
    order: str | None = None,
    task: Literal["retrieval", "conditional", "hops"] | None = None,
    facts: tuple[str, ...] | None = None,
    query: str | None = None,
    goal: str | None = None,
    queries: int | None = None,
    count: Flag = False,
    figure: Path | None = None,
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
        figure: where to draw it, .svg or .png.
    """
    from headway import terminal
    from headway.words import values_of

    options = {"depth": depth, "mask": mask, "order": order, "task": task, "facts": facts}
    options |= {"query": query, "goal": goal, "queries": queries, "figure": figure}
    options |= {"count": count or None}
    given = [name for name, value in options.items() if value is not None]
    causal, order = mask != "none", "deep-first" if order is None else order
    depths = values_of("depth", depth or ("1..8" if count else "1..64"), int)
    if figure is not None:
        terminal.require_file(figure, (".svg", ".png"))
    if run is not None:
        require_goes_with("a run", given)
        terminal.print_run(opened(run), figure)
    elif count:
        require_goes_with("--count", given)
        terminal.print_counts(depths, pairs_of(order))
    elif facts is not None:
        require_goes_with("--facts", given)
        _of_facts(facts, query, goal, causal, figure)
    elif task == "conditional":
        _of_conditional(causal, order, figure, given)
    elif task == "hops":
        require_goes_with("--task hops", given)
        terminal.print_hops(depths, causal)
    else:
        _of_retrieval(depths, causal, order, queries, figure, given)


def _of_retrieval(
    depths: Sequence[int],
    causal: bool,
    order: str,
    queries: int | None,
    figure: Path | None,
    given: Sequence[str],
) -> None:
    """Prints the retrieval problem: the flow of one small depth, else bounds depth by depth."""
    from headway import terminal
    from headway.theory import retrieval_flow

    if len(depths) > 1 or depths[0] > terminal.TOLD:
        require_goes_with("several depths" if len(depths) > 1 else "so great a depth", given)
        terminal.print_bounds(depths, causal, named_order(order), figure)
        return
    require_goes_with("a single depth", given)
    asked = 1 if queries is None else queries
    require(1 <= asked <= terminal.TOLD, "queries", asked, f"from 1 to {terminal.TOLD}")
    flow = retrieval_flow(depths[0], pairs_of(order), asked)
    terminal.print_flow(flow, causal, f"retrieval, D = {depths[0]}", figure)


def _of_facts(
    facts: Sequence[str], query: str | None, goal: str | None, causal: bool, figure: Path | None
) -> None:
    """Prints a task that is given fact by fact."""
    from headway import terminal
    from headway.theory import facts_flow

    said = re.findall(r"[^\s,]+", " ".join(facts))
    asked, answer = "a" if query is None else query, "z" if goal is None else goal
    flow = facts_flow(said, asked, answer, singled=True)
    terminal.print_flow(flow, causal, f"{' '.join(said)}, {asked}?", figure)


def _of_conditional(causal: bool, order: str, figure: Path | None, given: Sequence[str]) -> None:
    """Prints the conditional problem."""
    from headway import terminal
    from headway.theory import conditional_flow

    require_goes_with("--task conditional", given)
    flow = conditional_flow(named_order(order), singled=True)
    terminal.print_flow(flow, causal, "conditional retrieval", figure)


def pairs_of(order: str) -> PairOrder:
    """An order of the pairs, by its name or by their numbers.

    Raises:
        HeadwayError: if it is none.
    """
    from headway.words import values_of

    return values_of("order", order, int) if "," in order else named_order(order)


def named_order(text: str) -> Order:
    """An order of the pairs by its name.

    Raises:
        HeadwayError: if there is none of that name.
    """
    require(text in get_args(Order), "order", text, " or ".join(get_args(Order)))
    return cast(Order, text)


def require_goes_with(asked: str, given: Sequence[str]) -> None:
    """Makes sure that no option is given that would change nothing.

    Raises:
        HeadwayError: if one is.
    """
    for name in given:
        if name not in GOES_WITH[asked]:
            told = ", ".join(f"--{option}" for option in GOES_WITH[asked])
            raise HeadwayError(f"--{name} does not go with {asked}: the options are {told}")
