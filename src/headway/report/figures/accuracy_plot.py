"""Figure 2 of Musat 2024: the accuracy of a language model by formulation and by depth."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from headway.report.figures.style import FAINT, draw_intervals, look, styled


@dataclass(frozen=True)
class Point:
    """One accuracy.

    Attributes:
        depth: look-ups to the answer.
        share: of right answers.
        low: of its interval.
        high: of its interval.
        chance: the accuracy of guessing.
    """

    depth: int
    share: float
    low: float
    high: float
    chance: float


@styled
def draw_accuracy(curves: Mapping[str, Mapping[str, Sequence[Point]]]) -> Figure:
    """A panel per formulation: accuracies with their intervals against depth, chance dashed.

    Args:
        curves: for every formulation, and every curve in its panel by name, its points.
    """
    figure = Figure(figsize=(1.1 + 2.0 * len(curves), 2.9), layout="constrained")
    panels = figure.subplots(1, len(curves), sharey=True, squeeze=False).flatten()
    for axes, (name, lines) in zip(panels, curves.items(), strict=True):
        for i, (label, points) in enumerate(lines.items()):
            placed = sorted((p.depth, p.share, p.low, p.high) for p in points)
            width = {"ms": 4.5, "lw": 1.4, "elinewidth": 0.9, "capsize": 2}
            draw_intervals(axes, placed, label=label, **look(i), **width)
        known = {p.depth: p.chance for points in lines.values() for p in points}
        at = sorted(known)
        ends = [at[0] - 0.4, *at, at[-1] + 0.4]
        chances = [known[at[0]], *(known[depth] for depth in at), known[at[-1]]]
        axes.plot(ends, chances, color=FAINT, lw=1, ls=(0, (4, 2)), zorder=1)
        axes.set_title(name, fontsize=8.5, weight="normal")
        axes.set(xlabel="depth", ylim=(0, 1.02), xlim=(ends[0], ends[-1]))
        axes.set_xticks(at[:: -(-len(at) // 8)])
    panels[0].set_ylabel("accuracy (dashed: guessing)")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right upper", fontsize=7.5)
    return figure
