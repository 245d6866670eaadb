"""Section 3 of the page: when every path was born, when it was needed, when hops were learnt."""

from headway.circuits import PathHistory, Timeline
from headway.circuits.emergence import BIRTH, MATTERS, crossing
from headway.report.figures.emergence_plot import ending
from headway.report.findings import Findings
from headway.report.page.html import (
    change,
    figure,
    inline_svg,
    named,
    path_tag,
    section,
    table,
    tag,
    whole,
)
from headway.report.page.sections import command


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
        f"layer {h.path[0]} head {h.path[1]} {h.path[2]}, "
        + (f"born at step {h.born:.0f}" if h.born is not None else "not born")
        + (f", needed from step {h.needed:.0f}" if h.needed is not None else ", never needed")
        for h in timeline.paths
    )
    over = f"{whole(timeline.sequences)} held-out sequences"
    caption = (
        f"At {whole(len(timeline.steps))} checkpoints. Top: the attention along each path, averaged"
        f" over {over} and all chains; a path is <b>born</b> where it first passes {BIRTH:g}, and"
        " thin vertical lines carry the births down. Middle: the loss of the model as it was then,"
        " and its loss when one path is knocked out (knock-out: attention along the path set to"
        " zero, all else as it is); a path is <b>needed</b> from where the rise first passes half"
        " of its largest value. Bottom: the partial losses; a hop is learnt where its own first"
        f" falls below {BIRTH:g}. All markers are interpolated."
        f"{ending(timeline, findings.metrics)}"
    )
    html = figure(inline_svg(svgs["emergence"], "emergence"), alt, caption)
    never = '<span class="none">never</span>'
    paths = [
        (
            *map(str, h.path[:2]),
            path_tag(h.path[2]),
            whole(h.born),
            *(
                never if step is None else whole(step)
                for step in (felt_from(h, timeline), h.needed)
            ),
            change(max(rises(h, timeline))),
        )
        for h in sorted(timeline.paths, key=lambda h: (h.born is None, h.born))
    ]
    hops = [(named(hop), whole(step)) for hop, step in timeline.hops.items()]
    order = "were" if timeline.in_chain_order else "were <b>not</b>"
    order = f"The hops {order} learnt in the order of the chain."
    if timeline.in_chain_order is None:
        order = "There is no order of hops to compare."
    if all(step is None for step in timeline.hops.values()):
        order = "No hop was learnt."
    columns = ("layer", "head", "path", "born at step", "felt from", "needed from", "largest rise")
    html += tag(
        "div",
        table(columns, paths, "births of paths, and from when they were needed")
        + table(("hop", "below 0.5 at step"), hops, "when hops were learnt"),
        class_="pair",
    )
    rise = (
        f"<b>felt</b>: the step at which the rise of the loss first passes {MATTERS:g}; it may pass"
        " half of its largest value, and so count as <b>needed</b>, much later, when later hops"
        f" come to depend on the path too. If no rise is above {MATTERS:g}, the model as it was"
        " never needed the path."
    )
    html += f'<p class="under">{order} {rise}</p>'
    return section("births", 3, "When each head was born", html)


def rises(history: PathHistory, timeline: Timeline) -> list[float]:
    """By how much a path's knock-out raises the loss, at every checkpoint."""
    return [cut - loss for cut, loss in zip(history.loss_without, timeline.loss, strict=True)]


def felt_from(history: PathHistory, timeline: Timeline) -> float | None:
    """The step from which a path's knock-out raises the loss by more than 0.02; none if never."""
    return crossing(timeline.steps, rises(history, timeline), MATTERS)
