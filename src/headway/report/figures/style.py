"""How figures look: one palette, one type size, and the same bytes every time."""

import io
from collections.abc import Sequence
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatter

from headway.circuits import AttentionPath
from headway.circuits.roles import Cast
from headway.report.looks import COLOURS, path_looks
from headway.tasks import Task

INK = "#1b1f24"
FAINT = "#8b929a"
PAPER = "#ffffff"

PALETTE = COLOURS[1:]

DASHES: tuple[str | tuple[int, tuple[float, ...]], ...] = (
    "-",
    (0, (5.0, 1.6)),
    (0, (1.4, 1.4)),
    (0, (6.0, 1.5, 1.4, 1.5)),
    (0, (9.0, 2.5)),
    (0, (4.0, 1.4, 1.2, 1.4, 1.2, 1.4)),
)
MARKERS = ("o", "s", "^", "D", "v", "P")

STYLE = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Helvetica", "Arial"],
    "font.size": 8.5,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": "#9aa1a9",
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titlecolor": INK,
    "axes.axisbelow": True,
    "xtick.color": "#5b626a",
    "ytick.color": "#5b626a",
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "legend.frameon": False,
    "legend.handlelength": 2.8,
    "lines.solid_capstyle": "round",
    "figure.facecolor": PAPER,
    "axes.facecolor": PAPER,
    "svg.fonttype": "none",
    "svg.hashsalt": "headway",
    "text.usetex": False,
    "text.parse_math": False,
}

BACKGROUND = {"facecolor": PAPER, "edgecolor": "none", "alpha": 0.8, "pad": 0.6}
"""A text's box, so that lines behind it do not strike it out. (A white rim would do as well, but
turns the text of an SVG into outlines.)"""

styled = rc_context(STYLE)  # pyright: ignore[reportArgumentType]
"""Decorates a function that draws a figure."""


def look(number: int) -> dict[str, Any]:
    """Colour, dashes and marker of one of several curves, as keywords of `Axes.plot`."""
    colour, marker = (some[number % len(some)] for some in (PALETTE, MARKERS))
    dashes = DASHES[(number + number // len(PALETTE)) % len(DASHES)]
    return {"color": colour, "ls": dashes, "marker": marker}


class _Plain(LogFormatter):
    """Ticks of a logarithmic axis as plain numbers: matplotlib's own ask for typeset ones."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        return f"{x:,g}" if super().__call__(x, pos) else ""


def log_scale(axes: Axes, which: str, base: float = 10) -> None:
    """Makes axes logarithmic: `x`, `y` or `xy`."""
    if "x" in which:
        axes.set_xscale("log", base=base)
    if "y" in which:
        axes.set_yscale("log", base=base)
    for name in which:
        axis = axes.xaxis if name == "x" else axes.yaxis
        axis.set_major_formatter(_Plain(base))
        axis.set_minor_formatter(_Plain(base))


def curve_looks(task: Task | Cast, paths: Sequence[AttentionPath]) -> list[dict[str, Any]]:
    """The look of every path: its colour as in all drawings, dashes and marker of its own."""
    looks = path_looks(task, paths)
    return [{**look(i), "color": looks[path].hex} for i, path in enumerate(paths)]


def hop_looks(hops: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The look of every hop: the colours of the symbols that a chain asks for."""
    return {hop: look(i) for i, hop in enumerate(hops)}


def svg_bytes(figure: Figure, title: str) -> bytes:
    """The figure as SVG with text as text; the same figure gives the same bytes."""
    about = {"Title": title, "Date": None, "Creator": None, "Format": None, "Type": None}
    return _save(figure, "svg", metadata=about)


def png_bytes(figure: Figure) -> bytes:
    """The figure as PNG, 150 dots an inch."""
    return _save(figure, "png", dpi=150, metadata={"Software": None})


@styled
def _save(figure: Figure, kind: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format=kind, **options)  # pyright: ignore[reportArgumentType]
    figure.set_layout_engine("none")  # found once, it serves the next format as well
    return buffer.getvalue()
