"""The emergence figure: when every path was born and needed, and when every hop was learnt."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from headway.circuits import Timeline
from headway.circuits.casting import cast_of
from headway.circuits.emergence import BIRTH
from headway.report.figures.style import FAINT, INK, PAPER, Line, hop_lines, path_lines, styled
from headway.report.labels import typeset
from headway.report.span import shown_until
from headway.tasks import Task

MANY = 20
"""From so many paths on, the legend is set smaller."""


@styled
def draw_emergence(
    timeline: Timeline, metrics: Sequence[Mapping[str, Any]], task: Task | None = None
) -> Figure:
    """Attention along every path, the loss when it is knocked out, and partial losses, by step.

    Markers stand where a path's attention first passes 0.5 (its birth), where the rise of the
    loss without it first passes half of its largest value, and where a partial loss first passes
    below 0.5; the births are carried down as thin vertical lines. A path has the same colour,
    dashes and marker wherever it is drawn.

    Args:
        timeline: of the circuit's paths.
        metrics: the evaluations of the same run, as in `metrics.jsonl`.
        task: of the run, if paths are to be coloured by what they carry; by default by their head.
    """
    figure, (above, middle, below) = _panels(timeline)

    middle.plot(timeline.steps, timeline.loss, color=INK, lw=2.2, zorder=4)
    above.plot([], [], color=INK, lw=2.2, label="the model as it is")
    lines = path_lines(task or cast_of(timeline), [history.path for history in timeline.paths])
    for history, line in zip(timeline.paths, lines, strict=True):
        path = history.path
        born, needed = _step(history.born, "not yet"), _step(history.needed, "never")
        name = f"{typeset(str(path))}  {born}, {needed}"
        _curve(above, timeline.steps, history.attention, line)
        _mark(above, history.born, BIRTH, line, name)
        _curve(middle, timeline.steps, history.loss_without, line)
        if history.needed is not None:
            height = float(np.interp(history.needed, timeline.steps, history.loss_without))
            _mark(middle, history.needed, height, line)
        if history.born is not None:
            for axes in (above, middle, below):
                axes.axvline(history.born, color=line.colour, lw=0.8, alpha=0.35, zorder=1)
    above.set(ylim=(-0.03, 1.05), ylabel="attention along the path")
    middle.set_ylabel("loss, path knocked out")
    middle.set_ylim(bottom=0)

    _draw_hops(below, timeline, metrics)
    last, end = shown_until(timeline, metrics)
    below.set(
        xlabel="step" if last == end else f"step (the run goes on to {end:,})", xlim=(0, last)
    )

    for axes, title in ((above, "paths: born, needed from step"), (below, "hops: learnt at step")):
        axes.axhline(BIRTH, color=FAINT, lw=0.7, ls=(0, (1, 2)), zorder=1)
        if axes.get_legend_handles_labels()[0]:
            axes.legend(
                loc="upper left",
                bbox_to_anchor=(1.01, 1.03),
                title=title,
                title_fontsize=8,
                alignment="left",
                fontsize=8 if len(timeline.paths) < MANY else 6.5,
            )
    figure.align_ylabels()
    return figure


def _panels(timeline: Timeline) -> tuple[Figure, list[Axes]]:
    """Three panels, tall enough for the legend of the paths beside the upper two."""
    line = 0.18 if len(timeline.paths) < MANY else 0.145
    height = max(6.2, (line * (len(timeline.paths) + 2) + 0.3) / 0.64)
    figure = Figure(figsize=(8.4, height))
    panels = figure.subplots(3, 1, sharex=True, height_ratios=(1, 1.15, 1))
    figure.subplots_adjust(
        left=0.075, right=0.69, top=1 - 0.12 / height, bottom=0.5 / height, hspace=0.1
    )
    return figure, list(panels)


def _draw_hops(axes: Axes, timeline: Timeline, metrics: Sequence[Mapping[str, Any]]) -> None:
    """The partial losses, with a mark where every hop was learnt."""
    steps = [line["step"] for line in metrics]
    if steps:
        for hop, line in hop_lines(list(timeline.hops)).items():
            _curve(axes, steps, [m["partial"][hop] for m in metrics], line)
            name = f"{typeset(hop)}  {_step(timeline.hops[hop], 'not yet')}"
            _mark(axes, timeline.hops[hop], BIRTH, line, name)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("partial loss (held out)")


def _curve(axes: Axes, steps: Sequence[int], values: Sequence[float], line: Line) -> None:
    axes.plot(steps, values, color=line.colour, ls=line.dashes, lw=1.5, zorder=3)


def _mark(axes: Axes, step: float | None, height: float, line: Line, name: str = "") -> None:
    """A marker at a crossing, if there is one, and the same marker in the legend."""
    look = {"color": line.colour, "marker": line.marker, "ms": 6, "mec": PAPER, "mew": 0.8}
    if step is not None:
        axes.plot(step, height, zorder=5, ls="none", **look)
    else:
        look["marker"] = ""
    if name:
        axes.plot([], [], ls=line.dashes, lw=1.5, label=name, **look)


def _step(step: float | None, without: str) -> str:
    return without if step is None else f"{step:.0f}"
