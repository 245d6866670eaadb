"""How many layers would have been enough."""

from collections.abc import Iterator
from itertools import count

from headway.circuits.flows import Least
from headway.report.circuit import symbols
from headway.report.findings import Findings
from headway.report.labels import typeset
from headway.report.schema import Section, Table
from headway.text import command, counted, enumerated
from headway.theory import (
    Flow,
    Holdings,
    chain_depth,
    closed_form,
    fewest_paths,
    theorem_1_bound,
)

MASKS = {True: "with the causal mask", False: "without a mask"}


def minimum(findings: Findings) -> Section:
    """The flow minimum, what the circuit uses, and what the query can hold layer by layer."""
    flow, along = findings.task.flow(), findings.along
    if flow is None:
        why = "the task does not say how information must flow to its answers."
        return Section("Minimum", [f"The flow minimum of this task is not known: {why}"])
    sentences = list(_sentences(findings, flow))
    if along is not None and along.broken:
        sentences.append(
            f"The circuit breaks the flow at {enumerated(typeset(str(p)) for p in along.broken)}:"
            " it has brought nothing that both positions hold. Either the circuit lacks a path, one"
            " that costs little when it is cut, or the head finds its key by something else, such"
            " as its position; then assumption 1 is violated there."
        )
    best = flow.holdings(findings.run.config.model.n_layers, findings.causal)
    rows = [
        [layers, *(_query(findings, flow, held) for held in stages)]
        for layers, *stages in zip(count(), best, *([] if along is None else [along.stages]))
    ]
    head = ["layers", "symbols at the query, at best"]
    head += [] if along is None else ["along the circuit"]
    return Section("Minimum", sentences, [Table("", head, rows)])


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
            f" {closed_form(depth, causal)}; {MASKS[not causal]} it is"
            f" {Least.of(findings.task, not causal).cell}. The lower bound of Musat (2024), theorem"
            f" 1, is {theorem_1_bound(depth)}; no circuit has fewer than {fewest_paths(depth)}"
            " paths."
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


def _query(findings: Findings, flow: Flow, held: Holdings) -> str:
    """The symbols at the query."""
    return ", ".join(symbols(findings.task, held, flow.query))
