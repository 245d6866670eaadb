"""The base of all formulations, and names that they draw in the same way."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from random import Random

from headway.errors import require
from headway.language.question import Question

Written = tuple[str, Sequence[str], Sequence[str]]
"""A text that asks, the acceptable answers, sorted, and the nearer of these (see `Question`)."""


class Formulation(ABC):
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
    def write(self, random: Random, depth: int, chains: int, rank: int) -> Written:
        """Draws names, orders and what is asked, and puts them into words.

        Args:
            random: where from.
            depth: look-ups to the answer.
            chains: that are interleaved.
            rank: which of the acceptable answers, sorted, is to be the right one.
        """

    def question(self, random: Random, depth: int, chains: int, rank: int) -> Question:
        """A question with its answer (see `write`)."""
        prompt, acceptable, nearer = self.write(random, depth, chains, rank)
        every, correct = tuple(acceptable), acceptable[rank]
        return Question(self.name, depth, chains, prompt, correct, every, tuple(nearer))

    def answers(self, chains: int) -> int:
        """The number of acceptable answers."""
        return chains

    def depths(self, chains: int) -> range:
        """The depths for which there are names enough, for so many chains.

        Raises:
            HeadwayError: if there are none.
        """
        able = [n for n in range(1, 101) if self.deepest(n)]
        allowed = f"from {able[0]} to {able[-1]} for {self.name}"
        require(type(chains) is int and chains in able, "chains", chains, allowed)
        return range(1, self.deepest(chains) + 1)

    def require(self, depth: int, chains: int) -> None:
        """Raises `HeadwayError` unless there are names enough for a depth and so many chains."""
        able = self.depths(chains)
        allowed = f"from 1 to {len(able)} for {self.name} with chains = {chains}"
        require(depth in able, "depth", depth, f"{allowed}, as far as names go")


def drawn(random: Random, names: Sequence[str], rows: int, width: int) -> list[list[str]]:
    """Rows of different names."""
    found = random.sample(names, rows * width)
    return [found[width * i : width * (i + 1)] for i in range(rows)]
