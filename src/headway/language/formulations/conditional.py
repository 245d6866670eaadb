"""Formulations in which an answer needs two facts at once: functions and relatives (F4, F5)."""

from collections.abc import Sequence
from random import Random

from headway.language.formulations.base import Formulation, Written, drawn
from headway.language.names import (
    ASKED_ABOUT,
    COUNTRIES,
    LETTERS,
    PEOPLE,
    PROFESSIONS,
    RELATIVES,
)


class Functions(Formulation):
    """F4 (appendix A.4): `a(0) = 3`, …, `f = a`, …, `i = 0`, … What is the value of f(i)?

    The answer needs both the function and the argument. The depth counts look-ups from the question
    to the value: 1 asks for a row of a table, 2 for names of a function and a number (as in the
    paper), 3 for names of those names.
    """

    name, default_depth = "functions", 2
    about = "functions that are equal to functions, given by tables, and their arguments"

    def deepest(self, chains: int) -> int:
        """As many letters as there are, and numbers of one digit."""
        left = len(LETTERS) - chains
        return 1 + left // (2 * chains) if 2 <= chains <= 10 else 0

    def write(self, random: Random, depth: int, chains: int, rank: int) -> Written:
        """Writes tables, then names of functions and of arguments, then the question.

        Every row of a table holds every number once, so any value can be asked for.
        """
        rounds, numbers = depth - 1, range(chains)
        functions, *names = drawn(random, LETTERS, 1 + 2 * rounds, chains)
        tables = [random.sample(numbers, chains) for _ in numbers]
        # Of every round of names, the places of what each is equal to in the round before.
        meant = [random.sample(numbers, chains) for _ in names]
        # From the name of a function that is asked about to its row, and from there to that of the
        # argument.
        row = asked_f = random.randrange(chains)
        for places in reversed(meant[0::2]):
            row = places[row]
        asked_i = tables[row].index(rank)
        for places in meant[1::2]:
            asked_i = places.index(asked_i)

        values = list(map(str, numbers))
        prompt = "".join(
            f"{function}({number}) = {value}\n"
            for function, table in zip(functions, tables, strict=True)
            for number, value in enumerate(table)
        )
        known = [functions, values]
        for made, (new, places) in enumerate(zip(names, meant, strict=True)):
            old = known[made % 2]
            prompt += "".join(f"{a} = {old[b]}\n" for a, b in zip(new, places, strict=True))
            known[made % 2] = new
        prompt += f"What is the value of {known[0][asked_f]}({known[1][asked_i]})? "
        prompt += "Say directly only the numeric value, without any other words."
        return prompt, values, values


class Relatives(Formulation):
    """F5 (appendix A.5): `Lily lives in Brazil.`, …, `Eves mother is Lily.`, …, `Lawyers live with
    their mothers.`, …, `Eve works as a lawyer.` Where does Eve live?

    The answer needs both who Eve is and what she does. The depth counts look-ups from the question
    to the place: 4 are by who somebody is and what they do (as in the paper); more, if relatives
    live with others; 1 asks where a relative lives, 2 where somebody's mother does, 3 the same if
    she lives with another.
    """

    name, default_depth = "relatives", 4
    about = "people who live with relatives, as their professions do"

    def deepest(self, chains: int) -> int:
        """As many names as there are."""
        most = min(len(ASKED_ABOUT), len(COUNTRIES) // len(RELATIVES))
        return 3 + len(PEOPLE) // (chains * len(RELATIVES)) if chains <= most else 0

    def answers(self, chains: int) -> int:
        """A place per relative."""
        return chains * len(RELATIVES)

    def write(self, random: Random, depth: int, chains: int, rank: int) -> Written:
        """Writes who lives where, who is whose relative, what one does, then the question."""
        count, kinds = self.answers(chains), len(RELATIVES)
        blocks = depth - 3 if depth >= 4 else max(1, depth - 1)
        # A name leads to the one at the same place in the next level; only lines are shuffled.
        levels = [*drawn(random, PEOPLE, blocks, count), random.sample(COUNTRIES, count)]
        person, kind = random.randrange(chains), random.randrange(kinds)
        own, places = person * kinds + kind, levels[-1]
        acceptable = tuple(sorted(places))
        wanted = places.index(acceptable[rank])
        places[own], places[wanted] = places[wanted], places[own]

        prompt = ""
        for block in range(blocks, 0, -1):
            between = " lives in " if block == blocks else " lives with "
            for at in random.sample(range(count), count):
                prompt += f"{levels[block - 1][at]}{between}{levels[block][at]}.\n"
        asked, nearer, people = levels[0][own], acceptable, list[str]()
        if depth >= 2:
            people = random.sample(ASKED_ABOUT, chains)
            asked = people[person]
            nearer = tuple(sorted(places[kinds * person : kinds * (person + 1)]))
            for at, relative in enumerate(levels[0]):
                prompt += f"{people[at // kinds]}s {RELATIVES[at % kinds]} is {relative}.\n"
        if depth >= 4:
            prompt += self._work(random, people, person, RELATIVES[kind])
        whose = f"s {RELATIVES[kind]}" if depth in (2, 3) else ""
        prompt += f"Where does {asked}{whose} live? "
        prompt += "Say directly only the name, without any other words."
        return prompt, acceptable, nearer

    def _work(self, random: Random, people: Sequence[str], person: int, kin: str) -> str:
        """With which relative every profession lives, and what people do: the one who is
        asked about what makes them live with this relative."""
        kinds = len(RELATIVES)
        professions = random.sample(PROFESSIONS, kinds)
        customs = dict(zip(professions, random.sample(RELATIVES, kinds), strict=True))
        # As many people as there are professions all have another one.
        works = [p for _ in range(0, len(people), kinds) for p in random.sample(PROFESSIONS, kinds)]
        needed = next(profession for profession in customs if customs[profession] == kin)
        other = works.index(needed)
        works[person], works[other] = works[other], works[person]
        lines = [f"{work.capitalize()}s live with their {kin}s." for work, kin in customs.items()]
        for who, work in zip(people, works, strict=False):
            lines.append(f"{who} works as {'an' if work[0] in 'aeiou' else 'a'} {work}.")
        return "".join(f"{line}\n" for line in lines)
