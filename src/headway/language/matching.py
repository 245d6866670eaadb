"""Which acceptable answer a text gives, if any: the rule for whole messages of chat models."""

from collections.abc import Sequence

AROUND = "\"'`“”‘’«»*_"
"""Quotation marks and those of bold, italic and code; dropped, as white space is, at both ends."""

FINAL = ".,;:!"
"""What ends a sentence or a part of one; dropped at the end."""


def matched(text: str, acceptable: Sequence[str]) -> str | None:
    """The acceptable answer that a text gives; None if it gives none.

    White space and `AROUND` are dropped at both ends, `FINAL` at the end. What is left must be one
    of the acceptable answers, letter by letter: another case or one more word is no answer.

    Args:
        text: what a model said.
        acceptable: every answer of the right kind.
    """
    said = text
    while True:
        less = said.strip().strip(AROUND).rstrip(FINAL)
        if less == said:
            return said if said in acceptable else None
        said = less
