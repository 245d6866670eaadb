"""The style of figures: one palette, one type size, and the same bytes every time."""

import io
import re
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatter

from headway.report.labels import typeset as typeset
from headway.report.looks import BASELINE, COLOURS, NOTHING
from headway.training.files import write_whole

COLUMN_WIDTH, TEXT_WIDTH = 3.25, 6.75
"""The width of a column and of the text of a paper, in inches."""

INK = "#1b1f24"
FAINT = "#8b929a"
PAPER = "#ffffff"
PALETTE = COLOURS[1:]
INKS = {**dict(enumerate(COLOURS)), NOTHING: FAINT, BASELINE: "#596068"}
"""By the number of a colour."""

DASHES: tuple[str | tuple[int, tuple[float, ...]], ...] = (
    "-",
    "--",
    ":",
    "-.",
    (0, (9.0, 2.5)),
    (0, (4.0, 1.4, 1.2, 1.4, 1.2, 1.4)),
)
MARKERS = ("o", "s", "^", "D", "v", "P", "X")

STYLE = {
    "font.family": ["STIXGeneral", "DejaVu Sans"],
    "font.size": 8.5,
    "mathtext.fontset": "stix",
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": FAINT,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.axisbelow": True,
    "legend.frameon": False,
    "legend.handlelength": 2.8,
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": "headway",
    "text.usetex": False,
}

styled = rc_context(STYLE)  # pyright: ignore[reportArgumentType]
"""Decorates a function that draws a figure."""


DIGITS = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")


def printed(text: str) -> str:
    """A text for matplotlib: `x₁` as mathematics, a dollar as a dollar.

    Text stays as it is if it has signs that the typeface of mathematics may lack, or
    backslashes, which are commands there.
    """
    plain = text.replace("$", r"\$")
    if re.search(r"[^ -\[\]-~₀-₉←·…]", text):
        return plain

    def in_math(name: re.Match[str]) -> str:
        return f"${name[1]}_{{{name[2].translate(DIGITS)}}}$"

    return re.sub(r"\b([a-z])([₀-₉]+)", in_math, plain)


def look(number: int) -> dict[str, Any]:
    """Colour, dashes and marker of one of several curves, as keywords of
    `Axes.plot`.
    """
    n_colours = len(PALETTE)
    colour = PALETTE[number % n_colours]
    marker = MARKERS[number % len(MARKERS)]
    dashes = DASHES[(number + number // n_colours) % len(DASHES)]
    return {"color": colour, "ls": dashes, "marker": marker}


class _Plain(LogFormatter):
    """Ticks of a logarithmic axis as plain numbers: matplotlib's own ask for typeset
    ones.
    """

    def __call__(self, x: float, pos: int | None = None) -> str:
        return f"{x:,g}" if super().__call__(x, pos) else ""


def log_scale(axes: Axes, which: str) -> None:
    """Makes axes logarithmic: `x`, `y` or `xy`."""
    for name in which:
        axes.set(**{f"{name}scale": "log"})
        axis = axes.xaxis if name == "x" else axes.yaxis
        axis.set_major_formatter(_Plain())
        axis.set_minor_formatter(_Plain())


@styled
def svg_bytes(figure: Figure, title: str) -> bytes:
    """The figure as SVG with text as text; the same figure gives the same bytes."""
    about = {
        "Title": title,
        "Date": None,
        "Creator": None,
        "Format": None,
        "Type": None,
    }
    return _bytes(figure, format="svg", metadata=about)


@styled
def png_bytes(figure: Figure) -> bytes:
    """The figure as PNG, with 300 dots an inch; the same figure gives the same
    bytes.
    """
    return _bytes(figure, format="png", dpi=300, metadata={"Software": None})


@styled
def pdf_bytes(figure: Figure, title: str) -> bytes:
    """The figure as PDF with text as text; the same figure gives the same bytes."""
    about = {"Title": title, "CreationDate": None, "Creator": None, "Producer": None}
    return _bytes(figure, format="pdf", metadata=about)


def save_all(figure: Figure, stem: Path, title: str) -> Path:
    """Saves a figure as SVG, PDF and PNG.

    Args:
        figure: that is drawn.
        stem: its file, without the ending.
        title: what it shows, for readers who cannot see it.

    Returns:
        The SVG file.

    Raises:
        HeadwayError: if the disk does not take it.
    """
    svg = stem.with_name(f"{stem.name}.svg")
    write_whole(svg.with_suffix(".png"), png_bytes(figure))
    write_whole(svg.with_suffix(".pdf"), pdf_bytes(figure, title))
    write_whole(svg, svg_bytes(figure, title))
    return svg


def _bytes(figure: Figure, **options: Any) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, **options)
    figure.set_layout_engine("none")  # found once, it serves the next format as well
    return buffer.getvalue()
