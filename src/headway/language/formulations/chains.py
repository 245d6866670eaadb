"""Formulations in which one fact leads to the next: equations, lives-with, kingdoms (F1 to F3).

A chain is x_0 → x_1 → … → x_D; a line tells a pair (x_{k-1}, x_k), and the lines of one k stand
together, the deepest first. Roles are those of the retrieval problem (appendix B): s0 is what is
asked about, s_{2k-1} and s_{2k} are x_{k-1} and x_k on the line of their pair.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from headway.language.formulations.base import Formulation, Text
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
from headway.language.question import Question


@dataclass(frozen=True)
class ChainFacts:
    """The parts of a question.

    Attributes:
        symbols: x_0 … x_D, for each the names in all chains.
        orders: for every block as it is printed, the deepest first, the chains in their order.
        asked: the chain that is asked about.
    """

    symbols: Sequence[Sequence[str]]
    orders: Sequence[Sequence[int]]
    asked: int


class Chains(Formulation[ChainFacts]):
    """A line per pair, a block per step."""

    @abstractmethod
    def symbols(self, random: Random, depth: int, chains: int) -> list[list[str]]:
        """Draws x_0 … x_D of all chains."""

    @abstractmethod
    def line(self, depth: int, pair: int) -> tuple[str, str]:
        """The words between and after the two symbols of a pair (from 1)."""

    @abstractmethod
    def question(self, depth: int) -> tuple[str, str]:
        """The words before and after what is asked about."""

    forward = True
    """Whether x_{k-1} is told before x_k."""

    def told(self, symbol: str, number: int, depth: int, first: bool) -> str:
        """How x_number is written, as the first word of a line or elsewhere."""
        return symbol

    def answers(self, chains: int) -> int:
        """As many as there are chains."""
        return chains

    def draw(self, random: Random, depth: int, chains: int, rank: int) -> ChainFacts:
        """Draws a chain of names for every chain, and the orders."""
        symbols = self.symbols(random, depth, chains)
        orders = [random.sample(range(chains), chains) for _ in range(depth)]
        return ChainFacts(symbols, orders, symbols[-1].index(sorted(symbols[-1])[rank]))

    def tell(self, facts: ChainFacts) -> Question:
        """Writes the blocks from the deepest, then the question."""
        depth, chains = len(facts.symbols) - 1, len(facts.symbols[0])
        text = Text()
        for pair, order in zip(range(depth, 0, -1), facts.orders, strict=True):
            between, after = self.line(depth, pair)
            first, second = (pair - 1, pair) if self.forward else (pair, pair - 1)
            roles = f"s{2 * first + self.forward}", f"s{2 * second + (not self.forward)}"
            for chain in order:
                text.put(
                    True,
                    (self.told(facts.symbols[first][chain], first, depth, True), roles[0]),
                    between,
                    (self.told(facts.symbols[second][chain], second, depth, False), roles[1]),
                    after,
                    chain=chain,
                )
        before, after = self.question(depth)
        asked = self.told(facts.symbols[0][facts.asked], 0, depth, False)
        text.put(True, before, (asked, "s0"), after, chain=facts.asked)
        acceptable = tuple(sorted(facts.symbols[-1]))
        return Question(
            formulation=self.name,
            depth=depth,
            chains=chains,
            phrases=text.phrases,
            asked=facts.asked,
            correct=facts.symbols[-1][facts.asked],
            acceptable=acceptable,
            nearer=acceptable,
            links=links(depth, self.forward),
        )


def links(depth: int, forward: bool) -> tuple[tuple[str, str], ...]:
    """Along which roles a causal head can follow a chain: from a symbol to where it was told of
    before, from there to what stands beside it, or to that at once."""
    pairs = range(1, depth + 1)
    same = [(f"s{2 * k - 2}", f"s{2 * k - 1}") for k in pairs]
    sides = [(f"s{2 * k}", f"s{2 * k - 1}") for k in pairs]
    beside = sides if forward else [(left, right) for right, left in sides]
    induction = [(f"s{2 * k - 2}", f"s{2 * k}") for k in pairs]
    return (*same, *beside, *induction)


class Equations(Chains):
    """F1 (appendix A.1): `b = 2`, `e = b`, … What is the value of e?

    The depth counts the equations of a chain, that with the number among them.
    """

    name, default_depth = "equations", 5
    about = "variables that are equal to variables, and at last to numbers"

    def deepest(self, chains: int) -> int:
        """As many letters as there are."""
        return len(LETTERS) // chains

    def symbols(self, random: Random, depth: int, chains: int) -> list[list[str]]:
        """Letters, and at the end the numbers from 0."""
        letters = random.sample(LETTERS, chains * depth)
        blocks = [letters[i * chains : (i + 1) * chains] for i in range(depth)]
        return [*blocks, [str(n) for n in random.sample(range(chains), chains)]]

    def line(self, depth: int, pair: int) -> tuple[str, str]:
        """`e = b`."""
        return " = ", "\n"

    def question(self, depth: int) -> tuple[str, str]:
        """Asks for a number."""
        rest = "? Say directly only the numeric value, without any other words."
        return "What is the value of ", rest

    def draw(self, random: Random, depth: int, chains: int, rank: int) -> ChainFacts:
        """Numbers are sorted as numbers."""
        facts = super().draw(random, depth, chains, rank)
        return ChainFacts(facts.symbols, facts.orders, facts.symbols[-1].index(str(rank)))


class LivesWith(Chains):
    """F2 (appendix A.2): `Bob lives in Berlin`, `Eve lives with Bob`, … Where does Eve live?

    The depth counts the people of a chain, so its lines, that with the city among them.
    """

    name, default_depth = "lives-with", 5
    about = "people who live with people, and at last in cities"

    def deepest(self, chains: int) -> int:
        """As many people as there are, and a city per chain."""
        return len(PEOPLE) // chains if chains <= len(CITIES) else 0

    def symbols(self, random: Random, depth: int, chains: int) -> list[list[str]]:
        """People, and at the end cities."""
        people = random.sample(PEOPLE, chains * depth)
        blocks = [people[i * chains : (i + 1) * chains] for i in range(depth)]
        return [*blocks, random.sample(CITIES, chains)]

    def line(self, depth: int, pair: int) -> tuple[str, str]:
        """`Eve lives with Bob`."""
        return " lives in " if pair == depth else " lives with ", "\n"

    def question(self, depth: int) -> tuple[str, str]:
        """Asks for a city."""
        rest = " live? Say directly only the name of the city, without any other words."
        return "Where does ", rest


WORLD = (
    (tuple(KINGDOMS), " lives in ", "Who lives in "),
    (BELIEFS, " believe in ", "Who believes in "),
    (FOODS, " eat ", "Who eats "),
    (MINERALS, " contains ", "Who takes in "),
    (DISEASES, " causes ", "Who has "),
)
"""What leads away from people, step by step: names, how they are told of, and asked about."""


class Kingdoms(Chains):
    """F3 (appendix A.3): people live in kingdoms, whose people believe, eat, … Who has Chronogy?

    The depth counts blocks of lines: 1 asks who lives in a kingdom, 2 who believes, 3 who eats,
    4 who takes in a mineral, 5 who has an illness.
    """

    name, default_depth = "kingdoms", 5
    about = "people, their kingdoms, what is believed, eaten, contained and caused there"
    forward = False

    def deepest(self, chains: int) -> int:
        """The steps that there are."""
        return len(WORLD) if chains <= min(len(names) for names, _, _ in WORLD) else 0

    def symbols(self, random: Random, depth: int, chains: int) -> list[list[str]]:
        """From what is asked about down to people."""
        levels = [random.sample(names, chains) for names, _, _ in WORLD[:depth]]
        return [*levels[::-1], random.sample(PEOPLE, chains)]

    def line(self, depth: int, pair: int) -> tuple[str, str]:
        """`Luminists eat beef.`"""
        return WORLD[depth - pair][1], ".\n"

    def told(self, symbol: str, number: int, depth: int, first: bool) -> str:
        """Kingdoms and beliefs stand for their people where a line begins with them."""
        level = depth - number - 1  # of `WORLD`; -1 are people
        if not first or level < 0:
            return symbol
        if level == 0:
            return KINGDOMS[symbol]
        if level == 1:
            return symbol.removesuffix("ism").capitalize() + "ists"
        return symbol.capitalize() if level == 2 else symbol

    def question(self, depth: int) -> tuple[str, str]:
        """Asks for a person."""
        return WORLD[depth - 1][2], "? Say directly the name without other words."
