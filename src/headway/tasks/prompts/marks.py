"""Marks in texts: `When {IO:Mary} and {S1:John} went` names the roles of two words."""

import re
from typing import NamedTuple

from headway.errors import require

END = "end"
"""The role of a prompt's last token, where the answer is read."""

PART = re.compile(r"\{\{|\}\}|\{(?P<inside>[^{}]*)\}|[{}]")
"""A doubled brace, a mark, or a brace that belongs to neither."""

LITERAL = "a brace of the text itself is written {{ or }}"


class Span(NamedTuple):
    """Some characters of a text in a row.

    Attributes:
        start: the first one.
        stop: behind the last one.
    """

    start: int
    stop: int


class Marked(NamedTuple):
    """A text without its marks, and what they marked.

    Attributes:
        text: as a model reads it.
        spans: of every role, by name, in the order in which they stand.
    """

    text: str
    spans: dict[str, Span]


def unmarked(written: str, where: str) -> Marked:
    """The text that a user has written, without marks.

    Args:
        written: with marks `{ROLE:text}`; a brace of the text itself is doubled.
        where: it stands, for errors.

    Raises:
        HeadwayError: if a brace is left open, or a mark has no name or no text, or
            names a role again.
    """
    text = ""
    spans = dict[str, Span]()
    copied = 0
    for part in PART.finditer(written):
        text += written[copied : part.start()]
        copied = part.end()
        if part[0] in ("{{", "}}"):
            text += part[0][0]
            continue
        role, content = _role_and_text(part, written, where)
        allowed = f"a role that is marked once: {{{role}:…}} stands there again"
        require(role not in spans, where, written, allowed)
        spans[role] = Span(len(text), len(text) + len(content))
        text += content
    return Marked(text + written[copied:], spans)


def _role_and_text(part: re.Match[str], written: str, where: str) -> tuple[str, str]:
    """The role that a mark names, and the text that plays it."""
    inside = part["inside"]
    allowed = f"marked as {{ROLE:text}} with both braces; {LITERAL}"
    require(inside is not None, where, written, allowed)
    role, colon, content = inside.partition(":")
    allowed = f"marked as {{ROLE:text}}: {part[0]} has no text; {LITERAL}"
    require(bool(colon and content), where, written, allowed)
    require_role(role, where)
    return role, content


def require_role(role: str, where: str) -> None:
    """Makes sure that a role can have a name, as names of relations contain it.

    Raises:
        HeadwayError: if it cannot.
    """
    is_name = role.isprintable() and role.strip() == role != ""
    allowed = "a name of one line without an arrow or a bracket"
    require(is_name and not {*"←()"} & {*role}, f"{where}: role", role, allowed)
    allowed = f"another name than {END!r}, which is that of the last token"
    require(role != END, f"{where}: role", role, allowed)
