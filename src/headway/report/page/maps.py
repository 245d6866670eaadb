"""Section 3 of the page: every head's attention, between roles or position by position."""

from headway.report.findings import SEQUENCES, Findings
from headway.report.history import History
from headway.report.page.header import example
from headway.report.page.html import command, counted, figure, missing, section, tag


def attention(findings: Findings, seen: History | None) -> str:
    """Section 3. The page's script draws the maps, at the checkpoint where the page stands."""
    html = example(findings)
    if seen is None:
        html += tag("p", "The run has no checkpoint yet, so there is no attention to show.")
        return section("attention", 3, "Attention", html)
    model = findings.run.config.model
    left_out = model.n_layers * model.n_heads - len(findings.followed_heads)
    caption = (
        f"<b>Mean</b>: how much each role of a chain (row) attends to each role of the same chain"
        f" (column), over {SEQUENCES} held-out sequences and all chains; the last column is what"
        " goes to other chains. <b>One sequence</b>: the sequence above, every position by itself,"
        " in the order in which it stands or with equal roles side by side; the coloured edges"
        " tell the symbol at a position. Point at a cell to read it. Framed cells are the"
        " circuit's paths: a click on one, or on an arrow of the circuit, lights it up in both."
    )
    if left_out:
        caption += f" {counted(left_out, 'head')} without a path are left out here."
    if len(seen.example_steps) < len(seen.steps):
        caption += (
            f" Of one sequence, {len(seen.example_steps)} of {len(seen.steps)} checkpoints are"
            " kept; the nearest is shown."
        )
    controls = (
        _choice("view", "show", (("roles", "mean"), ("example", "one sequence")))
        + _choice("order", "sort by", (("position", "position"), ("role", "role")))
        + tag("output", "", id="readout", aria_live="polite")
    )
    maps = tag("div", controls, class_="controls") + tag("div", "", id="maps")
    html += figure(maps, caption, "attention")
    html += (
        '<noscript><p class="missing">The maps, the slider and the switches need'
        " JavaScript.</p></noscript>"
    )
    if findings.discovery is None:
        html += missing(
            f"{command(findings.run.folder, 'circuit')} finds which of these cells matter."
        )
    return section("attention", 3, "Attention", html)


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
