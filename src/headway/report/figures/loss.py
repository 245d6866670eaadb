"""The loss figure."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter

from headway.circuits.emergence import BIRTH
from headway.report.figures.style import BACKGROUND, FAINT, INK, hop_lines, styled
from headway.report.labels import spread, typeset
from headway.text import rounded


@styled
def draw_losses(
    metrics: Sequence[Mapping[str, Any]],
    hops: Sequence[str],
    references: Mapping[str, float],
    loss_name: str = "MSE",
) -> Figure:
    """Training, validation and partial losses against the step, on a logarithmic loss axis.

    Args:
        metrics: the evaluations of a run, as in `metrics.jsonl`; at least one.
        hops: the partial losses to draw, in chain order.
        references: losses of predictors that follow no chain, by name, drawn as thin lines.
        loss_name: what the losses are.
    """
    figure = Figure(figsize=(7.6, 3.7), layout="constrained")
    axes = figure.add_subplot()
    steps = [line["step"] for line in metrics]

    def curve(values: list[float], name: str, **look: Any) -> None:
        axes.plot(steps, values, label=f"{name}  {rounded(values[-1])}", **look)

    curve([m["train_loss"] for m in metrics], "training", color="#b4bac1", lw=1.1, zorder=2)
    if len(hops) > 1:
        for hop, line in hop_lines(hops).items():
            values = [m["partial"][hop] for m in metrics]
            curve(values, typeset(hop), color=line.colour, ls=line.dashes, lw=1.4, zorder=3)
    curve([m["val_loss"] for m in metrics], "validation", color=INK, lw=2.1, zorder=4)

    axes.set_yscale("log")
    low, high = axes.get_ylim()
    axes.set(ylim=(min(low, 0.3), max(high, 1.25)), xlim=(0, max(steps)))
    _loss_ticks(axes)
    levels = {f"predicting {name}": loss for name, loss in references.items()}
    mark_levels(axes, {**levels, "a hop counts as learnt": BIRTH})
    axes.set(xlabel="step", ylabel=f"loss ({loss_name})")
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(
        [handles[-1], *handles[:-1]],
        [labels[-1], *labels[:-1]],
        loc="outside right upper",
        title="at the last step",
        title_fontsize=8,
        alignment="left",
    )
    return figure


def mark_levels(axes: Axes, levels: Mapping[str, float]) -> None:
    """Draws thin horizontal lines, each labelled at its right end, no label on another.

    The limits of the axes must be set before.
    """
    figure = axes.get_figure(root=True)
    assert figure is not None
    levels = {name: level for name, level in levels.items() if level > 0}  # the axis may be log
    points = 72 * figure.get_figheight() * 0.8  # about the height of the axes
    to_fraction = axes.transData + axes.transAxes.inverted()
    lines = [points * float(to_fraction.transform((0, level))[1]) for level in levels.values()]
    labels = spread([line + 1.5 for line in lines], 8.5)
    for (name, level), line, label in zip(levels.items(), lines, labels, strict=True):
        axes.axhline(level, color=FAINT, lw=0.7, ls=(0, (1, 2)), zorder=1)
        axes.annotate(
            f"{name}  {level:.3g}",
            (1, level),
            xycoords=("axes fraction", "data"),
            xytext=(-2, label - line),
            textcoords="offset points",
            ha="right",
            va="bottom",
            fontsize=7,
            color="#5b626a",
            bbox=BACKGROUND,
            zorder=6,
        )


def _loss_ticks(axes: Axes) -> None:
    low, high = axes.get_ylim()
    ticks = [d * 10.0**e for e in range(-9, 4) for d in (1, 2, 5)]
    ticks = [tick for tick in ticks if low <= tick <= high]
    axes.yaxis.set_major_locator(FixedLocator(ticks))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(axis="y", which="minor", length=0)
