"""Curves, a line per seed, in panels side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from matplotlib.figure import Figure

from headway.report.figures.style import DASHES, FAINT, PALETTE, styled

Curve = tuple[Sequence[float], Sequence[float]]
"""Steps, or another quantity, and a value at each."""


@dataclass(frozen=True)
class Panel:
    """One of several panels side by side.

    Attributes:
        title: above it.
        value: what is drawn.
        curves: one per seed, by name; each name has a colour and dashes of its own.
        levels: values to mark across all steps, by name.
        logarithmic: whether steps are drawn so, 0 with them.
        against: what the curves are drawn against.
        top: the end of the axis of values; by default the curves decide.
    """

    title: str
    value: str
    curves: Mapping[str, Sequence[Curve]]
    levels: Mapping[str, float] = field(default_factory=dict)
    logarithmic: bool = False
    against: str = "step"
    top: float | None = None


@styled
def draw_curves(panels: Sequence[Panel]) -> Figure:
    """All curves of at least one panel, from left to right."""
    figure = Figure(figsize=(0.4 + 3.6 * len(panels), 2.9), layout="constrained")
    for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        for number, (name, curves) in enumerate(panel.curves.items()):
            look = {"color": PALETTE[number % len(PALETTE)], "ls": DASHES[number % len(DASHES)]}
            for steps, values in curves:
                axes.plot(steps, values, lw=1.2, alpha=0.85, **look)
            axes.plot([], [], label=name, **look)
        for name, level in panel.levels.items():
            axes.axhline(level, color=FAINT, lw=0.7, ls=(0, (1, 2)), zorder=1)
            axes.annotate(
                name,
                (1, level),
                xycoords=("axes fraction", "data"),
                xytext=(-1, 1.5),
                textcoords="offset points",
                ha="right",
                fontsize=6.5,
                color=FAINT,
            )
        if panel.logarithmic:
            axes.set_xscale("symlog", linthresh=1)
            axes.xaxis.set_major_formatter("{x:g}")
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0 if panel.top is not None else None, top=panel.top)
        axes.set(title=panel.title, xlabel=panel.against, ylabel=panel.value)
        axes.legend(fontsize=7.5)
    return figure
