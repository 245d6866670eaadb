"""Figure 4 of Musat 2024: final losses by number of layers."""

import statistics
from collections.abc import Iterable, Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from headway.report.figures.loss import mark_levels
from headway.report.figures.style import FAINT, INK, hop_lines, styled
from headway.report.labels import typeset
from headway.training import Run


@styled
def draw_layers(with_ic: Iterable[Run], without: Iterable[Run]) -> Figure:
    """Left: the final validation loss with and without the implicit curriculum. Right: the partial
    losses, with it. A dot per run, a line through the means.

    Args:
        with_ic: runs with the curriculum, of any numbers of layers.
        without: runs without it.
    """
    with_ic, without = list(with_ic), list(without)
    figure = Figure(figsize=(8.4, 3.5), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    for runs, name, colour, marker in (
        (with_ic, "with the curriculum", "#0072b2", "o"),
        (without, "without", "#d55e00", "s"),
    ):
        losses = _by_layers((run, run.metrics()[-1]["val_loss"]) for run in runs)
        if losses:
            size = runs[0].config.task.label.replace("=", " = ")
            _curve(left, losses, f"{name}, {size}", colour, "-", marker)
    left.set_ylabel("final validation loss")
    if with_ic:
        hops = with_ic[0].task.hops
        for hop, line in hop_lines(hops).items():
            losses = _by_layers((run, run.metrics()[-1]["partial"][hop]) for run in with_ic)
            _curve(right, losses, typeset(hop), line.colour, line.dashes, line.marker)
        right.set_title("partial losses, with the curriculum", fontsize=8.5, weight="normal")
    for axes in (left, right):
        axes.set(xlabel="layers", ylim=(0, 1.08))
        layers = {run.config.model.n_layers for run in (*with_ic, *without)}
        axes.set_xticks(sorted(layers))
        if axes.get_legend_handles_labels()[0]:
            axes.legend(loc="best", fontsize=7.5)
    if with_ic:
        mark_levels(left, with_ic[0].task.references())
    return figure


def _by_layers(values: Iterable[tuple[Run, float]]) -> dict[int, list[float]]:
    found: dict[int, list[float]] = {}
    for run, value in values:
        found.setdefault(run.config.model.n_layers, []).append(value)
    return dict(sorted(found.items()))


def _curve(
    axes: Axes,
    losses: Mapping[int, Sequence[float]],
    name: str,
    colour: str,
    dashes: object,
    marker: str,
) -> None:
    means = [statistics.mean(values) for values in losses.values()]
    look = {"color": colour, "marker": marker, "ms": 4.5, "lw": 1.7, "mec": INK, "mew": 0.4}
    axes.plot(list(losses), means, ls=dashes, label=name, zorder=4, **look)  # pyright: ignore
    for layers, values in losses.items():
        dots = {"color": colour, "alpha": 0.4, "mec": FAINT, "mew": 0.2, "zorder": 3}
        axes.plot([layers] * len(values), values, ".", ms=5, **dots)  # pyright: ignore
