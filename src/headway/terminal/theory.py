"""The theory on the terminal: bounds as a table, and who holds what after every layer."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from headway import text
from headway.circuits import saved_discovery
from headway.errors import HeadwayError, require
from headway.terminal.base import columns, console, print_table
from headway.theory import (
    Flow,
    Holdings,
    Order,
    PairOrder,
    Witness,
    closed_form,
    count_circuits,
    hop_flow,
    is_code,
    is_minimal_circuit,
    minimum_layers,
    theorem_1_bound,
    witness,
)
from headway.training import Run

TOLD = 64
"""The greatest depth whose positions are printed one by one, and the most hops simulated."""
MASKS = {True: "causal mask", False: "no mask"}
DEEP = 20_000
"""The greatest depth that is simulated for a table, which takes some seconds."""
GAP = 4
EXACT = 10**15
"""The number of circuits from which on only the first digits are shown."""
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

    def formulas(depth: int) -> tuple[int, int, int]:
        return closed_form(depth, causal), closed_form(depth, not causal), theorem_1_bound(depth)

    def simulated(depth: int) -> str:
        least = minimum_layers(depth, causal=causal, order=order) if depth <= DEEP else "–"
        return str(least)

    rows, ranked = [], sorted(set(depths))
    for (_, known), group in groupby(enumerate(ranked), lambda d: (d[1] - d[0], formulas(d[1]))):
        members = [depth for _, depth in group]
        ends = dict.fromkeys((members[0], members[-1]))
        found = dict.fromkeys(map(simulated, ends))
        rows.append((" … ".join(map(str, ends)), " and ".join(found), *known))
    title = f"Least layers for D retrieval steps, {MASKS[causal]}, {order}"
    heads = ("D", "simulated", FORMULAS[causal], MASKS[not causal], "theorem 1")
    print_table(title, (), heads, rows)
    print("simulated: the first and the last depth of every line, unless too deep")
    print("theorem 1: the paper's bound, ⌈log₃ 2D⌉; 2D attention paths always do")


def print_hops(hops: Sequence[int], causal: bool) -> None:
    """Print the least layers of k-hop by simulation, beside a chain of D = k pairs.

    Raises:
        HeadwayError: if a number of hops is below 1.
    """
    for k in hops:
        require(1 <= k <= TOLD, "depth", k, f"from 1 to {TOLD} hops")
    title = f"Least layers for k hops in a running text, {MASKS[causal]}"
    heads = ("k", "simulated", f"retrieval, D = k: {FORMULAS[causal]}")
    least = ((k, hop_flow(k, GAP).minimum_layers(causal), closed_form(k, causal)) for k in hops)
    print_table(title, (), heads, least)
    print(f"simulated with {GAP} other tokens between two links; closer links are easier")


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
        number = f"{c.circuits:,}" if c.circuits < EXACT else f"{c.circuits:.3e}"
        rows.append((c.depth, c.layers, c.paths, number))
    said = order if isinstance(order, str) else "pairs " + ", ".join(map(str, order))
    title = f"Minimal circuits for D retrieval steps, causal mask, {said}"
    print_table(title, (), ("D", "layers", "paths of each", "circuits"), rows)
    print("layers: the fewest that are enough; a circuit is a set of paths")
    print("minimal: no path can be left out; each has just 2D paths, so none is smaller")


def print_flow(flow: Flow, causal: bool, title: str) -> None:
    """Print the symbols that roles hold after every layer, and a circuit with as few layers.

    Args:
        flow: the problem.
        causal: whether a position sees only itself and what stands before it.
        title: what to call it.

    Raises:
        HeadwayError: if no number of layers can answer.
    """
    found, out = best_witness(flow, causal), console()
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


def best_witness(flow: Flow, causal: bool) -> Witness:
    """A circuit with the fewest layers; one that a transformer can be built from if there is."""
    plain = witness(flow, causal)
    careful = replace(flow, codes_first=True)
    if careful.minimum_layers(causal) != plain.layers:
        return plain
    return replace(witness(careful, causal), least=plain.least)


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
    out = console()
    out.print(title, style="bold")
    roles = list(flow.roles)
    cells = [[held_said(flow, stage[role]) for role in roles] for stage in stages]
    widths = [max(map(len, column)) for column in zip(roles, *cells, strict=True)]
    if 7 + sum(2 + one for one in widths) > text.width():
        roles, cells = roles[-1:], [row[-1:] for row in cells]
    table = columns((), ("layers", *roles), wrap=False)
    for done, row in enumerate(cells):
        table.add_row(str(done), *row)
    out.print(table)
    if len(roles) < len(flow.roles):
        out.print("the query alone, as the others would not fit here", style="dim")
    if any("–" in cell for row in cells for cell in row):
        out.print("0–2: the symbols x_0 to x_2; position codes are left out", style="dim")


def held_said(flow: Flow, pieces: frozenset[str]) -> str:
    """The symbols among some pieces: `0–3` for x_0 to x_3, letters as they are."""
    symbols = sorted(piece for piece in pieces if not is_code(piece))
    numbers = sorted(int(s[2:]) for s in symbols if s.startswith("x_"))
    if len(numbers) < len(symbols):
        return ("" if all(len(symbol) == 1 for symbol in symbols) else " ").join(symbols)
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(str(r[0]) if len(r) == 1 else f"{r[0]}–{r[-1]}" for r in runs)
