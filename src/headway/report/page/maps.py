"""Attention on the page: every head's attention, between roles or position by position."""

from headway.report.findings import SEQUENCES, Findings
from headway.report.history import History
from headway.report.page.html import command, counted, figure, missing, section, tag
from headway.report.roles import places


def attention(findings: Findings, seen: History | None) -> str:
    """The page's script draws the maps, at the checkpoint where the page stands."""
    if seen is None:
        return section("attention", "Attention", tag("p", findings.no_maps or ""))
    controls = tag("output", "", id="readout", aria_live="polite")
    if findings.task.roles:
        controls = (
            _choice("view", "show", (("roles", "mean"), ("example", "one sequence")))
            + _choice("order", "sort by", (("position", "position"), ("role", "role")))
            + controls
        )
    maps = tag("div", controls, class_="controls") + tag("div", "", id="maps")
    html = figure(maps, _caption(findings, seen), "attention")
    html += (
        '<noscript><p class="missing">The maps, the slider and the switches need'
        " JavaScript.</p></noscript>"
    )
    if findings.discovery is None:
        html += missing(
            f"{command(findings.run.folder, 'circuit')} finds which of these cells matter."
        )
    return section("attention", "Attention", html)


def _caption(findings: Findings, seen: History) -> str:
    sequence = "the sequence of the task, every position by itself"
    if findings.task.roles:
        edges = "; the coloured edges tell the symbol at a position"
        caption = (
            f"<b>Mean</b>: how much each role of a chain (row) attends to each role of the same"
            f" chain (column), over {SEQUENCES} held-out sequences and all chains; the last column"
            f" is what goes elsewhere. <b>One sequence</b>: {sequence}, in the order in which it"
            " stands or with equal roles side by side"
            f"{edges if any(place.symbol for place in places(findings.task)) else ''}. "
        )
    else:
        caption = (
            f"How much each position (row) attends to each position (column): {sequence}. The mean"
            " attention along the relations of the circuit is in the table of paths. "
        )
    caption += (
        "Point at a cell to read it. Framed cells are the circuit's paths (where they are many and"
        " small, those that are pointed at): a click on one, or on an arrow of the circuit, lights"
        " it up in both."
    )
    left_out = len(findings.heads) - len(findings.followed_heads)
    if left_out:
        caption += f" {counted(left_out, 'head')} without a path are left out here."
    if len(seen.example_steps) < len(seen.steps):
        caption += (
            f" Of one sequence, {len(seen.example_steps)} of {len(seen.steps)} checkpoints are"
            " kept; the nearest is shown."
        )
    return caption


def _choice(name: str, words: str, options: tuple[tuple[str, str], ...]) -> str:
    """A row of buttons of which one is pressed, the first at the start."""
    buttons = "".join(
        tag(
            "button",
            label,
            type="button",
            data_choice=name,
            data_value=value,
            aria_pressed="true" if value == options[0][0] else "false",
        )
        for value, label in options
    )
    return tag("span", f"{words} {buttons}", class_="choice", role="group", aria_label=words)
