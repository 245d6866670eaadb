"""The page of a run: all that its folder says, gathered into one object."""

import json
from collections.abc import Iterator
from typing import Literal

from headway.dynamics.emergence import EMERGES_AT
from headway.fields import to_json
from headway.judge.text import evidence_lines, head_lines
from headway.judge.verdicts import verdicts
from headway.report import schema
from headway.report.circuit import circuit_data, evidence, minimum, stream
from headway.report.curves import accuracies, dated, losses
from headway.report.examples import Memory, examples
from headway.report.findings import Findings, judged_loss, no_circuit
from headway.report.heads import heads
from headway.report.labels import setting_of, typeset
from headway.report.looks import symbol_colours
from headway.text import command, counted, enumerated, rounded
from headway.training.config import Elsewhere
from headway.training.losses import accuracy_text

CHANGED = "so what is computed here may be of another task or model than the run's."
VERSIONS = ("headway", "python", "torch")
BIBTEX = """@software{{headway,
  title = {{headway: how stacked attention heads learn to follow a chain of facts, and when}},
  author = {{{{The headway authors}}}},
  version = {{{version}}},
  license = {{MIT}}
}}"""


def run_page(
    findings: Findings,
    kind: Literal["run", "widget"] = "run",
    live: str = "",
    memory: Memory | None = None,
) -> schema.RunPage:
    """The data of a run's page.

    Args:
        findings: of the run.
        kind: where it is shown.
        live: the version of what is shown, if it is served and is to follow changes.
        memory: of checkpoints seen before (see `examples`), for the next time.

    Raises:
        HeadwayError: if a checkpoint cannot be read, or the run is too large for a page.
    """
    findings.require_drawable()
    run, task, timeline = findings.run, findings.task, findings.timeline
    colours = symbol_colours(task)
    shown = examples(findings, memory)
    steps = shown.steps
    along, without = list[schema.Curve](), list[schema.Curve]()
    if timeline is not None and findings.paths:
        along, without = dated(timeline, task, {*steps})
    end = max([1, *steps, *(line["step"] for line in findings.metrics)])
    session = findings.sessions[-1] if findings.sessions else {}
    versions = {name: str(session[name]) for name in VERSIONS if session.get(name) is not None}
    return schema.RunPage(
        kind=kind,
        name=run.folder.name,
        title=typeset(task.title),
        summary=[headline(findings), *summary(findings), " · ".join(setting_of(run.config))],
        warning=run.changed and f"{run.changed}, {CHANGED}",
        emerges_at=EMERGES_AT,
        task=schema.Task(
            reading=typeset(task.reading),
            loss=task.targets.loss_name,
            hops=[schema.Hop(typeset(hop), colours[hop]) for hop in task.hops],
            references=task.references(),
        ),
        steps=steps,
        end=end,
        losses=losses(findings),
        accuracies=accuracies(findings),
        along=along,
        without=without,
        circuit=circuit_data(findings, shown.cells),
        answer_steps=shown.answer_steps,
        sequences=shown.sequences,
        attention=shown.attention,
        verdicts=verdicts_of(findings),
        evidence=evidence(findings),
        heads=heads(findings),
        stream=stream(findings),
        minimum=minimum(findings),
        details=list(details(findings)),
        missing=findings.missing,
        again="\n".join(_again(findings, versions)),
        bibtex=BIBTEX.format(version=versions.get("headway", "")),
        config=json.dumps(to_json(run.config), indent=1, ensure_ascii=False),
        live=live,
    )


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
    circuit = discovery.circuit
    if not circuit.useful_heads:
        return f"This {model} solves the task without attention paths: nothing is explained."
    paths = counted(len(circuit.paths), "attention path")
    if tabled := counted(len(circuit.tabled_heads), "head") if circuit.tabled_heads else "":
        tabled += " that no relation in words explains"
        paths = f"{paths} and {tabled}" if circuit.paths else tabled
    holds = {one.name: one.holds for one in verdicts(discovery)}
    if not holds["enough"]:
        rest = "does not account for it"
        return f"This {model} solves the task; the circuit found, of {paths}, {rest}."
    all_needed = holds["nothing spare"] and len(circuit.paths) > 1
    rest = "; change any one and answers change" if all_needed else ""
    if holds["complete"] is False:
        rest += "; something beside them votes, too"
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
        for one in verdicts(found):
            word = {True: "yes", False: "no", None: "cannot be said"}[one.holds]
            yield f"{one.name}: {word}; {typeset(one.because)}."
    learnt = sorted((step, hop) for hop, step in findings.hops.items() if step is not None)
    if outcome is not None and not learnt:
        yield "No hop was learnt."
    elif learnt:
        steps = ", ".join(f"{typeset(hop)} by step {step:,.0f}" for step, hop in learnt)
        yield f"Of {counted(len(task.hops), 'hop')}, so many were learnt: {steps}."


def verdicts_of(findings: Findings) -> list[schema.Verdict]:
    """The verdicts on the circuit, as they are printed, with the run's folder in commands."""
    if (found := findings.discovery) is None:
        return []
    folder = _folder(findings)
    shown = list[schema.Verdict]()
    for verdict in verdicts(found):
        line = verdict.next and verdict.next.in_shell(folder)
        because = typeset(verdict.because)
        shown.append(schema.Verdict(verdict.name, verdict.holds, because, line))
    return shown


def details(findings: Findings) -> Iterator[schema.Section]:
    """The whole of the evidence, as the terminal prints it; verdicts are not repeated."""
    if (discovery := findings.discovery) is not None:
        text = "\n".join([*head_lines(discovery), "", *evidence_lines(discovery)])
        yield schema.Section("The circuit and the evidence for it", text=text)
    for title, found in (
        ("When its paths emerged", findings.timeline if findings.paths else None),
        ("Is it certified?", findings.certificate),
        ("Are there other circuits?", findings.circuits),
        ("What depends on what?", findings.dependence),
    ):
        if found is not None:
            yield schema.Section(title, text=str(found))
    ended = [] if findings.outcome is None else [("How it ended", findings.outcome)]
    for title, data in [*ended, *(("Where it was computed", one) for one in findings.sessions)]:
        yield schema.Section(title, text=json.dumps(data, indent=1, ensure_ascii=False))


def _folder(findings: Findings) -> str:
    folder = findings.run.folder
    return folder.name if folder.is_absolute() else str(folder)


def _again(findings: Findings, versions: dict[str, str]) -> Iterator[str]:
    """The commands that find and show what is on the page, and those that train the run again."""
    finding = ["circuit", "emergence"] if no_circuit(findings.run) is None else []
    for verb in [*finding, "report"]:
        yield command(verb, _folder(findings))
    config = findings.run.config
    if not isinstance(config.training, Elsewhere):
        yield "\n# in Python, in the run's folder, to train it again:"
        yield 'from headway.training import Run, train\n\ntrain(Run.open(".").config, "again")'
    yield f"\n# {setting_of(config)[-1]}; {', '.join(map(' '.join, versions.items()))}"
