"""The k-hop problem: which k each number of layers solves, when hops are learnt, and attention."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from headway.report.figures.style import hop_lines, styled
from headway.training import Run


@styled
def draw_khop(
    table: Mapping[tuple[int, int], Sequence[float]],
    least: Mapping[int, int],
    run: Run,
    attention: Mapping[int, Sequence[Sequence[float]]],
) -> Figure:
    """Accuracy by k and layers, a staircase where the theory has it; one run's losses and heads.

    Args:
        table: accuracies of all seeds, by k and layers.
        least: the layers that k takes.
        run: whose partial losses are drawn against the step.
        attention: of its heads along find^j, [layer, head], by j, where most hops are asked.
    """
    figure = Figure(figsize=(9.2, 2.9), layout="constrained")
    left, middle, right = figure.subplots(1, 3, width_ratios=(1, 1.15, 1.15))
    hops, layers = (sorted({key[i] for key in table}) for i in (0, 1))
    means = np.array([[np.mean(table[k, n]) for k in hops] for n in layers])
    _cells(left, means, hops, layers)
    for column, k in enumerate(hops):
        edge = sum(n < least[k] for n in layers) - 0.5
        left.plot([column - 0.5, column + 0.5], [edge, edge], color="black", lw=2)
    left.set(xlabel="hops k", ylabel="layers", title="accuracy, mean over seeds")

    metrics = run.metrics()
    steps = [line["step"] for line in metrics]
    for hop, look in hop_lines(run.task.hops).items():
        losses = [line["partial"][hop] for line in metrics]
        middle.plot(steps, losses, color=look.colour, ls=look.dashes, label=hop)
    middle.set(xlabel="step", ylabel="cross-entropy (nats)", ylim=(0, None), xlim=(0, steps[-1]))
    middle.set_title(f"{run.config.model.n_layers} layers, seed {run.config.seed}")
    middle.legend()

    strongest = np.array([[max(heads) for heads in rows] for rows in attention.values()])
    _cells(right, strongest.T, list(attention), list(range(1, strongest.shape[1] + 1)))
    right.set(xlabel="j", ylabel="layer", title=f"attention along find^j, k = {hops[-1]}")
    return figure


def _cells(axes, values: np.ndarray, columns: Sequence[int], rows: Sequence[int]) -> None:
    """A table of numbers from 0 to 1 as shades, the first row at the bottom."""
    axes.imshow(values, vmin=0, vmax=1, cmap="Blues", origin="lower", aspect="auto")
    for (row, column), value in np.ndenumerate(values):
        shade = "white" if value > 0.6 else "black"
        axes.text(column, row, f"{value:.2f}", ha="center", va="center", color=shade, fontsize=7)
    axes.set_xticks(range(len(columns)), map(str, columns))
    axes.set_yticks(range(len(rows)), map(str, rows))
    axes.grid(False)
