"""Completeness of a run's folder: every file is read and compared with the others."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice, product
from pathlib import Path
from typing import Any

import torch

from headway.dynamics.dependence import Dependence
from headway.dynamics.emergence import Timeline
from headway.errors import HeadwayError, require
from headway.fields import Finding
from headway.find.exhaustive import MinimalCircuits
from headway.judge.certificate import Certificate
from headway.judge.discovery import Discovery, standing_of
from headway.programs.written import WrittenProgram
from headway.relations.paths import AttentionPath
from headway.replace.circuit import Circuit
from headway.replace.heads import Head, name_of
from headway.tasks.base import cost_of
from headway.text import command
from headway.training.config import Elsewhere
from headway.training.loop import Trainer
from headway.training.run import Run
from headway.training.state import scheduled

MOST_OF_A_MODEL = 1_000_000
"""The most heads that a run's model may have to be looked at."""

AGAIN: dict[type[Finding], tuple[str, ...]] = {
    Discovery: ("circuit",),
    MinimalCircuits: ("circuit", "--all"),
    Timeline: ("emergence",),
    Dependence: ("depend",),
    Certificate: ("circuit", "--certify"),
    WrittenProgram: ("circuit", "--program", "program.py"),
}
"""Kinds of findings about a circuit, with the verb and option that make each again."""

ABOUT_IT = (Timeline, Dependence, Certificate, WrittenProgram)
"""Kinds of findings that are about the circuit that was discovered."""

NAMED = 5
"""The most missing checkpoints that are named."""

Findings = Mapping[type[Finding], Any]
"""The findings of a run, by kind."""


def faults_of(folder: Path) -> list[str]:
    """The faults of a run's folder, a line each. Changes nothing."""
    faults: list[str] = []

    def tried(look: Callable[[], Any]) -> Any:
        try:
            return look()
        except HeadwayError as error:
            faults.append(str(error))
            return None

    run = tried(lambda: Run.open(folder))
    if run is None:
        return faults
    metrics = tried(run.metrics)
    tried(run.sessions)
    findings = {kind: tried(lambda kind=kind: run.load(kind)) for kind in AGAIN}
    told = tried(
        lambda: [*disagreements(run, findings), *unknown_relations(run, findings)]
    )
    faults += told or []
    for step in run.checkpoint_steps():
        tried(lambda step=step: run.model(step))
    if metrics is not None and not isinstance(run.config.training, Elsewhere):
        # The run may be of a machine with a GPU, and be looked at on another.
        here = replace(run, config=replace(run.config, device=run.device))
        tried(lambda: Trainer.restored(here))
        is_done = tried(lambda: run.status) == "done"
        faults += missing_checkpoints(
            run, metrics[-1]["step"] if metrics else 0, is_done
        )
    for path in sorted(run.folder.rglob(".*.draft-*")):
        faults.append(
            f"{path} was left by a writer that was stopped;"
            " the next to write removes it"
        )
    return list(dict.fromkeys(faults))


def missing_checkpoints(run: Run, last: int, is_done: bool) -> Iterator[str]:
    """A line on the checkpoints that a run should have and lacks."""
    kept = {*run.checkpoint_steps()}
    due = scheduled(run.config.training, last, is_done)
    missing = (str(step) for step in due if step not in kept)
    named = [*islice(missing, NAMED)]
    if named:
        more = ", …" if len(named) == NAMED else ""
        yield (
            f"{run.folder}:"
            f" the checkpoints of steps {', '.join(named)}{more} are missing"
        )


def disagreements(run: Run, findings: Findings) -> Iterator[str]:
    """Lines on findings that are not about the run's model, task and circuit.

    Args:
        run: that they lie in.
        findings: what was found, by kind; None where there is nothing.
    """
    if not any(findings.values()):
        return
    heads = set(heads_of(run))
    discovery = findings.get(Discovery)
    for kind, finding in findings.items():
        why = None if finding is None else _disagreement(finding, heads, discovery)
        if why is not None:
            yield (
                f"{run.folder}: {kind.FILE} {why}: {command(*AGAIN[kind], run.folder)}"
            )
    yield from _of_another_task(run, findings)


def _disagreement(
    finding: Finding, heads: set[Head], discovery: Discovery | None
) -> str | None:
    """The other model or circuit that a finding is about; None if there is none."""
    other = "is of another model than config.json"
    strange = [head for head in heads_in(finding, heads) if head not in heads]
    if strange:
        return f"{other}, with {name_of(min(strange))}; find"
    for circuit in circuits_in(finding):
        lacking = heads - {*circuit.mechanisms}
        if lacking:
            return f"{other}, without {name_of(min(lacking))}; find"
    if isinstance(finding, ABOUT_IT) and discovery and not finding.is_of(discovery):
        return "is about another circuit than circuit.json; make it for this one with"
    return None


def _of_another_task(run: Run, findings: Findings) -> Iterator[str]:
    """Lines on findings with steps, roles or hops that the run does not have."""
    discovery = findings.get(Discovery)
    timeline = findings.get(Timeline)
    certificate = findings.get(Certificate)
    hops = {*run.task.hops}
    steps = dict[str, int]()
    if discovery:
        if discovery.standing != standing_of(run.task):
            yield f"{run.folder}: circuit.json: standing is of another task's roles"
        if not {*discovery.evidence.intact} <= hops:
            yield (
                f"{run.folder}: circuit.json: evidence.intact is of another task's hops"
            )
    if timeline:
        steps["emergence.json"] = timeline.steps[-1]
        if not {*timeline.hops} <= hops:
            yield f"{run.folder}: emergence.json: hops are of another task's"
    if certificate and certificate.step is not None:
        steps["certificate.json"] = certificate.step
    for name, step in steps.items():
        try:
            run.require_step(step, f"{run.folder}/{name}")
        except HeadwayError as error:
            yield str(error)


def unknown_relations(run: Run, findings: Findings) -> Iterator[str]:
    """Lines on paths along relations that the run's task does not have."""
    if not any(findings.values()):
        return
    cost_of(run.task)  # complains of one whose sequences are too large
    batch = run.task.sample(2, torch.Generator().manual_seed(0))
    edges = run.task.edges(batch, ahead=not run.config.model.causal)

    def is_known(path: AttentionPath) -> bool:
        try:
            return edges[path.relation] is not None
        except (HeadwayError, KeyError):
            return False

    for kind, finding in findings.items():
        paths = sorted(set(paths_in(finding))) if finding is not None else []
        if odd := [path for path in paths if not is_known(path)]:
            yield (
                f"{run.folder}: {kind.FILE}:"
                f" {odd[0]} is along no relation of the run's task"
            )


def circuits_in(finding: Any) -> list[Circuit]:
    """A finding's part on every head of a model; empty if it is on paths alone."""
    if isinstance(finding, MinimalCircuits):
        return [finding.idle]
    is_of_one = isinstance(finding, Discovery | Certificate | WrittenProgram)
    return [finding.circuit] if is_of_one else []


def paths_in(finding: Any) -> Iterable[AttentionPath]:
    """The paths that a finding is about."""
    match finding:
        case Discovery() | Certificate() | WrittenProgram():
            return finding.circuit.paths
        case MinimalCircuits():
            chosen = [path for circuit in finding.circuits for path in circuit]
            return [*finding.candidates, *finding.discovered, *chosen]
        case Timeline():
            return [dated.path for dated in finding.paths]
        case Dependence():
            return finding.circuit
    return []


def heads_in(finding: Any, heads: set[Head]) -> set[Head]:
    """The heads that a finding speaks of.

    Args:
        finding: about a circuit.
        heads: of the model; tables with a cell a head must be of its layers and heads.
    """
    named = {path.at for path in paths_in(finding)}
    for circuit in circuits_in(finding):
        named |= {*circuit.mechanisms}
    if isinstance(finding, Discovery):
        named |= {*finding.evidence.alone}
        tables = finding.attention.values()
        for table in islice(tables, 1):  # all are of one size
            cells = {
                (layer, head)
                for layer, row in enumerate(table)
                for head in range(len(row))
            }
            named |= cells if heads <= cells else {(len(table), 0)}
    return named


def heads_of(run: Run) -> list[Head]:
    """All heads of a run's model.

    Raises:
        HeadwayError: if there are more than any model has.
    """
    model = run.config.model
    what = f"{run.folder}/config.json: model.n_layers times model.n_heads"
    count = model.n_layers * model.n_heads
    require(count <= MOST_OF_A_MODEL, what, count, f"at most {MOST_OF_A_MODEL}")
    return [*product(range(model.n_layers), range(model.n_heads))]
