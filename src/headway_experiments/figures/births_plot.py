"""Figure 7 (right) and appendix D of Musat 2024: when every path was born."""

import math

from matplotlib.figure import Figure

from headway.circuits import Timeline
from headway.circuits.emergence import BIRTH
from headway.report.figures.style import FAINT, INK, path_lines, styled
from headway.report.labels import typeset


@styled
def draw_births(timeline: Timeline) -> Figure:
    """A row per path, from the first born to the last: the step at which its attention passes 0.5.

    Args:
        timeline: of a circuit's paths.
    """
    dated = sorted(timeline.paths, key=lambda h: (h.born is None, h.born or 0, h.path))
    figure = Figure(figsize=(6.2, 0.55 + 0.24 * len(dated)), layout="constrained")
    axes = figure.add_subplot()
    paths = [history.path for history in timeline.paths]
    lines = dict(zip(paths, path_lines(paths), strict=True))
    last = max(timeline.steps)
    for row, history in enumerate(dated):
        line = lines[history.path]
        if history.born is None:
            axes.annotate("never", (last, row), ha="right", va="center", fontsize=7, color=FAINT)
            continue
        axes.plot([0, history.born], [row, row], color=line.colour, lw=1, alpha=0.5)
        look = {"color": line.colour, "ms": 6, "mec": INK, "mew": 0.4, "clip_on": False}
        axes.plot(history.born, row, line.marker, **look)
        axes.annotate(
            f"{history.born:,.0f}",
            (history.born, row),
            (6, 0),
            textcoords="offset points",
            va="center",
            fontsize=7,
        )
    names = [typeset(str(history.path)) for history in dated]
    axes.set_yticks(range(len(dated)), names)
    axes.set_ylim(len(dated) - 0.5, -0.5)
    axes.set(xlim=(0, 1.04 * last), xlabel=f"step at which the attention passes {BIRTH:g}")
    return figure


@styled
def draw_paths(timeline: Timeline) -> Figure:
    """A small panel per path: its attention at every checkpoint.

    Args:
        timeline: of a circuit's paths.
    """
    columns = min(4, max(1, len(timeline.paths)))
    rows = max(1, math.ceil(len(timeline.paths) / columns))
    figure = Figure(figsize=(2.15 * columns, 0.35 + 1.45 * rows), layout="constrained")
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    lines = path_lines([h.path for h in timeline.paths])
    for axes in grid.flat[len(timeline.paths) :]:
        axes.set_axis_off()
    for axes, history, line in zip(grid.flat, timeline.paths, lines, strict=False):
        axes.plot(timeline.steps, history.attention, color=line.colour, lw=1.5)
        axes.axhline(BIRTH, color=FAINT, lw=0.7, ls=(0, (1, 2)))
        if history.born is not None:
            axes.axvline(history.born, color=INK, lw=0.7, alpha=0.5)
        born = "never" if history.born is None else f"{history.born:,.0f}"
        axes.set_title(f"{typeset(str(history.path))}: {born}", fontsize=7.5)
        axes.set_ylim(-0.03, 1.05)
    figure.supxlabel("step", fontsize=8.5)
    figure.supylabel("attention along the path", fontsize=8.5)
    return figure
