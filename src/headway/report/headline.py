"""The outcome of a run, in sentences."""

from collections.abc import Iterator

from headway.circuits.verdicts import verdicts
from headway.report.findings import Findings, judged_loss
from headway.report.labels import typeset
from headway.text import counted, enumerated, rounded
from headway.training.losses import accuracy_text


def headline(findings: Findings) -> str:
    """The outcome, in one sentence."""
    outcome, discovery = findings.outcome, findings.discovery
    if outcome and outcome["status"] != "done":
        return f"Training failed: {outcome['message']}"
    if not findings.metrics:
        return "Training has not been evaluated yet."
    loss = rounded(findings.loss or 0.0)
    if outcome is None:
        return f"Training has not ended; the validation loss so far is {loss}."
    model = f"{findings.run.config.model.n_layers}-layer model"
    if not findings.solved:
        return f"This {model} did not solve the task: the validation loss ended at {loss}."
    if discovery is None:
        return f"This {model} solves the task, with a validation loss of {loss}."
    if not discovery.circuit.paths:
        rest = "without any attention path, so the circuit explains nothing"
        return f"This {model} solves the task {rest}."
    paths = counted(len(discovery.circuit.paths), "attention path")
    if not discovery.faithful:
        rest = "does not account for it"
        return f"This {model} solves the task; the circuit found, of {paths}, {rest}."
    all_needed = discovery.necessary and len(discovery.circuit.paths) > 1
    rest = "; cut any one and answers fail" if all_needed else ""
    return f"{typeset(findings.task.title)}: this {model} does it with {paths}{rest}."


def summary(findings: Findings) -> Iterator[str]:
    """The outcome in more sentences, for a page without scripts and for the first screen."""
    task, outcome = findings.task, findings.outcome
    if not findings.metrics or (outcome or {}).get("status", "done") != "done":
        return
    last = findings.metrics[-1]
    if findings.solved:
        text = f"The task was solved, with a validation loss of {rounded(findings.loss or 0.0)}"
        text += accuracy_text(last)
        if task.judged != task.hops:
            names = enumerated(map(typeset, task.judged))
            text += f" ({rounded(judged_loss(task, last))} for {names}; the rest cannot be told"
            text += " without error)"
        yield f"{text}."
    if "circuit" in findings.missing:
        yield findings.missing["circuit"]
    elif (found := findings.discovery) is not None:
        for one in verdicts(found, findings.circuits):
            word = {True: "yes", False: "no", None: "cannot be said"}[one.holds]
            yield f"{one.name}: {word}; {typeset(one.because)}."
    learnt = sorted((step, hop) for hop, step in findings.hops.items() if step is not None)
    if outcome is not None and not learnt:
        yield "No hop was learnt."
    elif learnt:
        steps = ", ".join(f"{typeset(hop)} by step {step:,.0f}" for step, hop in learnt)
        yield f"Of {counted(len(task.hops), 'hop')}, so many were learnt: {steps}."
