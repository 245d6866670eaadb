"""What every screen shares: the terminal's width, curves and times as text."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from rich.console import Console

from headway.errors import require

BLOCKS = " ▁▂▃▄▅▆▇█"
WIDTH = 80


def console() -> Console:
    """The terminal, at most 80 columns wide, so that output reads the same everywhere."""
    wide = Console(highlight=False)
    return wide if wide.width <= WIDTH else Console(highlight=False, width=WIDTH)


def sparkline(values: list[float], width: int, top: float = 1.0) -> str:
    """A curve between 0 and `top` as `width` characters, each the mean of its share of values."""
    if not values:
        return ""
    width = min(width, len(values))
    edges = [round(i * len(values) / width) for i in range(width + 1)]
    means = [sum(values[a:b]) / (b - a) for a, b in pairwise(edges)]
    return "".join(BLOCKS[min(8, max(0, round(8 * mean / top)))] for mean in means)


def duration(seconds: float) -> str:
    """Seconds as people say them: `48 s`, `3 min 05 s`, `2 h 07 min`."""
    seconds = round(seconds)
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60} min {seconds % 60:02d} s"
    return f"{seconds // 3600} h {seconds % 3600 // 60:02d} min"


def require_file(path: Path, endings: Sequence[str]) -> None:
    """Makes sure that a file can be written, before any work is done for it.

    Raises:
        HeadwayError: if its name ends otherwise, or its folder is not there.
    """
    require(path.suffix in endings, "file", str(path), f"one that ends in {' or '.join(endings)}")
    require(path.parent.is_dir(), "file", str(path), "in a folder that there is")
