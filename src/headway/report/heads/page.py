"""The page about heads, put together from what `heads.json` holds."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headway.report.heads.sections import LEAST_SHADE, costly, effects, followers, maps, ranked
from headway.report.page.document import document
from headway.training.files import write_text

FILE = "report.html"


def write_heads(found: Mapping[str, Any], folder: Path) -> Path:
    """Writes the page of a study of heads; it needs no network.

    Args:
        found: what `heads.json` holds.
        folder: to write `report.html` into.

    Returns: the page's path.

    Raises:
        HeadwayError: if the disk does not take it.
    """
    page = folder / FILE
    write_text(page, render_heads(found))
    return page


def render_heads(found: Mapping[str, Any]) -> str:
    """The page as text."""
    return document(
        "heads/page.html",
        about=f"Heads of {found['model']}",
        name=f"heads-{found['model']}",
        styles=("many.css", "heads.css"),
        kicker="heads of a language model",
        title=f"Which heads of {found['model']} follow the chain?",
        found=found,
        ranked=ranked(found),
        maps=maps(found),
        least_shade=LEAST_SHADE,
        costly=costly(found),
        followers=followers(found),
        **effects(found),
    )
