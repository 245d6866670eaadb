"""What every formulation can do: draw names and orders, and put them into words."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from random import Random
from typing import Generic, TypeVar

from headway.errors import require
from headway.language.question import Phrase, Question

Facts = TypeVar("Facts")


@dataclass
class Text:
    """A text that is written phrase by phrase."""

    phrases: list[Phrase] = field(default_factory=list)

    def put(self, on_way: bool, *parts: str | tuple[str, str], chain: int = 0) -> None:
        """Adds words, and words with the role that they play.

        Args:
            on_way: whether the words lie on the way from a question to its answer; only then do
                roles count.
            parts: in their order.
            chain: whose way it is.
        """
        self.phrases.append((chain if on_way else None, parts))


class Formulation(ABC, Generic[Facts]):
    """A way to put the retrieval problem into words.

    Attributes:
        name: what commands call it.
        about: the problem in a few words.
        default_depth: that of the paper's example.
    """

    name: str
    about: str
    default_depth: int

    @abstractmethod
    def deepest(self, chains: int) -> int:
        """The greatest depth for which there are names enough, for so many chains; 0 if none."""

    @abstractmethod
    def answers(self, chains: int) -> int:
        """How many acceptable answers there are."""

    @abstractmethod
    def draw(self, random: Random, depth: int, chains: int, rank: int) -> Facts:
        """Draws names, orders and what is asked.

        Args:
            random: where from.
            depth: look-ups to the answer.
            chains: that are interleaved.
            rank: which of the acceptable answers, sorted, is to be the right one.
        """

    @abstractmethod
    def tell(self, facts: Facts) -> Question:
        """Puts what was drawn into words."""

    def require_chains(self, chains: int) -> None:
        """Raises `HeadwayError` unless there are names enough for so many chains."""
        able = [n for n in range(1, 101) if self.deepest(n)]
        allowed = f"from {able[0]} to {able[-1]} for {self.name}"
        require(chains in able, "chains", chains, allowed)

    def require(self, depth: int, chains: int) -> None:
        """Raises `HeadwayError` unless there are names enough for a depth and so many chains."""
        self.require_chains(chains)
        deepest = self.deepest(chains)
        require(
            1 <= depth <= deepest,
            "depth",
            depth,
            f"from 1 to {deepest} for {self.name} with chains = {chains}, as far as names go",
        )
