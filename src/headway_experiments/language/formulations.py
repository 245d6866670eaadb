"""The five ways to put the problem into words (F1 to F5), and the questions that each
asks.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Annotated

from annotated_types import Ge, Le

from headway.errors import require
from headway.fields import require_allowed
from headway_experiments.language import names
from headway_experiments.language.question import Question

Count = Annotated[int, Ge(1), Le(1_000_000)]
"""A number of questions that are asked."""


class Formulation(ABC):
    """A way to put the retrieval problem into words.

    Attributes:
        name: what commands call it.
        default_depth: that of the paper's example.
    """

    name: str
    default_depth: int

    @abstractmethod
    def deepest(self, chains: int) -> int:
        """The greatest depth for which there are names enough, for so many chains; 0 if
        none.
        """

    @abstractmethod
    def question(self, random: Random, depth: int, chains: int, rank: int) -> Question:
        """Draws names, orders and what is asked, and puts them into words.

        Args:
            random: where from.
            depth: look-ups to the answer.
            chains: that are interleaved.
            rank: which of the acceptable answers, sorted, is to be the right one.
        """

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
        is_able = type(chains) is int and chains in able
        require(is_able, "chains", chains, allowed)
        return range(1, self.deepest(chains) + 1)

    def require(self, depth: int, chains: int) -> None:
        """Raises `HeadwayError` unless there are names enough for a depth and so many
        chains.
        """
        able = self.depths(chains)
        allowed = f"from 1 to {len(able)} for {self.name} with chains = {chains}"
        require(depth in able, "depth", depth, f"{allowed}, as far as names go")


def drawn(
    random: Random, names: Sequence[str], rows: int, width: int
) -> list[list[str]]:
    """Rows of different names."""
    several = random.sample(names, rows * width)
    starts = range(0, rows * width, width)
    return [several[start : start + width] for start in starts]


def told(
    random: Random,
    levels: Sequence[Sequence[str]],
    line: Callable[[int, str, str], str],
) -> str:
    """The lines that tell how names lead to those at the same places of the next level.

    Args:
        random: of the order of the lines of a block.
        levels: a block is about two that follow each other; the deepest block stands
            first.
        line: of the number of a block and of two names.
    """
    text = ""
    for block, (last, before) in enumerate(
        zip(levels[::-1], levels[-2::-1], strict=False)
    ):
        for at in random.sample(range(len(last)), len(last)):
            text += f"{line(block, before[at], last[at])}\n"
    return text


@dataclass(frozen=True)
class Chains(Formulation):
    """Formulations in which one fact leads to the next (F1 to F3).

    A chain is x_0 → x_1 → … → x_D; a line tells a pair (x_{k-1}, x_k), x_0 is asked
    about.

    Attributes:
        links: the names of all but x_D.
        ends: those of x_D, for so many chains.
        line: tells a pair; blocks are counted from the deepest.
        ask: asks where x_0 leads, from so deep.
    """

    name: str
    links: Sequence[str]
    ends: Callable[[int], Sequence[str]]
    line: Callable[[int, str, str], str]
    ask: Callable[[int, str], str]
    default_depth: int = 5

    def deepest(self, chains: int) -> int:
        """The depth for which there are names, if each chain has an end."""
        has_enough_ends = chains <= len(self.ends(chains))
        return len(self.links) // chains if has_enough_ends else 0

    def draw(self, random: Random, depth: int, chains: int) -> list[list[str]]:
        """Draws x_0 … x_D of all chains."""
        before = drawn(random, self.links, depth, chains)
        return [*before, random.sample(self.ends(chains), chains)]

    def question(self, random: Random, depth: int, chains: int, rank: int) -> Question:
        """Writes the blocks, then the question."""
        symbols = self.draw(random, depth, chains)
        ends = symbols[-1]
        every = tuple(sorted(ends))
        right = every[rank]
        asked = symbols[0][ends.index(right)]
        prompt = told(random, symbols, self.line) + self.ask(depth, asked)
        return Question(self.name, depth, chains, prompt, right, every, every)


NUMBER_ONLY = "Say directly only the numeric value, without any other words."

EQUATIONS = Chains(
    "equations",
    names.LETTERS,
    ends=lambda chains: [str(number) for number in range(chains)],
    line=lambda block, before, after: f"{before} = {after}",
    ask=lambda depth, about: f"What is the value of {about}? {NUMBER_ONLY}",
)
"""F1 (appendix A.1): `b = 2`, `e = b`, … What is the value of e?

The depth counts the equations of a chain, that with the number among them.
"""

LIVES_WITH = Chains(
    "lives-with",
    names.PEOPLE,
    ends=lambda chains: names.CITIES,
    line=lambda block, before, after: (
        f"{before} lives {'with' if block else 'in'} {after}"
    ),
    ask=lambda depth, about: (
        f"Where does {about} live? Say directly only the name of the city, without "
        "any other words."
    ),
)
"""F2 (appendix A.2): `Bob lives in Berlin`, `Eve lives with Bob`, … Where does Eve
live?

The depth counts the people of a chain, so its lines, that with the city among them.
"""

WORLD = (
    (names.KINGDOMS, "lives in", "lives in"),
    (names.BELIEFS, "believe in", "believes in"),
    (names.FOODS, "eat", "eats"),
    (names.MINERALS, "contains", "takes in"),
    (names.DISEASES, "causes", "has"),
)
"""Steps that lead away from people: names, the words that tell of them, and that
ask.
"""


class Kingdoms(Chains):
    """Formulations whose names are others at every step."""

    def deepest(self, chains: int) -> int:
        """The steps that there are."""
        has_enough_names = all(chains <= len(step[0]) for step in WORLD)
        return len(WORLD) if has_enough_names else 0

    def draw(self, random: Random, depth: int, chains: int) -> list[list[str]]:
        """The names of every level, from what is asked about down to people."""
        levels = [random.sample(step[0], chains) for step in WORLD[:depth]]
        ends = random.sample(self.ends(chains), chains)
        return [*reversed(levels), ends]


def of_the_world(block: int, before: str, after: str) -> str:
    """A line on people, on who lives in a kingdom, on believers, on a food, or on a
    mineral.
    """
    who = after
    if block == 1:
        who = f"{after}ns"
    if block == 2:
        who = after.removesuffix("ism") + "ists"
    _, verb, _ = WORLD[block]
    subject = who[0].upper() + who[1:]
    return f"{subject} {verb} {before}."


KINGDOMS = Kingdoms(
    "kingdoms",
    (),
    ends=lambda chains: names.PEOPLE,
    line=of_the_world,
    ask=lambda depth, about: (
        f"Who {WORLD[depth - 1][2]} {about}? Say directly the name without other words."
    ),
)
"""F3 (appendix A.3): people live in kingdoms, whose people believe, eat, … Who has
Chronogy?

The depth counts blocks of lines: 1 asks who lives in a kingdom, 2 who believes, 3 who
eats, 4 who takes in a mineral, 5 who has an illness.
"""


class Functions(Formulation):
    """F4 (appendix A.4): `a(0) = 3`, …, `f = a`, …, `i = 0`, … What is the value of
    f(i)?

    The answer needs both the function and the argument. The depth counts look-ups from
    the question to the value: 1 asks for a row of a table, 2 for names of a function
    and a number (as in the paper), 3 for names of those names.
    """

    name = "functions"
    default_depth = 2

    def deepest(self, chains: int) -> int:
        """The depth for which there are letters, if numbers have one digit."""
        left = len(names.LETTERS) - chains
        return 1 + left // (2 * chains) if 2 <= chains <= 10 else 0

    def question(self, random: Random, depth: int, chains: int, rank: int) -> Question:
        """Writes tables, then names of functions and of arguments, then the question.

        Every row of a table holds every number once, so any value can be asked for.
        """
        numbers = range(chains)
        functions, *renamed = drawn(random, names.LETTERS, 2 * depth - 1, chains)
        tables = [random.sample(numbers, chains) for _ in numbers]
        # For every round of new names: the place in the round before of the name that
        # each is equal to.
        meant = [random.sample(numbers, chains) for _ in renamed]
        function = random.randrange(chains)
        argument = _argument_for(rank, function, tables, meant)
        values = tuple(map(str, numbers))
        prompt = _tables_told(functions, tables)
        known = [functions, values]
        for turn, (new, places) in enumerate(zip(renamed, meant, strict=True)):
            old = known[turn % 2]
            for name, place in zip(new, places, strict=True):
                prompt += f"{name} = {old[place]}\n"
            known[turn % 2] = new
        asked = f"{known[0][function]}({known[1][argument]})"
        prompt += f"What is the value of {asked}? {NUMBER_ONLY}"
        return Question(self.name, depth, chains, prompt, values[rank], values, values)


class Relatives(Formulation):
    """F5 (appendix A.5): `Lily lives in Brazil.`, …, `Eves mother is Lily.`, …,
    `Lawyers live with their mothers.`, …, `Eve works as a lawyer.` Where does Eve live?

    The answer needs both who Eve is and what she does. The depth counts look-ups from
    the question to the place: 4 are by who somebody is and what they do (as in the
    paper); more, if relatives live with others; 1 asks where a relative lives, 2 where
    somebody's mother does, 3 the same if she lives with another.
    """

    name = "relatives"
    default_depth = 4

    def deepest(self, chains: int) -> int:
        """The depth for which there are names of people."""
        kinds = len(names.RELATIVES)
        most = min(len(names.ASKED_ABOUT), len(names.COUNTRIES) // kinds)
        return 3 + len(names.PEOPLE) // (chains * kinds) if chains <= most else 0

    def answers(self, chains: int) -> int:
        """A place per relative."""
        return chains * len(names.RELATIVES)

    def question(self, random: Random, depth: int, chains: int, rank: int) -> Question:
        """Writes who lives where, who is whose relative, what one does, then the
        question.
        """
        count = self.answers(chains)
        kinds = len(names.RELATIVES)
        blocks = depth - 3 if depth >= 4 else max(1, depth - 1)
        homes = drawn(random, names.PEOPLE, blocks, count)
        places = random.sample(names.COUNTRIES, count)
        person = random.randrange(chains)
        kind = random.randrange(kinds)
        own = person * kinds + kind
        every = tuple(sorted(places))
        _put(places, own, every[rank])
        prompt = told(
            random, [*homes, places], lambda *line: f"{LIVES_WITH.line(*line)}."
        )
        asked = homes[0][own]
        nearer = every
        kin = names.RELATIVES[kind]
        if depth >= 2:
            people = random.sample(names.ASKED_ABOUT, chains)
            first = person * kinds
            asked = people[person]
            nearer = tuple(sorted(places[first : first + kinds]))
            prompt += _kinship_told(people, homes[0])
            if depth >= 4:
                prompt += self._work(random, people, person, kin)
        whose = f"s {kin}" if depth in (2, 3) else ""
        only = "Say directly only the name, without any other words."
        prompt += f"Where does {asked}{whose} live? {only}"
        return Question(self.name, depth, chains, prompt, every[rank], every, nearer)

    def _work(
        self, random: Random, people: Sequence[str], person: int, kin: str
    ) -> str:
        """The text that tells with which relative people of a profession live, and who
        has which profession. The person who is asked about has the one that lives with
        the relative `kin`.
        """
        kinds = len(names.RELATIVES)
        professions = random.sample(names.PROFESSIONS, kinds)
        relatives = random.sample(names.RELATIVES, kinds)
        customs = dict(zip(relatives, professions, strict=True))
        works = []
        for _ in range(0, len(people), kinds):
            works += random.sample(names.PROFESSIONS, kinds)
        # As many people as there are professions all have another one.
        _put(works, person, customs[kin])
        text = ""
        for relative, work in customs.items():
            text += f"{work.capitalize()}s live with their {relative}s.\n"
        for who, work in zip(people, works, strict=False):
            text += f"{who} works as {'an' if work[0] in 'aeiou' else 'a'} {work}.\n"
        return text


def _argument_for(
    value: int, function: int, tables: Sequence[list[int]], meant: Sequence[list[int]]
) -> int:
    """The place of the argument for which a function has a value.

    Names are followed from that of the function to its table; from the argument in the
    table, they are followed back to its last name.
    """
    row = function
    for places in reversed(meant[0::2]):
        row = places[row]
    argument = tables[row].index(value)
    for places in meant[1::2]:
        argument = places.index(argument)
    return argument


def _tables_told(functions: Sequence[str], tables: Sequence[list[int]]) -> str:
    text = ""
    for function, table in zip(functions, tables, strict=True):
        for number, value in enumerate(table):
            text += f"{function}({number}) = {value}\n"
    return text


def _kinship_told(people: Sequence[str], relatives: Sequence[str]) -> str:
    kinds = names.RELATIVES
    text = ""
    for number, relative in enumerate(relatives):
        who, kind = divmod(number, len(kinds))
        text += f"{people[who]}s {kinds[kind]} is {relative}.\n"
    return text


def _put(items: list[str], place: int, item: str) -> None:
    """Puts an item of a list at a place, and what was there in its place."""
    before = items.index(item)
    items[before] = items[place]
    items[place] = item


FORMULATIONS: dict[str, Formulation] = {
    formulation.name: formulation
    for formulation in (EQUATIONS, LIVES_WITH, KINGDOMS, Functions(), Relatives())
}


def formulation(name: str) -> Formulation:
    """The formulation of a name.

    Raises:
        HeadwayError: if there is none.
    """
    require(
        name in FORMULATIONS, "formulation", name, "one of " + ", ".join(FORMULATIONS)
    )
    return FORMULATIONS[name]


def places(
    names: Sequence[str], depths: Sequence[int] | None, chains: int
) -> tuple[tuple[str, int], ...]:
    """Every formulation with every depth that it can be asked at.

    Args:
        names: of formulations; `all` means each.
        depths: look-ups to the answer, each asked once; by default that of the paper's
            example.
        chains: that are interleaved.

    Raises:
        HeadwayError: if there is no such formulation, or it can be asked at none of the
            depths or not with so many chains.
    """
    every: list[str] = []
    for name in names:
        every += FORMULATIONS if name == "all" else [name]
    places = []
    for name in dict.fromkeys(every):
        kind = formulation(name)
        wanted = [kind.default_depth]
        if depths is not None:
            wanted = list(dict.fromkeys(depths))
        possible = [depth for depth in wanted if depth in kind.depths(chains)]
        if not possible:
            kind.require(wanted[0], chains)
        places += [(name, depth) for depth in possible]
    return tuple(places)


def questions(
    name: str,
    depth: int | None = None,
    chains: int = 4,
    count: int = 500,
    seed: int = 0,
) -> Iterator[Question]:
    """Questions of a formulation, each a pure function of depth, chains, seed and its
    number.

    Names are drawn anew for every question, and every acceptable answer, in its rank
    among them, is right about equally often: in any as many questions in a row as there
    are answers, once.

    Args:
        name: of the formulation.
        depth: look-ups to the answer; by default that of the paper's example.
        chains: that are interleaved.
        count: how many questions.
        seed: of all of them.

    Raises:
        HeadwayError: if there is no such formulation, or its names run out.
    """
    kind = formulation(name)
    wanted = kind.default_depth if depth is None else depth
    kind.require(wanted, chains)
    require_allowed("n", count, Count)
    answers = kind.answers(chains)
    about = f"{name}/{wanted}/{chains}/{seed}"

    def numbered(number: int) -> Question:
        at = number % answers
        of_the_turn = Random(f"{about}/ranks/{number - at}")
        ranks = of_the_turn.sample(range(answers), answers)
        return kind.question(Random(f"{about}/{number}"), wanted, chains, ranks[at])

    return map(numbered, range(count))
