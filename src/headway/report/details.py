"""What the verdicts rest on, and all else that was measured, as sections of tables."""

import json
import shlex
from collections.abc import Iterator
from typing import Any

from headway.circuits import (
    ABLATIONS,
    Certificate,
    Discovery,
    MinimalCircuits,
)
from headway.circuits.dependence import KINDS, MEANINGS, NEEDS, Dependence, Share, verdict, when
from headway.circuits.emergence import MATTERS, crossing
from headway.circuits.exhaustive import SHOWN
from headway.circuits.flows import trace
from headway.circuits.mechanism import name_of
from headway.circuits.text import said_of_mlps
from headway.circuits.yardstick import percent
from headway.report.circuit import path_key
from headway.report.findings import Findings
from headway.report.labels import typeset
from headway.report.schema import Cell, Section, Table
from headway.report.story import found_by
from headway.report.tables import listed, section, sentence, table
from headway.tasks import task_to_json
from headway.text import counted, rounded
from headway.training.config import flat


def details(findings: Findings) -> Iterator[Section]:
    """All sections that there is something to say in."""
    if (found := findings.discovery) is not None:
        yield section("alike", "Does the circuit do what the model does?", _alike(findings, found))
        if findings.certificate is not None:
            yield _certificate(findings.certificate)
        yield section("paths", "Is every path needed?", [_paths(findings, found)], _backups(found))
        yield section("heads", "What does every head do?", [_heads(found)])
        if found.evidence.mlps is not None:
            yield _mlps(found)
        yield _trials(found)
    if findings.circuits is not None:
        yield _every(findings.circuits)
    if findings.dependence is not None:
        yield _dependence(findings.dependence)
    yield section("fields", "What decides the run?", _fields(findings))
    sessions = [
        table("environment", ["what", "value"], [[k, _plain(v)] for k, v in _session(one)])
        for one in findings.sessions
    ]
    yield section("environment", "Where was it computed?", sessions)


def _alike(findings: Findings, found: Discovery) -> Iterator[Table]:
    evidence, like = found.evidence, found.evidence.likeness
    hops = [[typeset(hop), loss, evidence.replaced[hop]] for hop, loss in evidence.intact.items()]
    hops.append(["mean", found.intact_loss, found.replaced_loss])
    yield table(
        "losses of model and circuit",
        ["hop", "model as it is", "every head replaced"],
        hops,
        note=(
            f"Losses ({findings.task.targets.loss_name}) are means over {evidence.sequences:,}"
            f" held-out sequences that the search did not see; 95 % intervals are of"
            f" {evidence.drawn:,} more (bootstrap-t). All {len(found.circuit.mechanisms)} heads are"
            f" replaced at once, ablation: {findings.ablation}; that holds for every loss of"
            f" the evidence but where another is named. Search and evidence judged"
            f" {found.candidates:,} candidates, at the cost of {found.forwards:,.0f} forward passes"
            f" over as many sequences, in {rounded(found.seconds)} s."
        ),
    )
    rows = []
    for kind in (kind for kind in ABLATIONS if kind in evidence.variants):
        words = ABLATIONS[kind].rpartition("rows without a path ")[2]
        words += " (as searched)" if kind == found.ablation else ""
        rows.append([words, evidence.variants[kind]])
    title = "losses by what stands in rows without a path"
    yield table(title, ["rows without a path …", "every head replaced"], rows)
    altered = {"circuit": like.circuit, "complement": like.complement, "ablated": like.ablated}
    rows = [["model as it is", evidence.intact_loss, "100.0 %", "100.0 %", 1, 1]]
    for name, one in altered.items():
        shares = map(percent, (one.agreement, one.sequence_agreement))
        rows.append([name, one.loss, *shares, one.r2, one.faithfulness])
    hops = ", ".join(
        f"{typeset(hop)} {percent(part)}" for hop, part in like.circuit.agreement_by_hop.items()
    )
    note = (
        "complement: attention along each of the circuit's paths is zero, all else is as it is."
        " ablated: every head uniform. answers alike: the share that is the model's own, right or"
        " wrong. sequences alike: the share of which all answers are. R²: of the outputs, against"
        " those of the model as it is. faithfulness: how much of the way from the ablated model's"
        f" loss to the model's own. The circuit's answers hop by hop: {hops}."
    )
    if like.layerwise:
        least = percent(like.least_layerwise)
        note += (
            " With the circuit in the lower layers alone, and the model as it is above,"
            f" {least} of the answers are alike at worst."
        )
    head = ["what answers", "loss", "answers alike", "sequences alike", "R²", "faithfulness"]
    title = "circuit, complement and ablated model against the model as it is"
    yield table(title, head, rows, note=note)


def _certificate(found: Certificate) -> Section:
    lines = map(sentence, found.sentences())
    return section("certificate", "Is it certified?", sentences=lines)


def _paths(findings: Findings, found: Discovery) -> Table:
    """All that is known of every path, a row per path."""
    timeline, routes = findings.timeline, trace(findings.task, found.circuit.paths)
    histories = {} if timeline is None else {h.path: h for h in timeline.paths}
    necessity = {n.path: n for n in found.evidence.necessity}
    head = ["path", "needed?", "rise", "head uniform", "found again"]
    head += ["felt from", "needed from", "largest rise"] if timeline else []
    head += ["can be found by"] if routes else []
    rows = list[list[Cell]]()
    for path in found.circuit.paths:
        n, again = necessity.get(path), found.evidence.stability(path)
        row: list[Cell] = [typeset(str(path))]
        row.append(None if n is None or not found.faithful else n.worst >= found.threshold)
        row += [None, None] if n is None else [n.loss - found.replaced_loss, n.uniform]
        row.append(None if again is None else f"{again:.0%}")
        if timeline is not None:
            h = histories[path]
            rises = [cut - loss for cut, loss in zip(h.loss_without, timeline.loss, strict=True)]
            felt = crossing(timeline.steps, rises, MATTERS)
            row += [_step(felt), _step(h.needed), max(rises)]
        if routes is not None:
            row.append(found_by(routes.legs[path]))
        rows.append(row)
    note = (
        f"needed?: whether the loss is at or above the threshold {found.threshold:g} without the"
        " path, with every head replaced or with the heads above free. rise: of the circuit's loss"
        " without it. head uniform: the circuit's loss when the path's head looks everywhere"
        " equally. found again: the share of the other searches that found the path."
    )
    if timeline is not None:
        note += (
            f" felt: the step at which the rise of the model's loss without the path first passes"
            f" {MATTERS:g}, over {timeline.sequences} sequences of its own. needed: at which it"
            " first passes half of its largest value, perhaps much later, when later hops come to"
            f" depend on the path too; never, if no rise is above {MATTERS:g}."
        )
    if routes is not None:
        note += (
            " can be found by: what both positions hold before the layer, traced from the paths"
            " alone."
        )
    keys = [f"path:{path_key(path)}" for path in found.circuit.paths]
    return table("paths of the circuit", head, rows, keys, note)


def _backups(found: Discovery) -> Iterator[str]:
    if not found.evidence.backups:
        yield (
            "Back-ups: none; no other head that attends along the relation of one of these paths"
            " could do its work."
        )
    for b in found.evidence.backups:
        yield (
            f"Back-up: {b.path} could be done by {name_of(b.by.at)} (loss {rounded(b.loss)} with"
            " that head in the path's place, in whichever of the two ways is worse)."
        )


def _heads(found: Discovery) -> Table:
    rows = [
        [*head, typeset(str(mechanism)), found.evidence.alone.get(head)]
        for head, mechanism in sorted(found.circuit.mechanisms.items(), key=lambda one: one[0])
    ]
    note = (
        "uniform: the mean over all it may see; identity: itself; else it attends along these paths"
        " only. The simplest mechanism that keeps the loss small is kept, so a head without a path"
        " may still do something that the threshold does not ask for. The loss is with this head"
        " alone replaced by its mechanism, all others as they are; the model as it is:"
        f" {rounded(found.intact_loss)}, over {found.evidence.sequences} sequences."
    )
    head = ["layer", "head", "mechanism", "model with this head replaced"]
    return table("mechanisms of all heads", head, rows, note=note)


def _mlps(found: Discovery) -> Section:
    mlps = found.evidence.mlps
    assert mlps is not None
    mean, other = "at its mean", "from another sequence"
    head = ["layer", mean, f"{mean}, free", other, f"{other}, free", "needed"]
    rows = [
        [m.layer, m.mean, m.mean_free, m.resampled, m.resampled_free, m.layer in mlps.needed]
        for m in mlps.each
    ]
    note = (
        "Losses with one MLP's output put to what the model's own writes there on average, or in"
        " another sequence; with every head replaced, and with every head as it is (free). Over"
        f" {mlps.sequences:,} sequences."
    )
    losses = table("losses with one MLP replaced", head, rows, note=note)
    sentences = [sentence(said_of_mlps(mlps))]
    return section("mlps", "Which MLPs does it need?", [losses], sentences)


def _trials(found: Discovery) -> Section:
    title, own = "Would another search find it again?", found.circuit.paths
    if not found.evidence.trials:
        return section("again", title, sentences=["The search was not repeated."])
    rows = list[list[Cell]]()
    for trial in found.evidence.trials:
        lost = [path for path in own if path not in trial.paths]
        more = [path for path in trial.paths if path not in own]
        against = [f"without {listed(lost)}"] if lost else []
        against += [f"also {listed(more)}"] if more else []
        sample = "the same" if trial.sample == "circuit" else f"another ({trial.sample})"
        rest = "; ".join(against) or "the same paths"
        rows.append([sample, trial.threshold, len(trial.paths), trial.jaccard, rest])
    head = ["sample", "threshold", "paths", "Jaccard", "against this circuit"]
    note = (
        f"Jaccard: paths in both circuits / paths in either. This circuit:"
        f" {counted(len(own), 'path')} at the threshold {found.threshold:g}."
    )
    return section(
        "again", title, [table("the same search under other conditions", head, rows, note=note)]
    )


def _every(found: MinimalCircuits) -> Section:
    sentences = [sentence(one) for one in found.sentences()]
    if found.core:
        sentences.append(f"In all of them: {listed(found.core)}.")
    if len(found.circuits) > SHOWN:
        sentences.append(f"And {len(found.circuits) - SHOWN} more, in circuits.json.")
    rows = [
        [len(circuit), loss, listed(path for path in circuit if path not in found.core)]
        for circuit, loss in zip(found.circuits[:SHOWN], found.losses, strict=False)
    ]
    head = ["paths", "loss", "paths that not all have"]
    tables = [table("minimal circuits", head, rows)] if rows else []
    return section("every", "Are there other circuits?", tables, sentences)


def _dependence(found: Dependence) -> Section:
    sentences, rows = [f"{when(found)}."], list[list[Cell]]()
    for training in (found.free, *found.clamped):
        lacks = [grown.path for grown in training.paths if not grown.formed]
        learnt = [f"{typeset(h)} (step {training.hops[h]:,.0f})" for h in training.learnt]
        clamped = "nothing" if training.clamped is None else typeset(str(training.clamped))
        rows.append([clamped, training.loss, ", ".join(learnt) or "none", listed(lacks)])
    head = ["clamped", "loss", "hops learnt", "do not form"]
    tables = [table("clamped trainings", head, rows)]
    if found.predicts:
        pairs = [
            [
                typeset(str(pair.clamped)),
                typeset(str(pair.other)),
                "does not form" if pair.needs else "forms",
                None if pair.formed is None else "forms" if pair.formed else "does not form",
                pair.agrees,
            ]
            for pair in found.pairs
            if pair.needs is not None and (pair.needs or pair.agrees is False)
        ]
        head = ["clamped", "other path", "predicted", "measured", "as predicted"]
        tables.append(table("predicted dependences, and others that were found", head, pairs))
    if found.predicts and found.throughout:
        sentences.append(verdict(found))
        kinds = [
            [f"{kind}: {MEANINGS[kind]}", "does not form" if kind in NEEDS else "forms", str(share)]
            for kind in KINDS
            if (share := Share.of(found.pairs, kind)).count
        ]
        head = ["P is clamped", "then Q", "it does so"]
        tables.append(table("how often the prediction came true", head, kinds))
    return section("dependence", "What depends on what?", tables, sentences)


def _fields(findings: Findings) -> Iterator[Table]:
    config = findings.run.config
    parts: dict[str, list[list[Cell]]] = {"task": [], "model": [], "training": [], "run": []}
    for name, value in flat(config).items():
        first, _, field = name.partition(".")
        parts[first if field else "run"].append([field or first, _plain(value)])
    if (defined := task_to_json(config.task).get("defined")) is not None:
        parts["task"].append(["defined in", defined["file"]])
    for name, rows in parts.items():
        if rows:
            yield table(name, ["field", "value"], rows)


def _session(session: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in session.items():
        is_command = name == "command"
        yield name, shlex.join(map(str, value or [])) or "not recorded" if is_command else value


def _plain(value: Any) -> str:
    """A value of JSON in words."""
    if value is None or isinstance(value, bool):
        return "none" if value is None else str(value).lower()
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _step(step: float | None) -> str:
    return "never" if step is None else f"{step:,.0f}"
