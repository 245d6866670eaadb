"""The number of layers that would have been enough."""

from collections.abc import Iterator

from headway.circuits.flows import Least
from headway.report.circuit import symbols
from headway.report.findings import Findings
from headway.report.labels import typeset
from headway.report.schema import Section, Table
from headway.text import enumerated
from headway.theory import Flow, chain_depth, closed_form, fewest_paths, theorem_1_bound

MASKS = {True: "with the causal mask", False: "without a mask"}


def minimum(findings: Findings) -> Section:
    """The flow minimum, what the circuit uses, and what the query can hold layer by layer."""
    flow = findings.task.flow()
    if flow is None:
        why = "the task does not say how information must flow to its answers."
        return Section("Minimum", [f"The flow minimum of this task is not known: {why}"])
    ways = {"at best": flow.holdings(findings.run.config.model.n_layers, findings.causal)}
    ways |= {} if findings.along is None else {"along the circuit": findings.along.stages}
    rows = [
        [layers, *(", ".join(symbols(findings.task, held, flow.query)) for held in stages)]
        for layers, stages in enumerate(zip(*ways.values(), strict=False))
    ]
    table = Table("symbols at the query", ["layers", *ways], rows)
    return Section("Minimum", list(_sentences(findings, flow)), [table])


def _sentences(findings: Findings, flow: Flow) -> Iterator[str]:
    causal, depth, least = findings.causal, chain_depth(flow), findings.least.layers
    if least is None:
        yield "The answer never reaches the query, so no number of layers is enough."
    elif depth is None:
        yield f"Information needs at least {least} layers to reach the query, by simulation."
    else:
        formula, times = (
            ("⌊log₂ D⌋ + 2 under the causal mask", "doubles")
            if causal
            else ("⌈log₃(4D + 1)⌉ without a mask", "triples")
        )
        yield (
            f"In closed form the minimum is {formula}: what the query can reach {times} with every"
            f" layer. For D = {depth} that is {closed_form(depth, causal)}; {MASKS[not causal]} it"
            f" is {Least.of(findings.task, not causal).cell}. The lower bound of Musat (2024),"
            f" theorem 1, is {theorem_1_bound(depth)}; no circuit has fewer than"
            f" {fewest_paths(depth)} paths."
        )
    found = findings.discovery
    if found is not None and found.faithful and least is not None:
        used = len(found.circuit.useful_layers)
        yield f"The circuit uses {used}."
        if used < least:
            yield (
                "That is no contradiction: a path that is put in place by hand needs no other head"
                " to find its key, as it did in the model."
            )
    if findings.along is not None and findings.along.broken:
        yield (
            "The circuit breaks the flow at"
            f" {enumerated(typeset(str(path)) for path in findings.along.broken)}: it has brought"
            " nothing that both positions hold. Either the circuit lacks a path, one that costs"
            " little when it is cut, or the head finds its key by something else, such as its"
            " position; then assumption 1 is violated there."
        )
