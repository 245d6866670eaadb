"""One question in words, with its right answer and where everything stands in the text."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

Span = tuple[int, int]
"""First character, and the one after the last."""

Mark = tuple[int, str]
"""A chain and the role that a word plays in it."""

AROUND = "\"'`“”‘’«»*_"
"""Quotation marks and those of bold, italic and code; dropped, as white space is, at both ends."""

FINAL = ".,;:!"
"""What ends a sentence or a part of one; dropped at the end."""


@dataclass
class Text:
    """A text that is written sentence by sentence.

    Attributes:
        prompt: the whole text so far.
        spans: where every role of every chain stands in it.
    """

    prompt: str = ""
    spans: dict[Mark, Span] = field(default_factory=dict)

    def put(self, on_way: bool, *parts: str | tuple[str, str], chain: int = 0) -> None:
        """Adds words, and words with the role that they play.

        Args:
            on_way: whether the words lie on the way from a question to its answer; only then do
                roles count.
            parts: in their order.
            chain: whose way it is.
        """
        for part in parts:
            word, role = part if isinstance(part, tuple) else (part, None)
            start = len(self.prompt)
            self.prompt += word
            if on_way and role is not None:
                self.spans[chain, role] = start, len(self.prompt)


@dataclass(frozen=True)
class Question:
    """One question with its answer.

    Attributes:
        formulation: its name.
        depth: look-ups from the question to the answer.
        chains: how many chains are interleaved.
        prompt: the whole text.
        spans: where every role of every chain stands in it.
        asked: the chain that is asked about.
        correct: the right answer.
        acceptable: every answer of the right kind, sorted.
        nearer: the acceptable answers that belong to the asked function, person or the like, if
            these are fewer.
        links: pairs of roles between which a head may lead: who attends, and to whom.
    """

    formulation: str
    depth: int
    chains: int
    prompt: str
    spans: dict[Mark, Span]
    asked: int
    correct: str
    acceptable: tuple[str, ...]
    nearer: tuple[str, ...]
    links: Sequence[tuple[str, str]]

    @property
    def rank(self) -> int:
        """Which of the acceptable answers is the right one."""
        return self.acceptable.index(self.correct)

    @property
    def relations(self) -> dict[str, list[tuple[Span, Span]]]:
        """For every pair of linked roles, by chain, the span that attends and the one attended to.

        The chain that is asked about comes first.
        """
        order = sorted(range(self.chains), key=lambda chain: chain != self.asked)
        found: dict[str, list[tuple[Span, Span]]] = {}
        for query, key in self.links:
            for chain in order:
                if (chain, query) in self.spans and (chain, key) in self.spans:
                    both = self.spans[chain, query], self.spans[chain, key]
                    found.setdefault(f"{query}←{key}", []).append(both)
        return found

    def to_json(self) -> dict[str, Any]:
        """As plain data, a line of a JSONL file."""
        return {
            "formulation": self.formulation,
            "depth": self.depth,
            "chains": self.chains,
            "prompt": self.prompt,
            "correct": self.correct,
            "acceptable": list(self.acceptable),
            "nearer": list(self.nearer),
            "relations": self.relations,
        }


def matched(text: str, acceptable: Sequence[str]) -> str | None:
    """The acceptable answer that a whole message of a chat model gives; None if it gives none.

    White space and `AROUND` are dropped at both ends, `FINAL` at the end. What is left must be one
    of the acceptable answers, letter by letter: another case or one more word is no answer.

    Args:
        text: the message.
        acceptable: every answer of the right kind.
    """
    before = None
    while text != before:
        before, text = text, text.strip().strip(AROUND).rstrip(FINAL)
    return text if text in acceptable else None
