"""The page about heads, put together from what `heads.json` holds."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headway.report.heads.sections import effects, maps, orders, ranked, reading
from headway.report.heads.words import between, name_of, verdict
from headway.report.page.html import counted, escape, named
from headway.report.page.render import document
from headway.report.page.tiles import tiles
from headway.training.files import write_text

FILE = "report.html"
SECTIONS = {
    "ranked": "Ranking",
    "relations": "Relations",
    "effects": "Knock-out",
    "orders": "Order",
    "reading": "How it is measured",
}
SCRIPTS = ("state.js", "keep.js", "start.js")
FOOTER = "Every number on this page was read from the study's folder."


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
    main = ranked(found) + maps(found) + effects(found) + orders(found) + reading(found)
    look = {"scripts": SCRIPTS, "styles": ("many.css", "heads.css"), "footer": FOOTER}
    title = f"Heads of {found['model']}"
    return document(title, _header(found), main, f"heads-{found['model']}", **look)


def _header(found: Mapping[str, Any]) -> str:
    menu = "".join(f'<a href="#{to}">{escape(text)}</a>' for to, text in SECTIONS.items())
    form = f" · asked in {found['form']} form" if found["form"] else ""
    setting = (
        f"{escape(found['formulation'])}, {counted(found['depth'], 'look-up')} ·"
        f" {found['chains']} chains · {counted(found['layers'], 'layer')} ×"
        f" {counted(found['heads'], 'head')} · ranked on {found['ranked_on']} questions, told on"
        f" {found['n'] - found['ranked_on']} others · seed {found['seed']}{form}"
    )
    return (
        '<p class="kicker">headway · heads of a language model</p>\n'
        f"<h1>Which heads of {escape(found['model'])} follow the chain?</h1>\n"
        f'<p class="setting">{setting}</p>\n<p class="verdict">{verdict(found)}</p>\n'
        f'{tiles(_tiles(found))}\n<nav aria-label="sections">{menu}</nav>\n'
    )


def _tiles(found: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    best = found["ranking"][0]
    whole = found["effects"][0]["found"]
    return [
        ("Best head", name_of(best), named(best["relation"])),
        (
            "Its attention",
            f"{best['attention']:.2f}",
            f"to its own chain; {best['others']:.2f} to each of the others",
        ),
        (
            "Argmax right",
            f"{whole['argmax'][0]:.2f}",
            f"{between(whole['argmax'][1:])}; chance {1 / found['chains']:.2f}",
        ),
        ("Expected", f"{whole['expectation'][0]:.2f}", between(whole["expectation"][1:])),
    ]
