"""Attention on the page: every head's attention, between roles or position by position."""

from headway.circuits.emergence import MATTERS
from headway.circuits.roles import places
from headway.circuits.strays import STRONG, Stray
from headway.report.findings import SEQUENCES, Findings
from headway.report.history import History
from headway.report.page.html import command, counted, figure, missing, place_of, section, tag

MOST_NAMED = 8
"""Places of strong attention that are named, of each kind."""


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
    controls = colour_bar() + controls
    maps = tag("div", controls, class_="controls") + tag("div", "", id="maps")
    html = figure(maps, _caption(findings, seen), "attention")
    html += (
        '<noscript><p class="missing">The maps, the slider and the switches need'
        " JavaScript.</p></noscript>"
    )
    html += _strays(findings)
    if findings.discovery is None:
        html += missing(
            f"{command(findings.run.folder, 'circuit')} finds which of these cells matter."
        )
    return section("attention", "Attention", html)


def colour_bar() -> str:
    """What the shades of the maps stand for."""
    shades = "".join(f'<i style="--share:{(at / 5) ** 0.8:.2f}"></i>' for at in range(6))
    return tag("span", f"attention 0{shades}1", class_="colourbar")


def cost(stray: Stray) -> str:
    """What cutting strong attention costs, to three places after the point."""
    return f"{max(stray.rise, 0):.3f}"


def _strays(findings: Findings) -> str:
    """Which strong attention is no path, and what it costs to cut it; empty if there is none."""
    if not findings.strays:
        return ""
    told = {True: [], False: []}
    for stray in findings.strays:
        place = place_of(stray.path, findings.several_heads)
        told[stray.rise >= MATTERS].append(f"{place} ({stray.attention:.2f}) {cost(stray)}")
    words = ""
    for matters, said in ((False, "attends, not needed"), (True, "no path, yet it matters")):
        if told[matters]:
            some, rest = told[matters][:MOST_NAMED], len(told[matters]) - MOST_NAMED
            more = f"; and {rest} more" if rest > 0 else ""
            words += f" <b>{said}</b>, with what cutting it costs: {'; '.join(some)}{more}."
    return tag(
        "p",
        f"Strong attention, of {STRONG:g} or more, that is no path of the circuit (dotted):{words}"
        " The cost is the rise of the model's loss with this attention alone set to zero, at the"
        f" last checkpoint, over the {SEQUENCES} sequences of the maps. A head that has nothing to"
        " fetch at a position still attends somewhere.",
        class_="under",
    )


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
