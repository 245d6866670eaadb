"""The emergence figure: when every path was born and every hop was learnt."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from headway.circuits import Timeline
from headway.circuits.emergence import BIRTH
from headway.report.style import FAINT, PAPER, Line, hop_lines, path_lines, styled, typeset


@styled
def draw_emergence(timeline: Timeline, metrics: Sequence[Mapping[str, Any]]) -> Figure:
    """Attention along every path above, partial losses below, against the same steps.

    Markers stand where a path's attention first passes 0.5 (its birth) and where a partial loss
    first passes below 0.5; the births are carried down as thin vertical lines.

    Args:
        timeline: of the circuit's paths.
        metrics: the evaluations of the same run, as in `metrics.jsonl`.
    """
    several_heads = any(history.path[1] > 0 for history in timeline.paths)
    rows = len(timeline.paths) + len(timeline.hops)
    figure = Figure(figsize=(7.6, max(4.6, 0.19 * rows + 1.6)), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)

    lines = path_lines([history.path for history in timeline.paths])
    for history, line in zip(timeline.paths, lines, strict=True):
        layer, head, relation = history.path
        where = f"L{layer}" + (f".{head}" if several_heads else "")
        name = f"{where} {typeset(relation)}  {_when(history.born)}"
        _curve(above, timeline.steps, history.attention, history.born, line, name)
        if history.born is not None:
            for axes in (above, below):
                axes.axvline(history.born, color=line.colour, lw=0.8, alpha=0.35, zorder=1)
    above.set_ylim(-0.03, 1.05)
    above.set_ylabel("attention along the path")

    steps = [line["step"] for line in metrics]
    if steps:
        for hop, line in hop_lines(list(timeline.hops)).items():
            values = [m["partial"][hop] for m in metrics]
            name = f"{typeset(hop)}  {_when(timeline.hops[hop])}"
            _curve(below, steps, values, timeline.hops[hop], line, name)
    below.set_ylim(bottom=0)
    below.set_ylabel("partial loss (held out)")
    below.set_xlabel("step")
    below.set_xlim(0, max([*timeline.steps, *steps, 1]))

    for axes, title in ((above, "paths, and their births"), (below, "hops, and when learnt")):
        axes.axhline(BIRTH, color=FAINT, lw=0.7, ls=(0, (1, 2)), zorder=1)
        if axes.get_legend_handles_labels()[0]:
            axes.legend(
                loc="upper left",
                bbox_to_anchor=(1.01, 1.03),
                title=title,
                title_fontsize=8,
                alignment="left",
                fontsize=8 if rows < 24 else 6.5,
            )
    figure.align_ylabels()
    return figure


def _curve(
    axes: Axes,
    steps: Sequence[float | int],
    values: Sequence[float],
    crossing: float | int | None,
    line: Line,
    name: str,
) -> None:
    """A curve with a marker where it crosses the level, and the same marker in the legend."""
    axes.plot(steps, values, color=line.colour, ls=line.dashes, lw=1.5, zorder=3)
    look = {"color": line.colour, "marker": line.marker, "ms": 6, "mec": PAPER, "mew": 0.8}
    if crossing is not None:
        axes.plot(crossing, BIRTH, zorder=5, ls="none", **look)
    else:
        look["marker"] = ""
    axes.plot([], [], ls=line.dashes, lw=1.5, label=name, **look)


def _when(step: float | int | None) -> str:
    return "not yet" if step is None else f"step {step:.0f}"
