"""Section 1 of the comparison: the runs in a table, and what some of them lack."""

from collections.abc import Mapping, Sequence
from typing import Any

from headway.circuits import THRESHOLD
from headway.report.comparison.members import Member
from headway.report.page.html import (
    command,
    escape,
    missing,
    number,
    section,
    table,
    tag,
    whole,
)
from headway.report.settings import label_field, task_words
from headway.training.config import flat
from headway.words import said, short_names, varied

SHOWN = ("task.kind", "seed", "model.n_layers", "model.n_heads", "model.d_model", "model.causal")
"""Fields that have columns of their own."""


def the_runs(members: Sequence[Member]) -> str:
    """Section 1."""
    configs = [flat(member.findings.run.config) for member in members]
    told = [f"task.{label_field(member.findings.run.config.task)}" for member in members]
    names = [name for name in varied_in_all(configs) if name not in (*SHOWN, *told)]
    short = short_names(names)
    rows = []
    for member, config in zip(members, configs, strict=True):
        others = [escape(_said(config[name])) for name in names]
        rows.append([*_setting(member), *_figures(member), *others])
    columns = ["run", "task", "model", "seed", *FIGURES, *(short[name] for name in names)]
    html = tag("div", table(columns, rows, "the runs"), class_="sortable")
    html += (
        '<p class="under">Click a column\'s name to sort by it. <b>circuit loss</b>: with every'
        " head replaced by what it was found to do. <b>layers used</b>: with a useful head."
        " <b>flow minimum</b>: the fewest layers that can do by the theory. <b>steps to solve</b>:"
        f" to the first evaluation below {THRESHOLD:g}. <b>in order</b>: whether no hop was learnt"
        " before one that is nearer to the query.</p>"
    )
    return section("runs", "The runs", html + _lacking(members))


FIGURES = (
    *("status", "validation loss", "circuit loss", "faithful", "useful heads"),
    *("layers used", "flow minimum", "steps to solve", "in order"),
)


def varied_in_all(configs: Sequence[Mapping[str, Any]]) -> list[str]:
    """The fields that vary and that all runs have; the others follow from the kind of task."""
    return [name for name in varied(configs) if all(name in config for config in configs)]


def _setting(member: Member) -> list[str]:
    config = member.findings.run.config
    model = f"{config.model.n_layers} × {config.model.n_heads}, {config.model.size}"
    model += "" if config.model.causal else ", no mask"
    return [member.tag, escape(task_words(config.task)), model, str(config.seed)]


def _figures(member: Member) -> list[str]:
    findings = member.findings
    discovery, solved = findings.discovery, findings.solved_at
    cells = [member.status, number(findings.loss)]
    if discovery is None:
        cells += [number(None)] * 4
    else:
        circuit = discovery.circuit
        cells += [
            number(discovery.replaced_loss),
            yes_or_no(discovery.faithful),
            f"{len(circuit.useful_heads)} of {len(circuit.mechanisms)}",
            str(len(circuit.useful_layers)),
        ]
    cells.append(findings.least.cell)
    cells.append(number(None) if solved is None else whole(solved["step"]))
    return [*cells, yes_or_no(member.in_chain_order)]


def _said(value: Any) -> str:
    """A field's value; numbers that were computed without their last digits."""
    return f"{value:.6g}" if isinstance(value, float) else said(value)


def yes_or_no(holds: bool | None) -> str:
    """A verdict as a sign and a word; a dash if it cannot be said."""
    if holds is None:
        return number(None)
    look, sign, word = ("yes", "✓", "yes") if holds else ("no", "✗", "no")
    return f'<span class="verdictword {look}">{sign} {word}</span>'


def _lacking(members: Sequence[Member]) -> str:
    """What some runs lack, and which command adds it."""
    lines = []
    for member in members:
        findings, folder = member.findings, member.findings.run.folder
        told = []
        if findings.outcome is not None and findings.outcome["status"] == "failed":
            told.append(f"training failed: {escape(findings.outcome.get('message'))}.")
        elif member.status == "running":
            told.append("still training.")
        elif findings.outcome is None:
            told.append("training was stopped.")
        if not findings.metrics:
            told.append("There is no evaluation yet.")
        if not findings.checkpoints:
            told.append("There are no checkpoints.")
        elif findings.no_circuit is not None:
            told.append(findings.no_circuit)
        elif findings.discovery is None:
            told.append(f"No circuit has been looked for: {command(folder, 'circuit')}")
        elif findings.timeline is None:
            told.append(f"The circuit's paths are not dated: {command(folder, 'emergence')}")
        if told:
            lines.append(f"{member.tag}: {' '.join(told)}")
    if not lines:
        return ""
    return missing("What is not there is left out below.<br>" + "<br>".join(lines))
