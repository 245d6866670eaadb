"""The outcome of a run in one sentence, which says no more than its verdicts do."""

import math
from collections.abc import Iterator, Sequence

from headway.judge import Discovery
from headway.judge.verdict import verdicts
from headway.replace import Circuit
from headway.report.findings import Findings
from headway.report.labels import typeset
from headway.text import counted, enumerated, rounded

FAILS = {"nothing spare": "not without spare parts"}
"""Words for a verdict that is no; of all others, `not` and their name."""


def headline(findings: Findings) -> str:
    """The outcome, in one sentence."""
    outcome = findings.outcome
    if outcome and outcome["status"] != "done":
        return f"Training failed: {outcome['message']}"
    if not findings.metrics:
        return "Training has not been evaluated yet."
    loss = rounded(findings.loss or 0.0)
    if outcome is None:
        return f"Training has not ended; the validation loss so far is {loss}."
    model = f"{findings.run.config.model.n_layers}-layer model"
    if not findings.solved:
        return (
            f"This {model} did not solve the task: the validation loss ended at {loss}."
        )
    discovery = findings.discovery
    if discovery is None:
        return f"This {model} solves the task, with a validation loss of {loss}."
    if not discovery.circuit.useful_heads:
        return (
            f"This {model} solves the task without attention paths: nothing is "
            "explained."
        )
    clauses = [
        _carried(discovery, findings.task.judged),
        *_changed(discovery),
        *_failed(discovery),
    ]
    return f"{typeset(findings.task.title)}: {'; '.join(clauses)}."


def _carried(discovery: Discovery, hops: Sequence[str]) -> str:
    """The share of the model's answers that the circuit alone keeps, and that which is
    kept with every head ablated, each of the worst of some hops.
    """
    judgement = discovery.evidence.judgement
    likeness = discovery.evidence.likeness
    share = min(likeness.circuit.agreement_by_hop[hop] for hop in hops)
    without = min(likeness.ablated.agreement_by_hop[hop] for hop in hops)
    if judgement is not None and judgement.enough:
        share = 1 - max(cost.answers for cost in judgement.enough.values())
    parts, are_several = _parts_of(discovery.circuit)
    keep = "keep" if are_several else "keeps"
    return (
        f"{parts} alone {keep} {percent(share)} of the model's answers, against "
        f"{percent(without)} with every head ablated"
    )


def _changed(discovery: Discovery) -> Iterator[str]:
    """The share of answers that every part of a circuit changes, if each of several
    changes some.
    """
    judgement = discovery.evidence.judgement
    holds = {verdict.name: verdict.holds for verdict in verdicts(discovery)}
    if judgement is None or not holds["nothing spare"] or len(judgement.parts) < 2:
        return
    least = min(cost.answers for cost in judgement.parts.values())
    if least > 0:
        yield f"exchanging or cutting any one changes at least {percent(least)} of them"


def _failed(discovery: Discovery) -> Iterator[str]:
    """The verdicts that are no."""
    failed = list[str]()
    for verdict in verdicts(discovery):
        if verdict.holds is False:
            failed.append(FAILS.get(verdict.name, f"not {verdict.name}"))
    if failed:
        yield f"the circuit is {enumerated(failed)}"


def _parts_of(circuit: Circuit) -> tuple[str, bool]:
    """The parts of a circuit, counted: its paths, and its heads that attend by table;
    and whether there are several.
    """
    n_paths = len(circuit.paths)
    n_tabled = len(circuit.tabled_heads)
    paths = counted(n_paths, "attention path")
    tabled = f"{counted(n_tabled, 'head')} by table"
    parts = [paths] * bool(n_paths) + [tabled] * bool(n_tabled)
    return enumerated(parts), n_paths + n_tabled > 1


def percent(share: float) -> str:
    """A share in percent, rounded down: only what is whole is 100 %."""
    return f"{math.floor(share * 1000 + 1e-9) / 10:g} %"
