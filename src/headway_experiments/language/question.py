"""One question in words, with its right answer; and what counts as an answer."""

from collections.abc import Sequence
from dataclasses import dataclass

AROUND = "\"'`“”‘’«»*_"
"""Quotation marks and those of bold, italic and code; dropped, as white space is, at
both ends.
"""

FINAL = ".,;:!"
"""Marks that end a sentence or a part of one; dropped at the end."""


@dataclass(frozen=True)
class Question:
    """One question with its answer.

    Attributes:
        formulation: its name.
        depth: look-ups from the question to the answer.
        chains: how many chains are interleaved.
        prompt: the whole text.
        correct: the right answer.
        acceptable: every answer of the right kind, sorted.
        nearer: the acceptable answers that belong to the asked function, person or the
            like, if these are fewer.
    """

    formulation: str
    depth: int
    chains: int
    prompt: str
    correct: str
    acceptable: tuple[str, ...]
    nearer: tuple[str, ...]

    @property
    def rank(self) -> int:
        """The place of the right answer among the acceptable ones, from 0."""
        return self.acceptable.index(self.correct)


def matched(text: str, acceptable: Sequence[str]) -> str | None:
    """The acceptable answer that a whole message of a chat model gives; None if it
    gives none.

    White space and `AROUND` are dropped at both ends, `FINAL` at the end. What is left
    must be one of the acceptable answers, letter by letter: another case or one more
    word is no answer.

    Args:
        text: the message.
        acceptable: every answer of the right kind.
    """
    before = None
    while text != before:
        before = text
        text = text.strip().strip(AROUND).rstrip(FINAL)
    return text if text in acceptable else None
