"""When every hop is learnt, by way of asking."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from headway.circuits.emergence import BIRTH
from headway.report.figures.style import FAINT, hop_lines, styled
from headway.report.labels import typeset
from headway.training import Run
from headway.words import natural

COLUMNS = 4


@styled
def draw_curricula(ways: Mapping[str, Sequence[Run]]) -> Figure:
    """A panel per way of asking: the partial losses of all its runs against the step.

    Args:
        ways: runs by the way of asking; at least one.
    """
    rows = -(-len(ways) // COLUMNS)
    figure = Figure(figsize=(9.2, 0.4 + 1.75 * rows), layout="constrained")
    grid = figure.subplots(rows, COLUMNS, sharex=True, sharey=True, squeeze=False).flatten()
    known = {hop for runs in ways.values() for run in runs for hop in run.task.hops}
    hops = sorted(known, key=natural)
    lines = hop_lines(hops)
    guesses = [
        loss
        for runs in ways.values()
        for run in runs
        if run.task.vocabulary is not None
        for loss in run.task.references().values()
    ]
    for axes, (way, runs) in zip(grid, ways.items(), strict=False):
        axes.axhline(BIRTH, color=FAINT, lw=0.6, ls=(0, (1, 2)), zorder=1)
        for run in runs:
            metrics = run.metrics()
            steps = [line["step"] for line in metrics]
            for hop in run.task.hops:
                losses = [line["partial"][hop] for line in metrics]
                look = lines[hop]
                axes.plot(steps, losses, color=look.colour, ls=look.dashes, lw=1.1, alpha=0.85)
        axes.set_title(way, fontsize=8.5, weight="normal")
    # What is not asked for yet can be far worse than guessing; that is not what is to be seen.
    grid[0].set_ylim(0, 1.08 * max(guesses, default=1))
    for axes in grid[len(ways) :]:
        axes.axis("off")
    for hop in hops:
        look = lines[hop]
        grid[0].plot([], [], color=look.colour, ls=look.dashes, label=typeset(hop))
    legend = {"title": "partial loss of", "title_fontsize": 8}
    if len(ways) < len(grid):
        grid[len(ways)].legend(*grid[0].get_legend_handles_labels(), loc="center", **legend)
    else:
        grid[-1].legend(*grid[0].get_legend_handles_labels(), **legend)
    last = max(run.metrics()[-1]["step"] for runs in ways.values() for run in runs)
    grid[0].set_xlim(0, last)
    for axes in grid[: len(ways)]:
        axes.tick_params(labelbottom=True, labelsize=7)
    figure.supxlabel("step", fontsize=8.5)
    names = {run.task.targets.loss_name for runs in ways.values() for run in runs}
    figure.supylabel(f"loss ({', '.join(sorted(names))})", fontsize=8.5)
    return figure
