"""One question in words, with its right answer and where everything stands in the text."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

Span = tuple[int, int]
"""First character, and the one after the last."""

Mark = tuple[int, str]
"""A chain and the role that a word plays in it."""

Phrase = tuple[int | None, Sequence[str | tuple[str, str]]]
"""The chain that something is said of, if it is one that leads somewhere, and what is said: words,
and words with their roles."""


@dataclass(frozen=True)
class Question:
    """One question with its answer.

    Attributes:
        formulation: its name.
        depth: look-ups from the question to the answer.
        chains: how many chains are interleaved.
        phrases: the text, phrase by phrase.
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
    phrases: Sequence[Phrase]
    asked: int
    correct: str
    acceptable: tuple[str, ...]
    nearer: tuple[str, ...]
    links: tuple[tuple[str, str], ...]

    @cached_property
    def prompt(self) -> str:
        """The whole text."""
        # `type` is quicker than `isinstance`, and this is done for every word.
        parts = [part for _, parts in self.phrases for part in parts]
        return "".join([part if type(part) is str else part[0] for part in parts])

    @cached_property
    def spans(self) -> dict[Mark, Span]:
        """Where every role of every chain stands in the prompt."""
        at, found = 0, {}
        for chain, parts in self.phrases:
            for part in parts:
                word, role = (part, None) if isinstance(part, str) else part
                if chain is not None and role is not None:
                    found[chain, role] = at, at + len(word)
                at += len(word)
        return found

    @property
    def relations(self) -> dict[str, list[tuple[Span, Span]]]:
        """For every pair of linked roles, by chain, the span that attends and the one attended to.

        The chain that is asked about comes first.
        """
        order = sorted(range(self.chains), key=lambda chain: chain != self.asked)
        found: dict[str, list[tuple[Span, Span]]] = {}
        for query, key in self.links:
            both = [
                (self.spans[chain, query], self.spans[chain, key])
                for chain in order
                if (chain, query) in self.spans and (chain, key) in self.spans
            ]
            if both:
                found[f"{query}←{key}"] = both
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
