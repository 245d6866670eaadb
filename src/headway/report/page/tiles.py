"""Key numbers on the first screen."""

from collections.abc import Sequence

from headway.report.page.html import escape, tag


def tiles(entries: Sequence[tuple[str, str, str]]) -> str:
    """Key numbers.

    Args:
        entries: what each is called, as text; the number and a note, as HTML.
    """
    inner = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{value}</dd><dd class=note>{note}</dd></div>\n"
        for name, value, note in entries
    )
    return tag("dl", inner, class_="tiles")
