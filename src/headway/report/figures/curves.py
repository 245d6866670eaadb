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
    curves = {"validation": ([m["val_loss"] for m in metrics], {"color": INK, "lw": 2.1})}
    for hop, look in hop_looks(hops).items() if len(hops) > 1 else ():
        curves[typeset(hop)] = [m["partial"][hop] for m in metrics], {**look, "marker": ""}
    curves["training"] = [m["train_loss"] for m in metrics], {"color": FAINT, "lw": 1.1}
    for name, (values, look) in curves.items():
        axes.plot(steps, values, label=f"{name}  {rounded(values[-1])}", **{"lw": 1.4, **look})
    levels = {f"predicting {name}": loss for name, loss in references.items()}
    for name, level in {**levels, "a hop counts as learnt": EMERGES_AT}.items():
        if level > 0:  # the axis is logarithmic
            axes.axhline(level, **LEVEL)
            at = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
            text = f"{name}  {level:.3g}"
            axes.annotate(text, (1, level), (-2, 1.5), ha="right", fontsize=6.5, **at)
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
    below 0.5. A path has the same colour, dashes and marker wherever it is drawn.

    Args:
        timeline: of the circuit's paths.
        metrics: the evaluations of the same run, as in `metrics.jsonl`.
        task: of the run, if paths are to be coloured by what they carry; by default by their head.
    """
    height = max(6.2, 0.28 * len(timeline.paths) + 1.0)
    figure = Figure(figsize=(8.4, height), layout="constrained")
    above, middle, below = figure.subplots(3, 1, sharex=True)
    middle.plot(timeline.steps, timeline.loss, color=INK, lw=2.2)
    above.plot([], [], color=INK, lw=2.2, label="the model as it is")
    looks = curve_looks(task or cast_of(timeline), [one.path for one in timeline.paths])
    for one, look in zip(timeline.paths, looks, strict=True):
        name = f"{typeset(str(one.path))}  {_step(one.emerged)}, {_step(one.needed)}"
        _curve(above, timeline.steps, one.attention, look, one.emerged, name)
        _curve(middle, timeline.steps, one.loss_without, look, one.needed)
    steps = [line["step"] for line in metrics]
    for hop, look in hop_looks(list(timeline.hops)).items() if steps else ():
        values, learnt = [m["partial"][hop] for m in metrics], timeline.hops[hop]
        _curve(below, steps, values, look, learnt, f"{typeset(hop)}  {_step(learnt)}")
    above.set(ylim=(-0.03, 1.05), ylabel="attention along the path")
    middle.set(ylim=(0, None), ylabel="loss, path knocked out")
    last, end = shown_until(timeline, metrics)
    label = "step" if last == end else f"step (the run goes on to {end:,})"
    below.set(ylim=(0, None), ylabel="partial loss (held out)", xlabel=label, xlim=(0, last))
    titles = {above: "paths: emerged, needed from step", below: "hops: learnt at step"}
    for axes, title in titles.items():
        axes.axhline(EMERGES_AT, **LEVEL)
        if axes.get_legend_handles_labels()[0]:
            axes.legend(title=title, title_fontsize=8, fontsize=7.5, **BESIDE)
    return figure


def _curve(
    axes: Axes,
    steps: Sequence[int],
    values: Sequence[float],
    look: dict[str, Any],
    mark: float | None,
    name: str = "",
) -> None:
    """A curve, a marker at a step if there is one, and both in the legend."""
    curve = {**look, "ms": 6, "mec": PAPER, "mew": 0.8, "lw": 1.5}
    axes.plot(steps, values, **{**curve, "marker": ""})
    if mark is not None:
        height = float(np.interp(mark, steps, values))
        axes.plot([mark], [height], **{**curve, "ls": "none"}, zorder=5)
    if name:
        axes.plot([], [], **curve, label=name)


def _step(step: float | None) -> str:
    return "never" if step is None else f"{step:.0f}"
