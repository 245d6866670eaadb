"""How many layers would have done."""

from collections.abc import Sequence

from headway.circuits.least import Least
from headway.report.findings import Findings
from headway.report.page.html import command, listed, named, place_of, section, table, tag
from headway.theory import (
    Flow,
    Holdings,
    chain_depth,
    closed_form,
    fewest_paths,
    is_code,
    theorem_1_bound,
)


def minimum(findings: Findings) -> str:
    """How many layers would have done."""
    flow = findings.task.flow()
    rows = [*_used(findings), *(() if flow is None else _needed(findings, flow))]
    rows.append(("layers of the model", str(findings.run.config.model.n_layers)))
    html = table(("quantity", "number"), rows, "layers used and layers needed")
    if flow is None:
        html += tag(
            "p",
            "The flow minimum of this task is not known: how information must flow to its answers"
            " has not been told.",
        )
        return section("minimum", "How close to the minimum", html)
    html += f"<p>{_formula(findings, flow)} {_comparison(findings)}</p>"
    html += "<h3>What the query holds</h3>" + _holdings(findings, flow)
    html += (
        '<p class="under">In the theory every position starts with its symbol and the code of its'
        " pair; in one layer it may attend only to positions that share a piece with it, and takes"
        " over all that they hold. Under these two assumptions no transformer does with fewer"
        " layers. Training need not find so short a way, and a single layer may hold several"
        " useful heads.</p>"
    )
    return section("minimum", "How close to the minimum", html)


def _used(findings: Findings) -> list[tuple[str, str]]:
    """What the circuit takes."""
    if findings.discovery is None:
        return []
    circuit = findings.discovery.circuit
    return [
        ("layers with a useful head, in the circuit", f"<b>{len(circuit.useful_layers)}</b>"),
        ("useful heads, in the circuit", str(len(circuit.useful_heads))),
        ("attention paths, in the circuit", str(len(circuit.paths))),
    ]


def _needed(findings: Findings, flow: Flow) -> list[tuple[str, str]]:
    """What the theory says that it takes."""
    least, other = findings.least, Least.of(findings.task, not findings.causal)
    masks = ("with the causal mask", "without a mask")
    rows = [
        (
            f"flow minimum of layers, {masks[not findings.causal]} (this run)",
            f"<b>{least.cell}</b>",
        ),
        (f"flow minimum of layers, {masks[findings.causal]}", other.cell),
    ]
    depth = chain_depth(flow)
    if depth is not None:
        bound = str(theorem_1_bound(depth))
        rows.append(("lower bound of Musat (2024), theorem 1", bound))
        rows.append(("fewest attention paths that any circuit can have", str(fewest_paths(depth))))
    return rows


def _formula(findings: Findings, flow: Flow) -> str:
    if findings.least.layers is None:
        return "What is asked for never reaches the query, so no number of layers can answer."
    depth = chain_depth(flow)
    if depth is None:
        return "The minimum comes from simulating the flow of information; it has no formula here."
    if findings.causal:
        return (
            "In closed form the minimum is ⌊log₂ D⌋ + 2 under the causal mask: what the query can"
            f" reach doubles with every layer. For D = {depth} that is"
            f" {closed_form(depth, causal=True)}."
        )
    return (
        "In closed form the minimum is ⌈log₃(4D + 1)⌉ without a mask: what the query can reach"
        f" triples with every layer. For D = {depth} that is {closed_form(depth, causal=False)}."
    )


def _comparison(findings: Findings) -> str:
    if findings.discovery is None:
        return f"{command(findings.run.folder, 'circuit')} tells how many the model uses."
    used, least = len(findings.discovery.circuit.useful_layers), findings.least.layers
    if not findings.discovery.faithful:
        return "The circuit does not reproduce the model, so its count says little."
    if least is None:
        return "So the model does something else than the theory assumes."
    if used == least:
        return "The circuit needs no more than that."
    if used > least:
        spare = used - least
        return f"The circuit uses {spare} {'layer' if spare == 1 else 'layers'} more than that."
    return (
        "The circuit has fewer. That is no contradiction: a path that is put in place by hand"
        " needs no other head to find it, as it did in the model."
    )


def _holdings(findings: Findings, flow: Flow) -> str:
    """The symbols at the query after every layer, at best and along the circuit."""
    discovery = findings.discovery
    best = flow.holdings(findings.run.config.model.n_layers, findings.causal)
    paths = [] if discovery is None else discovery.circuit.paths
    if discovery is None or not all(set(p.relation.ends or [""]) <= {*flow.roles} for p in paths):
        return _holdings_table(flow, ("at best",), [best])
    along = flow.along(paths, findings.causal, len(best) - 1)
    html = _holdings_table(flow, ("at best", "along the circuit"), [best, along.stages])
    several = len({head for _, head in discovery.circuit.mechanisms}) > 1
    if along.broken:
        where = listed([place_of(path, several) for path in along.broken], "and")
        html += (
            f"<p>The circuit breaks the flow at {where}: it has brought nothing that both positions"
            " hold. Either the circuit lacks a path, one that costs little when it is cut, or the"
            " head finds its key by something else, such as its position; then assumption 1 is"
            " violated there.</p>"
        )
    return html


def _holdings_table(flow: Flow, titles: Sequence[str], stages: Sequence[list[Holdings]]) -> str:
    def said(held: Holdings) -> str:
        symbols = (piece for piece in held[flow.query] if not is_code(piece))
        return ", ".join(named(s) for s in sorted(symbols, key=lambda piece: (len(piece), piece)))

    rows = [(str(done), *map(said, row)) for done, row in enumerate(zip(*stages, strict=True))]
    heads = ("after layers", *(f"symbols at the query, {title}" for title in titles))
    return table(heads, rows, "what the query holds")
