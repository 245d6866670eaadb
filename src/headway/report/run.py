"""The page of a run: all that its folder says, gathered into one object."""

import json
from collections.abc import Iterator
from typing import Any, Literal

from headway.dynamics.emergence import EMERGES_AT
from headway.fields import Finding, to_json
from headway.judge.roles import symbol_order
from headway.judge.text import evidence_lines, head_lines
from headway.judge.verdict import verdicts
from headway.report import schema
from headway.report.answers import numbered
from headway.report.circuit import circuit_data, evidence, minimum, stream
from headway.report.curves import accuracies, dated, losses
from headway.report.examples import Memory, examples
from headway.report.findings import Findings, judged_loss, no_circuit
from headway.report.grids import grids
from headway.report.headline import headline, percent
from headway.report.heads import heads
from headway.report.labels import setting_of, typeset
from headway.report.looks import symbol_colours
from headway.report.schema import Curve, Hop, RunPage, Section, Verdict
from headway.text import command, counted, enumerated, rounded
from headway.training.config import Elsewhere
from headway.training.losses import accuracy_text, mean_accuracy

CHANGED = "so what is computed here may be of another task or model than the run's."
VERSIONS = ("headway", "python", "torch")
VERDICT_WORDS = {True: "yes", False: "no", None: "cannot be said"}
BIBTEX = """@software{{headway,
  title = {{headway: how stacked attention heads learn to follow a chain of facts, \
and when}},
  author = {{{{The headway authors}}}},
  version = {{{version}}},
  license = {{MIT}}
}}"""


def run_page(
    findings: Findings,
    kind: Literal["run", "widget"] = "run",
    live: str = "",
    memory: Memory | None = None,
) -> RunPage:
    """The data of a run's page.

    Args:
        findings: of the run.
        kind: where it is shown.
        live: the version of what is shown, if it is served and is to follow changes.
        memory: of checkpoints seen before (see `examples`), for the next time.

    Raises:
        HeadwayError: if a checkpoint cannot be read, or the run is too large for a
            page.
    """
    findings.require_drawable()
    run = findings.run
    shown = examples(findings, memory)
    along, without = _along_paths(findings, shown.steps)
    versions = _versions(findings)
    setting = " · ".join(setting_of(run.config))
    evaluated = [line["step"] for line in findings.metrics]
    return RunPage(
        kind=kind,
        name=run.folder.name,
        title=typeset(findings.task.title),
        summary=[headline(findings), *summary(findings), setting],
        warning=run.changed and f"{run.changed}, {CHANGED}",
        emerges_at=EMERGES_AT,
        task=_task_data(findings),
        steps=shown.steps,
        end=max([1, *shown.steps, *evaluated]),
        losses=losses(findings),
        accuracies=accuracies(findings),
        along=along,
        without=without,
        circuit=circuit_data(findings, shown.cells),
        answer_steps=shown.answer_steps,
        cuts=numbered(shown.cuts, findings.paths),
        cut_steps=shown.cut_steps,
        first=findings.shown.start,
        sequences=shown.sequences,
        attention=shown.attention,
        grids=grids(findings),
        verdicts=verdicts_of(findings),
        program=_program(findings),
        evidence=evidence(findings),
        heads=heads(findings),
        stream=stream(findings),
        minimum=minimum(findings),
        details=list(details(findings)),
        missing=findings.missing,
        again="\n".join(_again(findings, versions)),
        bibtex=BIBTEX.format(version=versions.get("headway", "")),
        config=_as_json(to_json(run.config)),
        live=live,
    )


def _task_data(findings: Findings) -> schema.Task:
    task = findings.task
    colours = symbol_colours(task) if symbol_order(task) else {}
    reading = typeset(task.reading)
    right = mean_accuracy(findings.last)
    if right is not None:
        reading += f" The model is right in {percent(right)} of held-out answers."
    return schema.Task(
        reading=reading.strip(),
        of_tokens=task.vocabulary is not None,
        loss=task.targets.loss_name,
        hops=[Hop(typeset(hop), colours.get(hop, 0)) for hop in task.hops],
        references=task.references(),
    )


def _along_paths(
    findings: Findings, steps: list[int]
) -> tuple[list[Curve], list[Curve]]:
    """Attention along every path and the losses without it (see `dated`), at some
    steps.
    """
    if findings.timeline is None or not findings.paths:
        return [], []
    return dated(findings.timeline, findings.task, {*steps})


def _versions(findings: Findings) -> dict[str, str]:
    """The versions of the programs that last trained the run, as far as they are
    known.
    """
    if not findings.sessions:
        return {}
    session = findings.sessions[-1]
    known = [name for name in VERSIONS if session.get(name) is not None]
    return {name: str(session[name]) for name in known}


def _as_json(data: Any) -> str:
    return json.dumps(data, indent=1, ensure_ascii=False)


def summary(findings: Findings) -> Iterator[str]:
    """The outcome in more sentences, for a page without scripts and for the first
    screen.
    """
    outcome = findings.outcome
    if not findings.metrics:
        return
    if outcome is not None and outcome.get("status", "done") != "done":
        return
    if findings.solved:
        yield _solved_line(findings)
    if "circuit" in findings.missing:
        yield findings.missing["circuit"]
    elif findings.discovery is not None:
        for verdict in verdicts(findings.discovery):
            word = VERDICT_WORDS[verdict.holds]
            yield f"{verdict.name}: {word}; {typeset(verdict.because)}."
    dates = [(step, hop) for hop, step in findings.hops.items() if step is not None]
    if dates:
        learnt = [f"{typeset(hop)} by step {step:,.0f}" for step, hop in sorted(dates)]
        hops = counted(len(findings.task.hops), "hop")
        yield f"Of {hops}, so many were learnt: {', '.join(learnt)}."
    elif outcome is not None:
        yield "No hop was learnt."


def _solved_line(findings: Findings) -> str:
    """The loss and accuracy at the end, and the loss over the hops by which a run is
    judged.
    """
    task = findings.task
    last = findings.last
    loss = rounded(findings.loss or 0.0)
    line = f"The task was solved, with a validation loss of {loss}{accuracy_text(last)}"
    if task.judged == task.hops:
        return f"{line}."
    judged = rounded(judged_loss(task, last))
    names = enumerated(map(typeset, task.judged))
    return f"{line} ({judged} for {names}; the rest cannot be told without error)."


def verdicts_of(findings: Findings) -> list[Verdict]:
    """The verdicts on the circuit, as they are printed, with the run's folder in
    commands.
    """
    if findings.discovery is None:
        return []
    folder = _folder(findings)
    shown = list[Verdict]()
    for verdict in verdicts(findings.discovery):
        because = typeset(verdict.because)
        line = verdict.next and verdict.next.in_shell(folder)
        shown.append(
            Verdict(verdict.name, verdict.holds, because, line, verdict.is_close)
        )
    return shown


def _program(findings: Findings) -> schema.Program | None:
    kept = findings.program
    if kept is None:
        return None
    return schema.Program(
        verdict=kept.verdict,
        holds=kept.is_models,
        code=kept.code,
        measured=kept.measured,
        source=kept.source,
    )


def details(findings: Findings) -> Iterator[Section]:
    """The whole of the evidence, as the terminal prints it; verdicts are not
    repeated.
    """
    if findings.discovery is not None:
        lines = [
            *head_lines(findings.discovery),
            "",
            *evidence_lines(findings.discovery),
        ]
        yield Section("The circuit and the evidence for it", text="\n".join(lines))
    parts: dict[str, Finding | None] = {
        "When its paths emerged": findings.timeline if findings.paths else None,
        "Is it certified?": findings.certificate,
        "Are there other circuits?": findings.circuits,
        "What depends on what?": findings.dependence,
    }
    for title, part in parts.items():
        if part is not None:
            yield Section(title, text=str(part))
    if findings.outcome is not None:
        yield Section("How it ended", text=_as_json(findings.outcome))
    for session in findings.sessions:
        yield Section("Where it was computed", text=_as_json(session))


def _folder(findings: Findings) -> str:
    folder = findings.run.folder
    return folder.name if folder.is_absolute() else str(folder)


def _again(findings: Findings, versions: dict[str, str]) -> Iterator[str]:
    """The commands that find and show what is on the page, and those that train the run
    again.
    """
    folder = _folder(findings)
    config = findings.run.config
    if no_circuit(findings.run) is None:
        yield command("circuit", folder)
        yield command("emergence", folder)
        if findings.program is not None:
            yield command("circuit", folder, "--program", "program.py")
    yield command("report", folder)
    if not isinstance(config.training, Elsewhere):
        yield "\n# in Python, in the run's folder, to train it again:"
        yield (
            "from headway.training import Run, train\n\n"
            'train(Run.open(".").config, "again")'
        )
    origin = setting_of(config)[-1]
    programs = [f"{name} {version}" for name, version in versions.items()]
    yield f"\n# {origin}; {', '.join(programs)}"
