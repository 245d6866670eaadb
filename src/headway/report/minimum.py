"""How many layers would have been enough."""

from collections.abc import Iterator

from headway.circuits.least import Least
from headway.report import schema
from headway.report.findings import Findings
from headway.report.labels import typeset
from headway.report.tables import table
from headway.text import command, counted, enumerated
from headway.theory import (
    Flow,
    Holdings,
    chain_depth,
    closed_form,
    fewest_paths,
    is_code,
    theorem_1_bound,
)

MASKS = {True: "with the causal mask", False: "without a mask"}


def minimum(findings: Findings) -> schema.Minimum:
    """The flow minimum, what the circuit uses, and what the query can hold layer by layer."""
    found, flow = findings.discovery, findings.task.flow()
    used = None if found is None else len(found.circuit.useful_layers)
    if flow is None:
        why = "the task does not say how information must flow to its answers."
        said = f"The flow minimum of this task is not known: {why}"
        return schema.Minimum(None, used, [said], [])
    best = flow.holdings(findings.run.config.model.n_layers, findings.causal)
    along, broken = None, []
    paths = [] if found is None else found.circuit.paths
    if found is not None and all({*(p.relation.ends or [""])} <= {*flow.roles} for p in paths):
        walked = flow.along(paths, findings.causal, len(best) - 1)
        along, broken = walked.stages, list(walked.broken)
    sentences = list(_sentences(findings, flow))
    if broken:
        sentences.append(
            f"The circuit breaks the flow at {enumerated(typeset(str(path)) for path in broken)}:"
            " it has brought nothing that both positions hold. Either the circuit lacks a path, one"
            " that costs little when it is cut, or the head finds its key by something else, such"
            " as its position; then assumption 1 is violated there."
        )
    query = [
        (_symbols(flow, held), None if along is None else _symbols(flow, along[i]))
        for i, held in enumerate(best)
    ]
    return schema.Minimum(findings.least.layers, used, sentences, query)


def minimum_table(findings: Findings) -> schema.Table:
    """The numbers of the theory beside those of the circuit and of the model."""
    found, flow, causal = findings.discovery, findings.task.flow(), findings.causal
    rows: list[list[schema.Cell]] = []
    if found is not None:
        circuit = found.circuit
        rows += [
            ["layers with a useful head, in the circuit", len(circuit.useful_layers)],
            ["useful heads, in the circuit", len(circuit.useful_heads)],
            ["attention paths, in the circuit", len(circuit.paths)],
        ]
    if flow is not None:
        other = Least.of(findings.task, not causal).cell
        rows.append([f"flow minimum of layers, {MASKS[causal]} (this run)", findings.least.cell])
        rows.append([f"flow minimum of layers, {MASKS[not causal]}", other])
        if (depth := chain_depth(flow)) is not None:
            rows.append(["lower bound of Musat (2024), theorem 1", theorem_1_bound(depth)])
            fewest = "fewest attention paths that any circuit can have"
            rows.append([fewest, fewest_paths(depth)])
    rows.append(["layers of the model", findings.run.config.model.n_layers])
    note = (
        "In the theory every position starts with its symbol and the code of its pair; in one layer"
        " it may attend only to positions that share a piece with it, and takes over all that they"
        " hold. Under these two assumptions no transformer can answer with fewer layers. Training"
        " need not find so short a way, and a single layer may hold several useful heads."
    )
    title = "layers used and layers needed"
    return table(title, ["quantity", "number"], rows, note=note if flow else "")


def _sentences(findings: Findings, flow: Flow) -> Iterator[str]:
    causal, depth, found = findings.causal, chain_depth(flow), findings.discovery
    if findings.least.layers is None:
        yield "The answer never reaches the query, so no number of layers is enough."
    elif depth is None:
        yield "The minimum comes from simulating the flow of information; it has no formula here."
    else:
        formula = (
            "⌊log₂ D⌋ + 2 under the causal mask" if causal else "⌈log₃(4D + 1)⌉ without a mask"
        )
        yield (
            f"In closed form the minimum is {formula}: what the query can reach"
            f" {'doubles' if causal else 'triples'} with every layer. For D = {depth} that is"
            f" {closed_form(depth, causal)}."
        )
    if found is None:
        yield f"{command('circuit', findings.run.folder)} tells how many the model uses."
        return
    used, least = len(found.circuit.useful_layers), findings.least.layers
    if not found.faithful:
        yield "The circuit does not reproduce the model, so its count says little."
    elif least is None:
        yield "So the model does not work as the theory assumes."
    elif used == least:
        yield "The circuit needs no more than that."
    elif used > least:
        yield f"The circuit uses {counted(used - least, 'layer')} more than that."
    else:
        yield (
            "The circuit has fewer. That is no contradiction: a path that is put in place by hand"
            " needs no other head to find its key, as it did in the model."
        )


def _symbols(flow: Flow, held: Holdings) -> list[str]:
    """The symbols at the query."""
    symbols = [piece for piece in held[flow.query] if not is_code(piece)]
    return [typeset(piece) for piece in sorted(symbols, key=lambda one: (len(one), one))]
