"""The figures of curves: losses through training, and when every path and hop emerged."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from headway.circuits import Timeline
from headway.circuits.emergence import EMERGES_AT
from headway.circuits.roles import cast_of
from headway.report.figures.style import (
    FAINT,
    INK,
    PAPER,
    curve_looks,
    hop_looks,
    log_scale,
    styled,
)
from headway.report.labels import typeset
from headway.report.span import shown_until
from headway.tasks import Task
from headway.text import rounded

MANY = 20
"""From so many paths on, the legend is set smaller."""

LEVEL = {"color": FAINT, "lw": 0.7, "ls": (0, (1, 2)), "zorder": 1}
BESIDE = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.03), "alignment": "left"}


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
        references: losses of predictors that follow no chain, by name, drawn as dotted lines.
        loss_name: what the losses are.
    """
    figure = Figure(figsize=(7.6, 3.7), layout="constrained")
    axes = figure.add_subplot()
    steps = [line["step"] for line in metrics]

    def curve(values: list[float], name: str, **look: Any) -> None:
        axes.plot(steps, values, label=f"{name}  {rounded(values[-1])}", **look)

    curve([m["val_loss"] for m in metrics], "validation", color=INK, lw=2.1, zorder=4)
    for hop, look in hop_looks(hops).items() if len(hops) > 1 else ():
        values = [m["partial"][hop] for m in metrics]
        curve(values, typeset(hop), **{**look, "marker": ""}, lw=1.4, zorder=3)
    curve([m["train_loss"] for m in metrics], "training", color="#b4bac1", lw=1.1, zorder=2)
    levels = {f"predicting {name}": loss for name, loss in references.items()}
    for name, level in {**levels, "a hop counts as learnt": EMERGES_AT}.items():
        if level > 0:  # the axis is logarithmic
            axes.axhline(level, **LEVEL)
            words = f"{name}  {level:.3g}"
            at = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
            axes.annotate(words, (1, level), (-2, 1.5), ha="right", fontsize=6.5, **at)
    log_scale(axes, "y")
    low, high = axes.get_ylim()
    axes.set(ylim=(min(low, 0.3), max(high, 1.25)), xlim=(0, max(steps)))
    axes.set(xlabel="step", ylabel=f"loss ({loss_name})")
    figure.legend(loc="outside right upper", title="at the last step", alignment="left")
    return figure


@styled
def draw_emergence(
    timeline: Timeline, metrics: Sequence[Mapping[str, Any]], task: Task | None = None
) -> Figure:
    """Attention along every path, the loss when it is knocked out, and partial losses, by step.

    Markers stand where a path's attention first passes 0.5 (its emergence), where the rise of the
    loss without it first passes half of its largest value, and where a partial loss first passes
    below 0.5; the steps are carried down as thin vertical lines. A path has the same colour,
    dashes and marker wherever it is drawn.

    Args:
        timeline: of the circuit's paths.
        metrics: the evaluations of the same run, as in `metrics.jsonl`.
        task: of the run, if paths are to be coloured by what they carry; by default by their head.
    """
    few = len(timeline.paths) < MANY
    height = max(6.2, ((0.18 if few else 0.145) * (len(timeline.paths) + 2) + 0.3) / 0.64)
    figure = Figure(figsize=(8.4, height))
    above, middle, below = figure.subplots(3, 1, sharex=True, height_ratios=(1, 1.15, 1))
    margins = {"top": 1 - 0.12 / height, "bottom": 0.5 / height}
    figure.subplots_adjust(left=0.075, right=0.69, hspace=0.1, **margins)

    middle.plot(timeline.steps, timeline.loss, color=INK, lw=2.2, zorder=4)
    above.plot([], [], color=INK, lw=2.2, label="the model as it is")
    looks = curve_looks(task or cast_of(timeline), [one.path for one in timeline.paths])
    for history, look in zip(timeline.paths, looks, strict=True):
        emerged, needed = _step(history.emerged, "not yet"), _step(history.needed, "never")
        name = f"{typeset(str(history.path))}  {emerged}, {needed}"
        _curve(above, timeline.steps, history.attention, look, (history.emerged, EMERGES_AT), name)
        without = history.loss_without
        level = float(np.interp(history.needed or 0, timeline.steps, without))
        _curve(middle, timeline.steps, without, look, (history.needed, level))
        for axes in (above, middle, below) if history.emerged is not None else ():
            axes.axvline(history.emerged, color=look["color"], lw=0.8, alpha=0.35, zorder=1)
    steps = [line["step"] for line in metrics]
    for hop, look in hop_looks(list(timeline.hops)).items() if steps else ():
        name = f"{typeset(hop)}  {_step(timeline.hops[hop], 'not yet')}"
        values = [m["partial"][hop] for m in metrics]
        _curve(below, steps, values, look, (timeline.hops[hop], EMERGES_AT), name)
    above.set(ylim=(-0.03, 1.05), ylabel="attention along the path")
    middle.set(ylim=(0, None), ylabel="loss, path knocked out")
    last, end = shown_until(timeline, metrics)
    label = "step" if last == end else f"step (the run goes on to {end:,})"
    below.set(ylim=(0, None), ylabel="partial loss (held out)", xlabel=label, xlim=(0, last))
    for axes, title in (
        (above, "paths: emerged, needed from step"),
        (below, "hops: learnt at step"),
    ):
        axes.axhline(EMERGES_AT, **LEVEL)
        if axes.get_legend_handles_labels()[0]:
            axes.legend(title=title, title_fontsize=8, fontsize=8 if few else 6.5, **BESIDE)
    figure.align_ylabels()
    return figure


def _curve(
    axes: Axes,
    steps: Sequence[int],
    values: Sequence[float],
    look: dict[str, Any],
    mark: tuple[float | None, float],
    name: str = "",
) -> None:
    """A curve, a marker at a crossing of it, if there is one, and both in the legend."""
    curve = {**look, "ms": 6, "mec": PAPER, "mew": 0.8, "lw": 1.5}
    axes.plot(steps, values, **{**curve, "marker": ""}, zorder=3)
    if mark[0] is not None:
        axes.plot([mark[0]], [mark[1]], **{**curve, "ls": "none"}, zorder=5)
    if name:
        marker = "" if mark[0] is None else look["marker"]
        axes.plot([], [], **{**curve, "marker": marker}, label=name)


def _step(step: float | None, without: str) -> str:
    return without if step is None else f"{step:.0f}"
