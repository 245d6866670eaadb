"""The theory on the terminal: bounds, and holdings after every layer."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from headway import text
from headway.console import console
from headway.errors import HeadwayError
from headway.terminal.base import columns
from headway.text import ranges
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

if TYPE_CHECKING:
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
        return (
            closed_form(depth, causal),
            closed_form(depth, not causal),
            theorem_1_bound(depth),
        )

    rows = list[tuple[object, ...]]()
    for ends in spans(depths, known):
        simulated = list[str]()
        for depth in ends:
            least = (
                minimum_layers(depth, causal=causal, order=order)
                if depth <= DEEP
                else "–"
            )
            simulated.append(str(least))
        stretch = " … ".join(map(str, ends))
        least_layers = " and ".join(dict.fromkeys(simulated))
        rows.append((stretch, least_layers, *known(ends[0])))
    title = f"Least layers for D retrieval steps, {MASKS[causal]}, {order}"
    heads = ("D", "simulated", FORMULAS[causal], MASKS[not causal], "theorem 1")
    print_table(
        title,
        heads,
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
    for depth in depths:
        count = count_circuits(depth, order)
        circuits = count.circuits
        number = f"{circuits:,}"
        if circuits >= 10**15:
            number = f"{circuits:.3e}"
        rows.append((depth, count.layers, count.paths, number))
    said = order
    if not isinstance(order, str):
        said = f"pairs {', '.join(map(str, order))}"
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
    """Print the symbols of roles after every layer, and a smallest circuit.

    Args:
        flow: the problem.
        causal: whether a position sees only itself and what stands before it.
        title: what to call it.

    Raises:
        HeadwayError: if no number of layers can answer.
    """
    minimal = witness(flow, causal)
    # A transformer can be built from such a circuit.
    careful = replace(flow, codes_first=True)
    if careful.minimum_layers(causal) == minimal.layers:
        minimal = replace(witness(careful, causal), least=minimal.least)
    stages = flow.holdings(minimal.layers, causal)
    bound = f"at least {minimal.layers} layers"
    print_account(flow, stages, f"{title}, {MASKS[causal]}: {bound}")
    out = console()
    if flow.singled:
        alone = replace(flow, singled=()).minimum_layers(causal)
        out.print(
            "A row counts as found once all its symbols but the last are shared "
            "with it. Were one"
            f" enough, as the two assumptions have it, the least would be {alone} "
            "layers."
        )
    paths = len(minimal.paths)
    size = f"{minimal.layers} layers, {minimal.heads} heads, {paths} paths"
    out.print(f"\nA circuit with {size}", style="bold")
    for path in minimal.paths:
        out.print(f"  {path}")
    if minimal.flow.codes_first:
        out.print("Layer 0 finds by position codes, the later layers by symbols.")
    if minimal.fewest:
        out.print("No circuit has fewer paths, in any number of layers.")
    elif minimal.least:
        out.print(f"Every circuit has at least {minimal.least} paths.")


def print_run(run: "Run") -> None:
    """Print the holdings of a run's positions after each layer of its circuit.

    Args:
        run: in whose folder a circuit was left.

    Raises:
        HeadwayError: if no circuit was found yet.
    """
    from headway.judge import saved_discovery

    circuit = saved_discovery(run).circuit
    flow = run.config.task.flow()
    model = run.config.model
    if flow is None:
        raise HeadwayError(
            f"{run.folder}: how information flows in its task is not known"
        )
    along = flow.along(circuit.paths, model.causal, model.n_layers)
    print_account(
        flow, along.stages, f"{run.folder.name}: who holds what, along the circuit"
    )
    out = console()
    least = flow.minimum_layers(model.causal)
    used = len(circuit.useful_layers)
    minimum = "no number is enough" if least is None else f"{least} are the least"
    mask = MASKS[model.causal]
    out.print(f"{used} layers have a useful head; {minimum}, {mask}.")
    if flow.goal not in along.stages[-1][flow.query]:
        out.print(f"By these paths alone, {flow.goal} does not come to the query.")
    if along.broken:
        out.print(
            "The circuit breaks the flow: these paths look where nothing is shared "
            "with them"
        )
        for path in along.broken:
            out.print(f"  {path}")
        out.print(
            "Either the circuit lacks a path (one that costs little when cut), or "
            "the head finds"
            " its key by something else, such as its position: then assumption 1 "
            "is violated."
        )
    else:
        out.print(
            "Every path finds its key by a piece that the circuit brought to both ends."
        )
    if is_minimal_circuit(flow, circuit.paths, model.causal):
        out.print(
            "The circuit is minimal: without any one of its paths the flow would break."
        )


def print_account(flow: Flow, stages: Sequence[Holdings], title: str) -> None:
    """Print the symbols that roles hold before the first layer and after each."""
    heads = ["layers", *flow.roles]
    rows = list[list[str]]()
    for layers, held in enumerate(stages):
        said = map(held_said, map(held.__getitem__, flow.roles))
        rows.append([str(layers), *said])
    out = console()
    out.print(title, style="bold")
    lines = text.aligned([heads, *rows], ">" * len(heads))
    is_cut = len(lines[0]) > text.width()
    if is_cut:
        heads = [heads[0], heads[-1]]
        rows = [[row[0], row[-1]] for row in rows]
    out.print(columns((), heads, rows))
    if is_cut:
        out.print("the query alone, as the others would not fit here", style="dim")
    if any("–" in cell for row in rows for cell in row):
        out.print(
            "0–2: the symbols x_0 to x_2; position codes are left out", style="dim"
        )


def held_said(pieces: frozenset[str]) -> str:
    """The symbols among some pieces: `0–3` for x_0 to x_3, letters as they are."""
    symbols = sorted(piece for piece in pieces if not is_code(piece))
    if all(symbol.startswith("x_") for symbol in symbols):
        numbers = [int(symbol[2:]) for symbol in symbols]
        return ",".join(ranges(numbers))
    are_letters = all(len(symbol) == 1 for symbol in symbols)
    return ("" if are_letters else " ").join(symbols)


def spans(
    numbers: Iterable[int], kind: Callable[[int], object]
) -> Iterator[tuple[int, ...]]:
    """First and last of each stretch of alike neighbours; of a single one, it."""
    numbered = enumerate(sorted(set(numbers)))
    for _, stretch in groupby(
        numbered, lambda pair: (pair[1] - pair[0], kind(pair[1]))
    ):
        first, *more = (number for _, number in stretch)
        yield (first, *more[-1:])
