"""The page about heads, put together from what `heads.json` holds."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, PackageLoader

from headway.report.page.document import document
from headway.report.page.templating import ENVIRONMENT
from headway.training.files import write_text
from headway_experiments.language_models.page.sections import (
    LEAST_SHADE,
    costly,
    effects,
    followers,
    maps,
    ranked,
)

FILE = "report.html"
PACKAGES = "headway_experiments.language_models.page", "headway.report"
TEMPLATES = ENVIRONMENT.overlay(loader=ChoiceLoader(list(map(PackageLoader, PACKAGES))))


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
        TEMPLATES.get_template("heads/page.html"),
        about=f"Heads of {found['model']}",
        name=f"heads-{found['model']}",
        styles=("many.css",),
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
