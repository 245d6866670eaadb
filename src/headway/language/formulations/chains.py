"""Formulations in which one fact leads to the next: equations, lives-with, kingdoms (F1 to F3).

A chain is x_0 → x_1 → … → x_D; a line tells a pair (x_{k-1}, x_k), and the lines of one k stand
together, the deepest first.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from random import Random
from typing import ClassVar

from headway.language.formulations.base import Formulation, Written, drawn
from headway.language.names import (
    BELIEFS,
    CITIES,
    DISEASES,
    FOODS,
    KINGDOMS,
    LETTERS,
    MINERALS,
    PEOPLE,
)


class Chains(Formulation):
    """A line per pair, a block per step.

    Attributes:
        forward: whether x_{k-1} is told before x_k.
        end: of every line.
        first: how symbols are written that a line begins with, if otherwise than elsewhere.
    """

    forward = True
    end = "\n"
    first: ClassVar[Mapping[str, str]] = {}

    @abstractmethod
    def draw(
        self, random: Random, depth: int, chains: int
    ) -> tuple[list[list[str]], Sequence[str], tuple[str, str]]:
        """Draws x_0 … x_D of all chains.

        Returns: them, the words between the two symbols of every pair, and the words before and
            after what is asked about.
        """

    def write(self, random: Random, depth: int, chains: int, rank: int) -> Written:
        """Writes the blocks from the deepest, then the question."""
        symbols, between, (before, after) = self.draw(random, depth, chains)
        acceptable = sorted(symbols[-1])
        asked = symbols[-1].index(acceptable[rank])
        prompt = ""
        for pair in range(depth, 0, -1):
            sides = symbols[pair - 1], symbols[pair]
            left, right = sides if self.forward else sides[::-1]
            for chain in random.sample(range(chains), chains):
                start = self.first.get(left[chain], left[chain])
                prompt += f"{start}{between[pair - 1]}{right[chain]}{self.end}"
        prompt += f"{before}{symbols[0][asked]}{after}"
        return prompt, acceptable, acceptable


class Equations(Chains):
    """F1 (appendix A.1): `b = 2`, `e = b`, … What is the value of e?

    The depth counts the equations of a chain, that with the number among them.
    """

    name, default_depth = "equations", 5
    about = "variables that are equal to variables, and at last to numbers"

    def deepest(self, chains: int) -> int:
        """As many letters as there are."""
        return len(LETTERS) // chains

    def draw(self, random: Random, depth: int, chains: int):
        """Letters, and at the end the numbers from 0."""
        letters = drawn(random, LETTERS, depth, chains)
        symbols = [*letters, [str(n) for n in random.sample(range(chains), chains)]]
        after = "? Say directly only the numeric value, without any other words."
        return symbols, [" = "] * depth, ("What is the value of ", after)


class LivesWith(Chains):
    """F2 (appendix A.2): `Bob lives in Berlin`, `Eve lives with Bob`, … Where does Eve live?

    The depth counts the people of a chain, so its lines, that with the city among them.
    """

    name, default_depth = "lives-with", 5
    about = "people who live with people, and at last in cities"

    def deepest(self, chains: int) -> int:
        """As many people as there are, and a city per chain."""
        return len(PEOPLE) // chains if chains <= len(CITIES) else 0

    def draw(self, random: Random, depth: int, chains: int):
        """People, and at the end cities."""
        symbols = [*drawn(random, PEOPLE, depth, chains), random.sample(CITIES, chains)]
        between = [" lives with "] * (depth - 1) + [" lives in "]
        after = " live? Say directly only the name of the city, without any other words."
        return symbols, between, ("Where does ", after)


WORLD = (
    (tuple(KINGDOMS), " lives in ", "Who lives in "),
    (BELIEFS, " believe in ", "Who believes in "),
    (FOODS, " eat ", "Who eats "),
    (MINERALS, " contains ", "Who takes in "),
    (DISEASES, " causes ", "Who has "),
)
"""Steps that lead away from people: names, the words that tell of them, and that ask."""


class Kingdoms(Chains):
    """F3 (appendix A.3): people live in kingdoms, whose people believe, eat, … Who has Chronogy?

    The depth counts blocks of lines: 1 asks who lives in a kingdom, 2 who believes, 3 who eats,
    4 who takes in a mineral, 5 who has an illness.
    """

    name, default_depth = "kingdoms", 5
    about = "people, their kingdoms, what is believed, eaten, contained and caused there"
    forward = False
    end = ".\n"
    first: ClassVar[Mapping[str, str]] = {
        **KINGDOMS,
        **{belief: belief.removesuffix("ism").capitalize() + "ists" for belief in BELIEFS},
        **{food: food.capitalize() for food in FOODS},
    }

    def deepest(self, chains: int) -> int:
        """The steps that there are."""
        return len(WORLD) if chains <= min(len(names) for names, _, _ in WORLD) else 0

    def draw(self, random: Random, depth: int, chains: int):
        """From what is asked about down to people."""
        levels = [random.sample(names, chains) for names, _, _ in WORLD[:depth]]
        symbols = [*levels[::-1], random.sample(PEOPLE, chains)]
        between = [WORLD[depth - pair][1] for pair in range(1, depth + 1)]
        return (
            symbols,
            between,
            (WORLD[depth - 1][2], "? Say directly the name without other words."),
        )
