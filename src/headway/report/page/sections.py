"""Sections 1 and 2 of the page: what was learned, and by which circuit."""

from headway.circuits import THRESHOLD, Paths
from headway.report.findings import Findings
from headway.report.labels import rounded
from headway.report.page.certificate import certificate, evidence
from headway.report.page.header import example
from headway.report.page.html import escape, figure, inline_svg, path_tag, section, table, tag
from headway.report.page.story import branch_caption, the_way

MOST_ROWS = 24
"""Tables longer than this start folded."""


def command(findings: Findings, verb: str) -> str:
    """The command line that runs a verb on this run, as HTML."""
    folder = findings.run.folder
    shown = folder.name if folder.is_absolute() else folder
    return f"<code>headway {verb} {escape(shown)}</code>"


def what_was_learned(findings: Findings, svgs: dict[str, str]) -> str:
    """Section 1: the task by example, and the losses."""
    html = example(findings)
    if "losses" not in svgs:
        html += tag("p", "There is no evaluation yet, so there is no curve to draw.")
        return section("learned", 1, "What was learned", html)
    last = findings.metrics[-1]
    references = findings.run.task.reference_losses()
    levels = "; ".join(f"{name} {rounded(loss)}" for name, loss in references.items())
    alt = (
        f"Losses against the step, up to step {last['step']}: validation"
        f" {last['val_loss']:.3g}, training {last['train_loss']:.3g}."
    )
    caption = (
        "Mean squared error on held-out sequences; <b>partial losses</b> are of one hop alone and"
        " the validation loss is their mean. Dotted: what predictors that follow no chain lose"
        f" ({escape(levels)}). The task counts as solved below {THRESHOLD:g}."
    )
    html += figure(inline_svg(svgs["losses"], "losses"), alt, caption)
    return section("learned", 1, "What was learned", html)


def the_circuit(findings: Findings, svgs: dict[str, str]) -> str:
    """Section 2: the drawing, the certificate, the way to the answer, every head's mechanism."""
    discovery = findings.discovery
    if discovery is None:
        html = tag(
            "p",
            "The circuit has not been looked for yet. This finds a mechanism for every head and"
            f" tests it: {command(findings, 'circuit')}",
            class_="missing",
        )
        return section("circuit", 2, "The circuit", html)
    paths = discovery.circuit.paths
    alt = "The paths of the circuit: " + "; ".join(
        f"layer {layer} head {head} {relation}" for layer, head, relation in paths
    )
    caption = (
        "One chain, its positions in the order of the sequence. An arrow runs from the position"
        " attended to, before the layer, to the position that attends, after it. Small labels: the"
        " symbols a position comes by if the heads copy all that stands where they look."
        f"{branch_caption(findings.run.task, paths)} Losses in the title: ablation"
        f" {escape(findings.ablation)}."
    )
    html = figure(inline_svg(svgs["circuit"], "circuit"), alt, caption)
    html += "<h3>Certificate</h3>" + certificate(findings)
    way = the_way(findings)
    html += f"<h3>How it comes by the answer</h3>{way}" if way else ""
    html += evidence(findings)
    html += "<h3>What every head does</h3>" + _mechanisms(findings)
    return section("circuit", 2, "The circuit", html)


def _mechanisms(findings: Findings) -> str:
    assert findings.discovery is not None
    rows = []
    for (layer, head), mechanism in sorted(
        findings.discovery.circuit.mechanisms.items(), key=lambda item: item[0]
    ):
        if isinstance(mechanism, Paths):
            does = "&emsp;".join(path_tag(relation) for relation in sorted(mechanism.relations))
            does = does or '<span class="none">nothing</span>'
        else:
            does = f'<span class="none">{mechanism}</span>'
        rows.append((str(layer), str(head), does))
    html = table(("layer", "head", "mechanism"), rows, "mechanisms")
    if len(rows) > MOST_ROWS:
        html = f"<details><summary>{len(rows)} heads</summary>{html}</details>"
    return html + (
        '<p class="under"><b>uniform</b>: the mean over all it may see; <b>identity</b>: itself;'
        " else it attends along these paths only, each from the role that attends to the role"
        " attended to in the same chain. The simplest mechanism that keeps the loss small is"
        " kept.</p>"
    )
