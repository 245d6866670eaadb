"""The theory on the terminal: bounds as a table, and who holds what after every layer."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby

from headway import text
from headway.errors import HeadwayError
from headway.judge import saved_discovery
from headway.relations.shares import ranges
from headway.terminal.base import columns, console
from headway.theory import (
    Flow,
    Holdings,
    Order,
    PairOrder,
    closed_form,
    count_circuits,
    is_code,
    is_minimal_circuit,
    minimum_layers,
    theorem_1_bound,
    witness,
)
from headway.training import Run

TOLD = 64
"""The greatest depth whose positions are printed one by one."""
MASKS = {True: "causal mask", False: "no mask"}
DEEP = 20_000
"""The greatest depth that is simulated for a table, which takes some seconds."""
FORMULAS = {True: "⌊log₂ D⌋ + 2", False: "⌈log₃(4D + 1)⌉"}


def print_bounds(depths: Sequence[int], causal: bool, order: Order) -> None:
    """Print the least layers for every depth, by simulation and beside the formulas.

    Neighbouring depths with the same bounds share a line.

    Args:
        depths: D, retrieval steps.
        causal: whether a position sees only itself and what stands before it.
        order: of the pairs.

    Raises:
        HeadwayError: if a depth is below 1.
    """

    def known(depth: int) -> tuple[int, int, int]:
        return closed_form(depth, causal), closed_form(depth, not causal), theorem_1_bound(depth)

    simulated = partial(minimum_layers, causal=causal, order=order)
    rows = []
    for ends in spans(depths, known):
        found = dict.fromkeys(str(simulated(depth)) if depth <= DEEP else "–" for depth in ends)
        rows.append((" … ".join(map(str, ends)), " and ".join(found), *known(ends[0])))
    print_table(
        f"Least layers for D retrieval steps, {MASKS[causal]}, {order}",
        ("D", "simulated", FORMULAS[causal], MASKS[not causal], "theorem 1"),
        rows,
        "simulated: the first and the last depth of every line, unless too deep",
        "theorem 1: the paper's bound, ⌈log₃ 2D⌉; 2D attention paths always do",
    )


def print_counts(depths: Sequence[int], order: PairOrder) -> None:
    """Print the number of minimal circuits with the fewest layers, for every depth.

    Args:
        depths: D, retrieval steps.
        order: of the pairs.

    Raises:
        HeadwayError: if a depth cannot be counted, or the order does not fit it.
    """
    rows = []
    for c in [count_circuits(depth, order) for depth in depths]:
        number = f"{c.circuits:,}" if c.circuits < 10**15 else f"{c.circuits:.3e}"
        rows.append((c.depth, c.layers, c.paths, number))
    said = order if isinstance(order, str) else "pairs " + ", ".join(map(str, order))
    print_table(
        f"Minimal circuits for D retrieval steps, causal mask, {said}",
        ("D", "layers", "paths of each", "circuits"),
        rows,
        "layers: the fewest that are enough; a circuit is a set of paths",
        "minimal: no path can be left out; each has just 2D paths, so none is smaller",
    )


def print_table(
    title: str, heads: Sequence[str], rows: Iterable[Sequence[object]], *remarks: str
) -> None:
    """Print numbers in columns, their title above and remarks below."""
    out = console()
    out.print(title, style="bold")
    out.print(columns((), heads, rows, wrap=True))
    out.print("\n".join(remarks))


def print_flow(flow: Flow, causal: bool, title: str) -> None:
    """Print the symbols that roles hold after every layer, and a circuit with as few layers.

    Args:
        flow: the problem.
        causal: whether a position sees only itself and what stands before it.
        title: what to call it.

    Raises:
        HeadwayError: if no number of layers can answer.
    """
    found, out = witness(flow, causal), console()
    careful = replace(flow, codes_first=True)  # a transformer can be built from such a circuit
    if careful.minimum_layers(causal) == found.layers:
        found = replace(witness(careful, causal), least=found.least)
    stages = flow.holdings(found.layers, causal)
    print_account(flow, stages, f"{title}, {MASKS[causal]}: at least {found.layers} layers")
    if flow.singled:
        alone = replace(flow, singled=()).minimum_layers(causal)
        out.print(
            "A row counts as found once all its symbols but the last are shared with it. Were one"
            f" enough, as the two assumptions have it, the least would be {alone} layers."
        )
    size = f"{found.layers} layers, {found.heads} heads, {len(found.paths)} paths"
    out.print(f"\nA circuit with {size}", style="bold")
    out.print("\n".join(f"  {path}" for path in found.paths))
    if found.flow.codes_first:
        out.print("Layer 0 finds by position codes, the later layers by symbols.")
    if found.fewest:
        out.print("No circuit has fewer paths, in any number of layers.")
    elif found.least:
        out.print(f"Every circuit has at least {found.least} paths.")


def print_run(run: Run) -> None:
    """Print the holdings of a run's positions after each layer, by the circuit that was found.

    Args:
        run: in whose folder a circuit was left.

    Raises:
        HeadwayError: if no circuit was found yet.
    """
    found = saved_discovery(run)
    flow, causal, paths = run.config.task.flow(), run.config.model.causal, found.circuit.paths
    if flow is None:
        raise HeadwayError(f"{run.folder}: how information flows in its task is not known")
    along, out = flow.along(paths, causal, run.config.model.n_layers), console()
    print_account(flow, along.stages, f"{run.folder.name}: who holds what, along the circuit")
    least, used = flow.minimum_layers(causal), len(found.circuit.useful_layers)
    said = "no number is enough" if least is None else f"{least} are the least"
    out.print(f"{used} layers have a useful head; {said}, {MASKS[causal]}.")
    if flow.goal not in along.stages[-1][flow.query]:
        out.print(f"By these paths alone, {flow.goal} does not come to the query.")
    if along.broken:
        out.print("The circuit breaks the flow: these paths look where nothing is shared with them")
        out.print("\n".join(f"  {path}" for path in along.broken))
        out.print(
            "Either the circuit lacks a path (one that costs little when cut), or the head finds"
            " its key by something else, such as its position: then assumption 1 is violated."
        )
    else:
        out.print("Every path finds its key by a piece that the circuit brought to both ends.")
    if is_minimal_circuit(flow, paths, causal):
        out.print("The circuit is minimal: without any one of its paths the flow would break.")


def print_account(flow: Flow, stages: Sequence[Holdings], title: str) -> None:
    """Print the symbols that roles hold before the first layer and after each."""
    out, heads = console(), ("layers", *flow.roles)
    out.print(title, style="bold")
    rows = [(str(n), *(held_said(one[r]) for r in flow.roles)) for n, one in enumerate(stages)]
    is_cut = len(text.aligned([heads, *rows], ">" * len(heads))[0]) > text.width()
    if is_cut:
        heads, rows = (heads[0], heads[-1]), [(row[0], row[-1]) for row in rows]
    out.print(columns((), heads, rows))
    if is_cut:
        out.print("the query alone, as the others would not fit here", style="dim")
    if any("–" in cell for row in rows for cell in row):
        out.print("0–2: the symbols x_0 to x_2; position codes are left out", style="dim")


def held_said(pieces: frozenset[str]) -> str:
    """The symbols among some pieces: `0–3` for x_0 to x_3, letters as they are."""
    symbols = sorted(piece for piece in pieces if not is_code(piece))
    if all(symbol.startswith("x_") for symbol in symbols):
        numbers = [int(symbol[2:]) for symbol in symbols]
        return ",".join(ranges(numbers))
    return ("" if all(len(symbol) == 1 for symbol in symbols) else " ").join(symbols)


def spans(numbers: Iterable[int], kind: Callable[[int], object]) -> Iterator[tuple[int, ...]]:
    """First and last of each stretch of neighbours that are of one kind; of a single one, it."""
    ranked = enumerate(sorted(set(numbers)))
    for _, group in groupby(ranked, lambda one: (one[1] - one[0], kind(one[1]))):
        first, *more = (number for _, number in group)
        yield (first, *more[-1:])
