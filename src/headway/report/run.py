"""The page of a run: all that its folder says, gathered into one object."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from headway.circuits import THRESHOLD
from headway.circuits.emergence import BIRTH
from headway.circuits.verdicts import verdicts
from headway.report import schema
from headway.report.circuit import circuit_data, hop_data, path_key, short
from headway.report.details import details
from headway.report.examples import Memory, examples, thinned
from headway.report.findings import Findings
from headway.report.headline import facts, headline, summary
from headway.report.labels import typeset
from headway.report.minimum import minimum
from headway.report.settings import setting_of
from headway.report.span import shown_until
from headway.report.story import story
from headway.text import command
from headway.training import to_dict
from headway.training.config import Elsewhere

MOST_POINTS = 600
"""Evaluations on a page; of more, evenly many are kept."""

AGAIN = 'from headway.training import Run, train\n\ntrain(Run.open(".").config, "again")'
VERSIONS = ("headway", "python", "torch")


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
        HeadwayError: if a checkpoint cannot be read.
    """
    run, task, timeline = findings.run, findings.task, findings.timeline
    shown = examples(findings, memory)
    steps = shown.steps
    end = max([1, *steps, *(line["step"] for line in findings.metrics)])
    line, dated = headline(findings), dict[int, float]()
    if timeline is not None:
        dated = dict(zip(timeline.steps, map(short, timeline.loss), strict=True))
    session = findings.sessions[-1] if findings.sessions else {}
    return schema.RunPage(
        kind=kind,
        name=run.folder.name,
        title=typeset(task.title),
        headline=line,
        summary=[line, *summary(findings)],
        setting=setting_of(run.config),
        facts=list(facts(findings)),
        warning=_warning(findings),
        status=run.status,
        seed=run.config.seed,
        versions={name: str(session[name]) for name in VERSIONS if session.get(name) is not None},
        commands=list(_commands(findings)),
        python="" if isinstance(run.config.training, Elsewhere) else AGAIN,
        config=json.dumps(to_dict(run.config), indent=1, ensure_ascii=False),
        birth=BIRTH,
        threshold=THRESHOLD,
        task=schema.Task(
            kind=task.kind,
            reading=typeset(task.reading),
            loss=task.targets.loss_name,
            vocabulary=task.vocabulary,
            length=task.length,
            hops=hop_data(task, findings.hops),
            references=task.references(),
        ),
        steps=steps,
        until=end if timeline is None else shown_until(timeline, findings.metrics)[0],
        end=end,
        losses=losses_of(findings.metrics, task.hops),
        circuit=circuit_data(findings, steps, shown.cells),
        model=[dated.get(step) for step in steps] if timeline else [],
        first=findings.shown.start,
        answer_steps=shown.answer_steps,
        sequences=shown.sequences,
        attention=shown.attention,
        verdicts=verdicts_of(findings),
        evidence=evidence(findings),
        minimum=minimum(findings),
        story=story(findings),
        details=list(details(findings)),
        missing=missing(findings),
        live=live,
    )


def losses_of(metrics: Sequence[dict[str, Any]], hops: Sequence[str]) -> schema.Losses:
    """Losses by step, evenly many if there are very many."""
    lines = thinned(metrics, MOST_POINTS)
    return schema.Losses(
        steps=[line["step"] for line in lines],
        validation=[short(line["val_loss"]) for line in lines],
        training=[short(line["train_loss"]) for line in lines],
        hops={hop: [short(line["partial"][hop]) for line in lines] for hop in hops},
    )


def verdicts_of(findings: Findings) -> list[schema.Verdict]:
    """The verdicts on the circuit."""
    if (found := findings.discovery) is None:
        return []
    return [
        schema.Verdict(one.name, one.holds, typeset(one.because), one.next)
        for one in verdicts(found, findings.circuits)
    ]


def evidence(findings: Findings) -> list[schema.EvidenceRow]:
    """What every path is needed for."""
    if (found := findings.discovery) is None:
        return []
    return [
        schema.EvidenceRow(
            key=path_key(n.path),
            attention=n.attention,
            cut=n.loss,
            free=n.free,
            alone=found.evidence.alone.get(n.path.at),
            needed=n.worst >= found.threshold if found.faithful else None,
        )
        for n in found.evidence.necessity
    ]


def missing(findings: Findings) -> schema.Missing:
    """Why parts of the page are not there, each with the command that would help."""
    folder, circuit = findings.run.folder, findings.no_circuit
    births = None
    if circuit is None and findings.discovery is None:
        circuit = f"The circuit has not been looked for yet: {command('circuit', folder)}"
    if findings.timeline is None:
        births = "There are no paths to date."
        if findings.no_circuit is None:
            births = f"The circuit's paths are not dated yet: {command('emergence', folder)}"
    evaluations = None if findings.metrics else "There is no evaluation yet."
    return schema.Missing(evaluations, circuit, births, findings.no_maps)


def _warning(findings: Findings) -> str | None:
    if not findings.run.changed:
        return None
    rest = "so what is computed here may be of another task or model than the run's."
    return f"{findings.run.changed}, {rest}"


def _commands(findings: Findings) -> Iterator[str]:
    """The commands that find and show what is on the page."""
    verbs = ["circuit", "emergence", "report"] if findings.no_circuit is None else ["report"]
    folder = findings.run.folder
    for verb in verbs:
        yield command(verb, folder.name if folder.is_absolute() else folder)
