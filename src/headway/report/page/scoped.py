"""Rules of the page's style sheet for a fragment that stands in somebody else's page."""

import re
from collections.abc import Sequence
from functools import cache

from headway.report.page.document import asset

CLASS = "headway"
"""Of the element that a fragment is, to which all of its rules are confined."""


@cache
def scoped_style(parts: Sequence[str]) -> str:
    """Parts of page.css and all of notebook.css, confined to elements of class `headway`.

    The rules are nested, and stand above any that the other page has for plain elements.

    Args:
        parts: the comments under which the rules stand in page.css, or their first words. These
            comments begin a line.

    Raises:
        ValueError: if page.css has no such part.
    """
    comments, rules = _parts(asset("page.css"))
    chosen = []
    for part in parts:
        at = [i for i, comment in enumerate(comments) if comment.startswith(part)]
        if len(at) != 1:
            raise ValueError(f"page.css has {len(at)} parts called {part}")
        chosen.append(rules[at[0]].replace(":root {", "& {"))
    sheet = re.sub(r"/\*.*?\*/", "", "".join([*chosen, asset("notebook.css")]), flags=re.DOTALL)
    inner = re.sub(r"\s*\n\s*", "\n", sheet).strip()
    # An id that nobody has outdoes every rule of the other page that is made of classes.
    return f".{CLASS}:not(#_) {{\n{inner}\n}}"


def _parts(sheet: str) -> tuple[list[str], list[str]]:
    _, *pieces = re.split(r"^/\*\s*(.*?)\s*\*/", sheet, flags=re.DOTALL | re.MULTILINE)
    return pieces[::2], pieces[1::2]
