"""Verbs that ask how few layers could do, and what trained models need."""

from pathlib import Path
from typing import Literal

from tyro.conf import Positional

from headway.arguments import Words, flattened
from headway.errors import HeadwayError


def theory(
    run: Positional[Path | None] = None,
    depth: str = "1..64",
    mask: Literal["causal", "none"] = "causal",
    order: Literal["deep-first", "shallow-first"] = "deep-first",
    task: Literal["retrieval", "conditional", "hops"] = "retrieval",
    facts: tuple[str, ...] = (),
    query: str = "a",
    goal: str = "z",
    queries: int = 1,
    figure: Path | None = None,
) -> None:
    """How few layers could do: exact bounds, who holds what, and a circuit that does with as few.

    Of a run: what its positions hold after every layer, along the circuit that was found.

    Args:
        run: the run's folder, in which a circuit has been found.
        depth: D, retrieval steps, or k: a number, a range or a list: 3, 1..64, 10,100.
        mask: whether a position sees only what stands before it.
        order: of the pairs in the sequence.
        task: the retrieval problem, the conditional one, or k-hop.
        facts: a task of your own, a letter a symbol, such as: xyz ay ax. Rows of three and more
            must be singled out by all symbols but the last.
        query: the symbol that is asked about, if there are facts.
        goal: the symbol that is the answer.
        queries: positions at the end that hold what is asked about: room to think in.
        figure: where to draw it, .svg or .png.
    """
    from headway import terminal
    from headway.sweeps.fields import values_of
    from headway.theory import conditional_flow, facts_flow, retrieval_flow
    from headway.training import Run

    causal, depths = mask == "causal", values_of("depth", depth, int)
    if figure is not None:
        terminal.require_file(figure, (".svg", ".png"))
    if run is not None:
        return terminal.print_run(Run.open(run), figure)
    if facts:
        flow, title = facts_flow(facts, query, goal, singled=True), f"{' '.join(facts)}, {query}"
    elif task == "conditional":
        flow, title = conditional_flow(order, singled=True), "conditional retrieval"
    elif task == "hops":
        return terminal.print_hops(depths, causal)
    elif len(depths) > 1 or depths[0] > terminal.DEEPEST:
        return terminal.print_bounds(depths, causal, order, figure)
    else:
        flow, title = retrieval_flow(depths[0], order, queries), f"retrieval, D = {depths[0]}"
    terminal.print_flow(flow, causal, title, figure)


def depths(
    grid: Words = (),
    folder: Path = Path("runs/depths"),
    workers: int | None = None,
    figure: Path | None = None,
    file: Path | None = None,
) -> None:
    """Train models of every depth with every number of layers, beside what the theory allows.

    Some minutes to an hour. What is done is kept: the command goes on where it was.

    Args:
        grid: depth=1..5 layers=1..6 seed=0..2 unless others are given; any field may vary.
        folder: of the sweep.
        workers: runs side by side; none means as many as there are cores for.
        figure: where to draw it beside the theory's curves, .svg or .png.
        file: where to write all cells, as JSON.
    """
    from headway import sweeps, terminal
    from headway.papers import depths as study
    from headway.sweeps.plan import axes_of

    for path, endings in ((figure, (".svg", ".png")), (file, (".json",))):
        if path is not None:
            terminal.require_file(path, endings)
    planned = study.plan(axes_of(flattened(grid)))
    with terminal.following() as watch:
        board = sweeps.sweep(planned, folder, sweeps.LocalEngine(workers), watch=watch)
    cells = study.results(planned, folder)
    terminal.print_depths(cells)
    if figure is not None:
        terminal.draw_depths(cells, figure)
    if file is not None:
        study.write(cells, file)
    if board.count("failed"):
        raise HeadwayError(f"{board.count('failed')} runs failed: headway runs {folder}")
