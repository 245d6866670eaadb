"""The server's own pages, which `live.js` keeps up to date."""

import re

from markupsafe import Markup

from headway.report.page.document import asset, dressed
from headway.report.page.html import tag
from headway.report.page.templating import ENVIRONMENT

UNSEEN = "[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff]"


def plain(value: object) -> object:
    """A text with escapes for what is invisible or turns text round; other things as they are."""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return re.sub(UNSEEN, lambda found: f"\\u{ord(found[0]):04x}", value)


SERVED = ENVIRONMENT.overlay(finalize=plain)
"""Shows every text as `plain` does: names of folders may be anything."""


def document(template: str, about: str, version: str, script: str = "", **data: object) -> str:
    """A whole page.

    Args:
        template: that extends `server/page.html`.
        about: its title.
        version: of what it shows.
        script: that runs once, before the page is kept up to date.
        data: what the template shows.
    """
    return SERVED.get_template(template).render(
        about=about,
        version=version_tag(version),
        **dressed(
            [script, live_script()], asset("page.css") + asset("index.css", "server"), served=True
        ),
        **data,
    )


def version_tag(version: str) -> Markup:
    """What tells `live.js` of which version a page is."""
    return tag("meta", name="version", content=version)


def live_script() -> str:
    """The script that keeps a page up to date."""
    return asset("live.js")
