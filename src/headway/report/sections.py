"""Sections 1 to 3 of the page: what was learned, by which circuit, and when."""

from headway.circuits import THRESHOLD, Paths
from headway.report.findings import Findings
from headway.report.header import example
from headway.report.html import (
    escape,
    figure,
    inline_svg,
    named,
    number,
    section,
    table,
    tag,
    whole,
)
from headway.report.style import rounded

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
    """Section 2: the drawing, every head's mechanism, and what cutting a path costs."""
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
    )
    html = figure(inline_svg(svgs["circuit"], "circuit"), alt, caption)
    html += "<h3>What every head does</h3>" + _mechanisms(findings)
    html += "<h3>Does the circuit do what the model does?</h3>" + _faithfulness(findings)
    html += "<h3>Is every path needed?</h3>" + _necessity(findings)
    return section("circuit", 2, "The circuit", html)


def _mechanisms(findings: Findings) -> str:
    assert findings.discovery is not None
    rows = []
    for (layer, head), mechanism in sorted(
        findings.discovery.circuit.mechanisms.items(), key=lambda item: item[0]
    ):
        if isinstance(mechanism, Paths):
            does = " ".join(_path(relation) for relation in sorted(mechanism.relations))
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


def _faithfulness(findings: Findings) -> str:
    discovery = findings.discovery
    assert discovery is not None
    rows = [
        (named(hop), number(discovery.intact[hop]), number(discovery.replaced[hop]))
        for hop in discovery.intact
    ]
    rows.append(("<b>mean</b>", number(discovery.intact_loss), number(discovery.replaced_loss)))
    verdict = "below" if discovery.faithful else "<b>not</b> below"
    return table(("hop", "model as it is", "every head replaced"), rows, "losses") + (
        f'<p class="under">Mean squared error over {whole(discovery.sequences)} held-out sequences'
        f" of a sample of their own. All {len(discovery.circuit.mechanisms)} heads are replaced at"
        f" once ({escape(findings.ablation)}); the loss is {verdict} the threshold"
        f" {discovery.threshold:g}. The search took {whole(discovery.forwards)} forward passes"
        f" and {number(discovery.seconds)} s.</p>"
    )


def _necessity(findings: Findings) -> str:
    discovery = findings.discovery
    assert discovery is not None
    if not discovery.necessity:
        return tag("p", "The circuit has no path.")
    worst = max(n.loss for n in discovery.necessity)
    rows = []
    for n in discovery.necessity:
        layer, head, relation = n.path
        share = 0 if worst <= 0 else 100 * n.loss / worst
        bar = f'<i class="bar" style="width:{share:.0f}%"></i>'
        rows.append(
            (
                str(layer),
                str(head),
                _path(relation),
                number(n.attention),
                f'<span class="barred">{number(n.loss)}{bar}</span>',
                number(n.loss - discovery.replaced_loss),
                number(n.free),
                number(n.uniform),
            )
        )
    head = (
        "layer",
        "head",
        "path",
        "attention",
        "loss without it",
        "rise",
        "heads above free",
        "head uniform",
    )
    return table(head, rows, "necessity of paths") + (
        '<p class="under">Each path is cut on its own while all other paths stay'
        f" ({escape(findings.ablation)}; {whole(discovery.sequences)} sequences)."
        " <b>attention</b>: the model's own, averaged. <b>rise</b>: against the whole circuit,"
        f" {number(discovery.replaced_loss)}. <b>heads above free</b>: the loss without the path"
        " when the useful heads of the layers above attend as they like, so that a head which only"
        " helps them to find their place counts too. <b>head uniform</b>: the loss when the path's"
        " head looks everywhere equally.</p>"
    )


def births(findings: Findings, svgs: dict[str, str]) -> str:
    """Section 3: when every path was born and every hop learnt."""
    timeline = findings.timeline
    if timeline is None:
        first = "" if findings.discovery else f" (after {command(findings, 'circuit')})"
        html = tag(
            "p",
            "The circuit's paths have not been dated yet. This follows each of them through the"
            f" checkpoints: {command(findings, 'emergence')}{first}",
            class_="missing",
        )
        return section("births", 3, "When each head was born", html)
    alt = "; ".join(
        f"layer {h.path[0]} head {h.path[1]} {h.path[2]} "
        + (f"born at step {h.born:.0f}" if h.born is not None else "not born")
        for h in timeline.paths
    )
    caption = (
        "Above, the attention along each path, averaged over"
        f" {whole(timeline.sequences)} held-out sequences and all chains, at"
        f" {whole(len(timeline.steps))} checkpoints; below, the partial losses. A path is born"
        " where its attention first passes 0.5, a hop is learnt where its loss first falls below"
        " 0.5 (both interpolated). Thin vertical lines carry the births down."
    )
    html = figure(inline_svg(svgs["emergence"], "emergence"), alt, caption)
    by_birth = sorted(timeline.paths, key=lambda h: (h.born is None, h.born))
    paths = [(*map(str, h.path[:2]), _path(h.path[2]), whole(h.born)) for h in by_birth]
    hops = [(named(hop), whole(step)) for hop, step in timeline.hops.items()]
    order = "were" if timeline.in_chain_order else "were <b>not</b>"
    order = f"The hops {order} learnt in the order of the chain."
    if timeline.in_chain_order is None:
        order = "There is no order of hops to compare."
    if all(step is None for step in timeline.hops.values()):
        order = "No hop was learnt."
    html += tag(
        "div",
        table(("layer", "head", "path", "born at step"), paths, "births of paths")
        + table(("hop", "below 0.5 at step"), hops, "when hops were learnt"),
        class_="pair",
    )
    html += f'<p class="under">{order}</p>'
    return section("births", 3, "When each head was born", html)


def _path(relation: str) -> str:
    return f'<span class="path" data-path="{escape(relation)}">{named(relation)}</span>'
