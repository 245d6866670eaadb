"""The evidence for the circuit: the verdicts on the circuit, and the tables they rest on."""

from headway.circuits import ABLATIONS, Discovery, Path, Trial
from headway.circuits.evidence import INTERVAL
from headway.report.findings import Findings
from headway.report.page.every import every_circuit
from headway.report.page.html import (
    counted,
    escape,
    listed,
    named,
    number,
    place_of,
    section,
    table,
    tag,
    where,
    whole,
)
from headway.report.page.hypotheses import hypothesis_tests
from headway.report.page.likeness import likeness
from headway.report.page.mlps import mlps
from headway.report.page.verdicts import Verdict, untestable, verdicts

MARKS = {True: ("✓", "yes"), False: ("✗", "no"), None: ("–", "open")}


def evidence_section(findings: Findings) -> str:
    """Verdicts and tables."""
    if findings.discovery is None:
        html = tag("p", "Without a circuit there is nothing to give evidence for.")
    else:
        html = certificate(findings) + evidence(findings)
    return section("evidence", "The evidence", html)


def certificate(findings: Findings) -> str:
    """The five verdicts, and how they were measured."""
    discovery = findings.discovery
    assert discovery is not None
    found = verdicts(discovery, findings.several_heads)
    return (
        tag("dl", "".join(_verdict(verdict) for verdict in found), class_="verdicts")
        + f'<p class="under">{_measured(findings, discovery)}</p>'
    )


def evidence(findings: Findings) -> str:
    """What the verdicts rest on: losses, ways of ablation, paths, and other searches, as tables."""
    discovery, several = findings.discovery, findings.several_heads
    assert discovery is not None
    losses = tag("div", _losses(discovery)) + tag("div", _variants(discovery))
    return (
        "<h3>Does the circuit do what the model does?</h3>"
        + tag("div", losses, class_="pair")
        + likeness(discovery.certificate, findings.guarantee)
        + hypothesis_tests(findings.tested, several)
        + "<h3>Is every path needed?</h3>"
        + f"<p>{_cuts(discovery)} {_backups(discovery, several)}</p>"
        + mlps(discovery.certificate.mlps)
        + "<h3>Would another search find it again?</h3>"
        + _trials(discovery, several)
        + every_circuit(findings.circuits, several)
    )


def _verdict(verdict: Verdict) -> str:
    mark, kind = MARKS[verdict.holds]
    said = {True: verdict.name, False: f"not {verdict.name}", None: f"{verdict.name}: open"}
    icon = tag("span", mark, class_=f"mark {kind}", aria_hidden="true")
    return f"<div><dt>{icon} {said[verdict.holds]}</dt><dd>{verdict.words}</dd></div>\n"


def _measured(findings: Findings, discovery: Discovery) -> str:
    found = discovery.certificate
    return (
        f"Losses ({findings.task.targets.loss_name}) are means over {whole(found.sequences)}"
        " held-out sequences that the search did not see; intervals hold"
        f" {INTERVAL:.0%} of the means of resampled sequences (bootstrap). All"
        f" {len(discovery.circuit.mechanisms)} heads are replaced at once, ablation:"
        f" <b>{escape(ABLATIONS[discovery.ablation])}</b>; that holds for every loss of this"
        f" section but where another is named. Search and evidence judged"
        f" {whole(discovery.candidates)} candidates, at the cost of {whole(discovery.forwards)}"
        f" forward passes over as many sequences, in {number(discovery.seconds)} s."
    )


def _losses(discovery: Discovery) -> str:
    found = discovery.certificate
    rows = [
        (named(hop), number(found.intact[hop]), _marked(found.replaced[hop], discovery.threshold))
        for hop in found.intact
    ]
    mean = _marked(discovery.replaced_loss, discovery.threshold)
    rows.append(("<b>mean</b>", number(discovery.intact_loss), mean))
    head = ("hop", "model as it is", "every head replaced")
    return table(head, rows, "losses of model and circuit")


def _variants(discovery: Discovery) -> str:
    rows = []
    for kind, described in ABLATIONS.items():
        words = escape(described.rpartition("rows without a path ")[2])
        if kind == discovery.ablation:
            words = f"<b>{words}</b> (as searched)"
        loss = discovery.certificate.variants[kind]
        rows.append((words, _marked(loss, discovery.threshold)))
    head = ("rows without a path …", "every head replaced")
    return table(head, rows, "losses by what stands in rows without a path")


def _cuts(discovery: Discovery) -> str:
    """Where the table is that says it path by path."""
    if not discovery.circuit.paths:
        return "The circuit has no path."
    return (
        'Path by path: <a href="#circuit" data-unfold="evidence">the columns of the evidence</a>'
        " in the table of paths."
    )


def _backups(discovery: Discovery, several: bool) -> str:
    found = discovery.certificate
    if (why := untestable(discovery)) is not None:
        return f"<b>Back-ups.</b> {why}"
    if not found.backups:
        return (
            "<b>Back-ups.</b> None: no other head that attends along the relation of one of these"
            " paths could do its work."
        )
    told = "; ".join(
        f"{place_of(b.path, several)} could be done by {where(b.by.at, several)}"
        + f" (loss {number(b.loss)})"
        for b in found.backups
    )
    return (
        f"<b>Back-ups.</b> {told}. The loss is with that head in the path's place, in whichever"
        " of the two ways is worse."
    )


def _trials(discovery: Discovery, several: bool) -> str:
    own = discovery.circuit.paths
    if not discovery.certificate.trials:
        return tag("p", "The search was not repeated.")
    rows = [
        (
            "the same" if trial.sample == "circuit" else f"another ({escape(trial.sample)})",
            number(trial.threshold),
            str(len(trial.paths)),
            f"{trial.jaccard:.2f}",
            _difference(trial, own, several),
        )
        for trial in discovery.certificate.trials
    ]
    head = ("sample", "threshold", "paths", "Jaccard", "against this circuit")
    return table(head, rows, "the same search under other conditions") + (
        '<p class="under"><b>Jaccard</b>: paths in both circuits / paths in either. This circuit:'
        f" {counted(len(own), 'path')} at the threshold {discovery.threshold:g}.</p>"
    )


def _difference(trial: Trial, own: list[Path], several: bool) -> str:
    lost = [place_of(path, several) for path in own if path not in trial.paths]
    more = [place_of(path, several) for path in trial.paths if path not in own]
    parts = [
        f"{word} {listed(paths)}" for word, paths in (("without", lost), ("also", more)) if paths
    ]
    return "; ".join(parts) or "the same paths"


def _marked(loss: float, threshold: float) -> str:
    """A loss, with a mark if it is not below the threshold."""
    return number(loss) if loss < threshold else f"{number(loss)} ✗"
