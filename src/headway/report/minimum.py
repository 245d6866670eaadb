"""The number of layers that would have been enough."""

from headway.circuits.flows import Least
from headway.report.circuit import symbols
from headway.report.findings import Findings
from headway.report.schema import Section, Table
from headway.theory import Flow, chain_depth, closed_form, fewest_paths, theorem_1_bound


def minimum(findings: Findings) -> Section:
    """The flow minimum, and what the query can hold layer by layer, at best and by the circuit."""
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
    return Section("Minimum", [_sentence(findings, flow)], [table])


def _sentence(findings: Findings, flow: Flow) -> str:
    causal, depth, least = findings.causal, chain_depth(flow), findings.least.layers
    if least is None:
        return "The answer never reaches the query, so no number of layers is enough."
    if depth is None:
        return f"Information needs at least {least} layers to reach the query, by simulation."
    formula, times, other = (
        ("⌊log₂ D⌋ + 2 under the causal mask", "doubles", "without a mask")
        if causal
        else ("⌈log₃(4D + 1)⌉ without a mask", "triples", "with the causal mask")
    )
    return (
        f"In closed form the minimum is {formula}: what the query can reach {times} with every"
        f" layer. For D = {depth} that is {closed_form(depth, causal)}; {other} it is"
        f" {Least.of(findings.task, not causal).cell}. The lower bound of Musat (2024), theorem 1,"
        f" is {theorem_1_bound(depth)}; no circuit has fewer than {fewest_paths(depth)} paths."
    )
