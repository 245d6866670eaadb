"""How long it takes to learn k hops, by k and by the other k that are asked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import geometric_mean

from matplotlib.figure import Figure

from headway.report.figures.style import DASHES, MARKERS, PALETTE, log_scale, styled

NEVER = ((0, 1), (0.6, 0.1), (0.2, 0.1), (0.2, -1), (-0.2, -1), (-0.2, 0.1), (-0.6, 0.1))
"""A marker: an arrow that points up."""


@dataclass(frozen=True)
class Waiting:
    """How long runs of one kind took.

    Attributes:
        label: their kind.
        group: kinds of one group share a colour.
        together: whether the k were asked together; if not, each alone.
        steps: until k hops were learnt, by k, one number per run; None if they never were.
        budget: the steps that runs had.
    """

    label: str
    group: int
    together: bool
    steps: Mapping[int, Sequence[float | None]]
    budget: int


@styled
def draw_waiting(kinds: Sequence[Waiting]) -> Figure:
    """Steps on a logarithmic axis against k: a dot per run, a line through their geometric means.

    A k that not all runs learnt has no mean; each run that did not is an arrow at the end of its
    steps.
    """
    figure = Figure(figsize=(5.2, 3.2), layout="constrained")
    axes = figure.add_subplot()
    for i, kind in enumerate(kinds):
        colour = PALETTE[kind.group % len(PALETTE)]
        means = {
            k: geometric_mean(done)
            for k, steps in kind.steps.items()
            if len(done := [step for step in steps if step is not None]) == len(steps)
        }
        axes.plot(
            list(means),
            list(means.values()),
            color=colour,
            ls=DASHES[1] if kind.together else "-",
            marker=MARKERS[kind.group % len(MARKERS)],
            ms=3.5,
            lw=1.2,
            label=kind.label,
        )
        for k, steps in kind.steps.items():
            beside = k + 0.05 * (i - (len(kinds) - 1) / 2)
            for step in steps:
                if step is None:
                    axes.plot(beside, kind.budget, marker=NEVER, color=colour, ms=6, mew=0)
                else:
                    axes.plot(beside, step, ".", color=colour, ms=3, alpha=0.6)
    log_scale(axes, "y")
    axes.set_xticks(sorted({k for kind in kinds for k in kind.steps}))
    axes.set(xlabel="hops k", ylabel="steps until learnt")
    axes.plot([], [], marker=NEVER, color="black", ms=6, mew=0, ls="none", label="never learnt")
    axes.legend(fontsize=7.5, loc="center left", bbox_to_anchor=(1, 0.5))
    return figure
