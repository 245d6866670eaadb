"""What came out of a run, in sentences and key numbers."""

from collections.abc import Iterator

from headway.circuits.emergence import EMERGES_AT
from headway.circuits.verdicts import verdicts
from headway.report.findings import Findings
from headway.report.labels import typeset
from headway.text import counted, enumerated, rounded
from headway.training.losses import accuracy_text


def headline(findings: Findings) -> str:
    """What came out, in one sentence."""
    outcome, discovery = findings.outcome, findings.discovery
    model = f"This {findings.run.config.model.n_layers}-layer model"
    if outcome and outcome["status"] != "done":
        return f"Training failed: {outcome['message']}"
    if not findings.metrics:
        return "Training has not been evaluated yet."
    if outcome is None:
        loss = rounded(findings.loss or 0.0)
        return f"Training has not ended; the validation loss so far is {loss}."
    if not findings.solved:
        loss = rounded(findings.loss or 0.0)
        return f"{model} did not solve the task: the validation loss ended at {loss}."
    if discovery is None:
        return (
            f"{model} solves the task, with a validation loss of {rounded(findings.loss or 0.0)}."
        )
    paths = counted(len(discovery.circuit.paths), "attention path")
    if not discovery.faithful:
        return f"{model} solves the task; the circuit found, of {paths}, does not account for it."
    if not discovery.circuit.paths:
        return (
            f"{model} solves the task without any attention path, so the circuit explains nothing."
        )
    asked = counted(len(findings.task.judged), "hop")
    all_needed = discovery.necessary and len(discovery.circuit.paths) > 1
    rest = "; cut any one and it fails" if all_needed else ""
    return f"{model} answers {asked} with {paths}{rest}."


def summary(findings: Findings) -> Iterator[str]:
    """The same in more sentences, for a page without scripts and for the first screen."""
    task, outcome, last = findings.task, findings.outcome, findings.metrics[-1:]
    if not last or (outcome or {}).get("status", "done") != "done":
        return
    if findings.solved:
        text = f"The task was solved, with a validation loss of {rounded(findings.loss or 0.0)}"
        text += accuracy_text(last[0])
        if task.judged != task.hops:
            names = enumerated(map(typeset, task.judged))
            text += f" ({rounded(findings.judged_loss or 0.0)} for {names}; the rest cannot be told"
            text += " without error)"
        yield f"{text}."
    elif outcome is not None:
        below = [typeset(hop) for hop, loss in last[0]["partial"].items() if loss < EMERGES_AT]
        of = counted(len(task.hops), "hop")
        yield (
            f"Of {of}, {', '.join(below)} got below {EMERGES_AT:g}."
            if below
            else "No hop was learnt."
        )
    if "circuit" in findings.missing:
        yield findings.missing["circuit"]
    elif (found := findings.discovery) is not None:
        heads, every = len(found.circuit.useful_heads), len(found.circuit.mechanisms)
        layers = counted(len(found.circuit.useful_layers), "layer")
        yield f"The circuit has {heads} of {counted(every, 'head')}, in {layers}."
        for one in verdicts(found, findings.circuits):
            word = {True: "yes", False: "no", None: "cannot be said"}[one.holds]
            yield f"{one.name}: {word}; {typeset(one.because)}."
    learnt = sorted((step, hop) for hop, step in findings.hops.items() if step is not None)
    if len(learnt) > 1 and findings.in_chain_order is not None:
        steps = ", ".join(f"{typeset(hop)} by step {step:,.0f}" for step, hop in learnt)
        yield f"The hops were {'' if findings.in_chain_order else 'not '}learnt in order: {steps}."


def number(value: float | None) -> str:
    """A measured number to three digits; a dash if there is none."""
    return "–" if value is None else rounded(value)
