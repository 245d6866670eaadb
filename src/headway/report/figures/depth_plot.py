"""How many layers so many hops take: the theory's curves and the models that were trained."""

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from headway.report.figures.style import DASHES, FAINT, INK, PALETTE, log_scale, styled
from headway.theory import closed_form, theorem_1_bound

CURVES = (
    ("least layers, causal mask: ⌊log₂ D⌋ + 2", lambda depth: closed_form(depth, True)),
    ("least layers, no mask: ⌈log₃(4D + 1)⌉", lambda depth: closed_form(depth, False)),
    ("theorem 1 (Musat 2024): ⌈log₃ 2D⌉", theorem_1_bound),
)


@styled
def draw_depths(
    deepest: int, trained: Mapping[tuple[int, int], tuple[int, int]] | None = None
) -> Figure:
    """The least number of layers against the depth, and how many layers trained models needed.

    Args:
        deepest: the greatest depth on the axis.
        trained: by depth and layers, how many models solved the task, and of how many.
    """
    figure = Figure(figsize=(8.2, 3.6), layout="constrained")
    axes = figure.add_subplot()
    depths = sorted({round(d) for d in np.geomspace(1, deepest, 2000)})
    for (name, formula), colour, dashes in zip(CURVES, PALETTE, DASHES, strict=False):
        layers = [formula(depth) for depth in depths]
        axes.step(depths, layers, where="post", color=colour, ls=dashes, lw=1.6, label=name)
    for (depth, layers), (solved, runs) in sorted((trained or {}).items()):
        share = solved / runs
        look = {"mfc": INK if share == 1 else "white", "mec": INK if solved else FAINT}
        marker = "o" if solved else "x"
        at = axes.plot(depth, layers, marker, ms=6, mew=1.1, zorder=5, **look)  # pyright: ignore
        at[0].set_gid(f"trained-{depth}-{layers}")
        if 0 < share < 1:
            axes.annotate(
                f"{solved}/{runs}",
                (depth, layers),
                (5, 4),
                fontsize=6.5,
                textcoords="offset points",
            )
    if trained:
        for marker, fill, name in (
            ("o", INK, "trained: all seeds solved"),
            ("o", "white", "trained: some seeds solved"),
            ("x", "white", "trained: none solved"),
        ):
            edge = FAINT if marker == "x" else INK
            axes.plot([], [], marker, mfc=fill, mec=edge, ms=6, mew=1.1, label=name)
    if deepest > 40:
        log_scale(axes, "x", base=2)
    else:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set(xlabel="D, retrieval steps", ylabel="layers")
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure
