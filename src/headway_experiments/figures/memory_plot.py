"""What memories recall, against their width and the number of samples."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from headway.report.figures.style import DASHES, FAINT, MARKERS, PALETTE, log_scale, styled

Errors = Mapping[tuple[str, float, int], Mapping[int, float]]
"""By scheme (or `samples`), exponent a and seed: the error by width, or number of samples."""


@styled
def draw_one_step(points: Sequence[tuple[float, float]]) -> Figure:
    """A dot per run and a line through the means.

    Args:
        points: (width, accuracy) of every run, at least one.
    """
    figure = Figure(figsize=(4.4, 3.0), layout="constrained")
    axes = figure.add_subplot()
    widths = sorted({width for width, _ in points})
    means = [float(np.mean([y for x, y in points if x == width])) for width in widths]
    axes.axhline(0.99, color=FAINT, lw=1, ls=(0, (2, 2)), label="0.99")
    axes.plot(*zip(*points, strict=True), "o", color=PALETTE[0], ms=4, alpha=0.5, label="a run")
    axes.plot(widths, means, color=PALETTE[0], lw=1.6, label="mean")
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(FixedLocator(widths))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set(ylim=(0, 1.03), xlabel="width d", ylabel="accuracy after one step")
    axes.legend(fontsize=7.5)
    return figure


@styled
def draw_errors(errors: Errors, expected: Mapping[str, Callable[[float], float]]) -> Figure:
    """A panel per exponent a, and one for the samples: errors with the expected power.

    Args:
        errors: at least one for every scheme and exponent.
        expected: by scheme, minus the power at which the error should fall for an exponent a.
    """
    exponents = sorted({a for _, a, _ in errors})
    schemes = [name for name in dict.fromkeys(name for name, _, _ in errors) if name != "samples"]
    figure = Figure(figsize=(2.6 * (len(exponents) + 1) + 0.8, 3.0), layout="constrained")
    *panels, last = figure.subplots(1, len(exponents) + 1, squeeze=False).flatten()
    for axes, a in zip(panels, exponents, strict=True):
        for i, name in enumerate(schemes):
            _curves(axes, _of(errors, name, a), expected[name](a), i, f"α: {name}")
        axes.set_title(f"a = {a:g}", fontsize=8.5, weight="normal")
        axes.set_xlabel("width d")
    for i, a in enumerate(exponents):
        _curves(last, _of(errors, "samples", a), expected["samples"](a), i, f"a = {a:g}")
    last.set_title("room for all that was seen", fontsize=8.5, weight="normal")
    last.set_xlabel("samples T")
    panels[0].set_ylabel("error (dotted: the power expected)")
    panels[0].legend(fontsize=7)
    last.legend(fontsize=7)
    return figure


def _of(errors: Errors, name: str, a: float) -> list[Mapping[int, float]]:
    return [curve for (scheme, b, _), curve in errors.items() if (scheme, b) == (name, a)]


def _curves(axes, curves: Sequence[Mapping[int, float]], power: float, i: int, label: str) -> None:
    colour, marker = PALETTE[i % len(PALETTE)], MARKERS[i % len(MARKERS)]
    at = np.array(sorted(curves[0]), dtype=float)
    values = np.array([[curve[int(x)] for x in at] for curve in curves])
    means = np.exp(np.log(values).mean(0))
    axes.plot(at, means, marker, color=colour, ms=4, label=label)
    for curve in values:
        axes.plot(at, curve, color=colour, lw=0.8, alpha=0.5)
    axes.plot(at, means[-1] * (at / at[-1]) ** -power, color=colour, lw=1, ls=DASHES[2])
    log_scale(axes, "xy")
