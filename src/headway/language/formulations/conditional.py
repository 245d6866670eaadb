"""Formulations in which an answer needs two facts at once: functions and relatives (F4, F5)."""

from collections.abc import Sequence
from itertools import product
from random import Random

from headway.language.formulations.base import Formulation, Link, drawn, step
from headway.language.names import (
    ASKED_ABOUT,
    COUNTRIES,
    LETTERS,
    PEOPLE,
    PROFESSIONS,
    RELATIVES,
)
from headway.language.question import Question, Text


class Functions(Formulation):
    """F4 (appendix A.4): `a(0) = 3`, …, `f = a`, …, `i = 0`, … What is the value of f(i)?

    The answer needs both the function and the argument. Roles: `f0` and `i0` are what is asked
    about; `f1`, `f2` the two sides of the line that says what f is, `f3`, `f4` of the next, and so
    on for `i`; `t.f`, `t.i`, `t.v` the three places of the row of the table. The depth counts
    look-ups from the question to the value: 1 asks for a row of a table, 2 for names of a function
    and a number (as in the paper), 3 for names of those names.
    """

    name, default_depth = "functions", 2
    about = "functions that are equal to functions, given by tables, and their arguments"

    def deepest(self, chains: int) -> int:
        """As many letters as there are, and numbers of one digit."""
        left = len(LETTERS) - chains
        return 1 + left // (2 * chains) if 2 <= chains <= 10 else 0

    def write(self, random: Random, depth: int, chains: int, rank: int) -> Question:
        """Writes tables, then names of functions and of arguments, then the question.

        Every row of a table holds every number once, so any value can be asked for.
        """
        rounds, numbers = depth - 1, range(chains)
        functions, *names = drawn(random, LETTERS, 1 + 2 * rounds, chains)
        tables = [random.sample(numbers, chains) for _ in numbers]
        # Of every round of names, the places of what each is equal to in the round before.
        meant = [random.sample(numbers, chains) for _ in names]
        # From the question on, the places on the way; at last the row and the number.
        ways = {"f": [random.randrange(chains)], "i": list[int]()}
        for places in reversed(meant[0::2]):
            ways["f"].append(places[ways["f"][-1]])
        row = ways["f"][-1]
        ways["i"] = [tables[row].index(rank)]
        for places in meant[1::2]:
            ways["i"].insert(0, places.index(ways["i"][0]))

        text, column = Text(), ways["i"][-1]
        for i, table in enumerate(tables):
            for number, value in enumerate(table):
                left = (functions[i], "t.f"), "(", (str(number), "t.i"), ") = "
                text.put((i, number) == (row, column), *left, (str(value), "t.v"), "\n")
        known = {"f": functions, "i": list(map(str, numbers))}
        for made, places in enumerate(meant):
            role, back = "fi"[made % 2], rounds - 1 - made // 2  # from the question to these lines
            for i, name in enumerate(names[made]):
                left, right = f"{role}{2 * back + 1}", f"{role}{2 * back + 2}"
                sides = (name, left), " = ", (known[role][places[i]], right), "\n"
                text.put(i == ways[role][back], *sides)
            known[role] = names[made]
        asked = [(known[role][ways[role][0]], f"{role}0") for role in "fi"]
        text.put(True, "What is the value of ", asked[0], "(", asked[1], ")? ")
        text.put(True, "Say directly only the numeric value, without any other words.")
        steps = [step(f"{role}{2 * rounds}", f"t.{role}", "t.v") for role in "fi"]
        for role, k in product("fi", range(0, 2 * rounds, 2)):
            steps.append(step(f"{role}{k}", f"{role}{k + 1}", f"{role}{k + 2}"))
        return self.question(text, depth, chains, rank, list(map(str, numbers)), steps)


class Relatives(Formulation):
    """F5 (appendix A.5): `Lily lives in Brazil.`, …, `Eves mother is Lily.`, …, `Lawyers live with
    their mothers.`, …, `Eve works as a lawyer.` Where does Eve live?

    The answer needs both who Eve is and what she does. Roles: `q` is who is asked about; `w1`, `w2`
    the two words that say what she does; `c1`, `c2` those that say whom one lives with who does it;
    `r1`, `r2`, `r3` person, kind and name in the line of the relative; `l1`, `l2` the two sides of
    the line that says where that one lives; `l3`, `l4` of the next, if any. The depth counts
    look-ups from the question to the place: 4 are by who somebody is and what they do (as in the
    paper); more, if relatives live with others; 1 asks where a relative lives, 2 where somebody's
    mother does, 3 the same if she lives with another.
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

    def write(self, random: Random, depth: int, chains: int, rank: int) -> Question:
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

        text = Text()
        for block in range(blocks, 0, -1):
            between = " lives in " if block == blocks else " lives with "
            for at in random.sample(range(count), count):
                near, far = f"l{2 * block - 1}", f"l{2 * block}"
                sides = (levels[block - 1][at], near), between, (levels[block][at], far), ".\n"
                text.put(at == own, *sides)
        asked, nearer, people = levels[0][own], acceptable, list[str]()
        if depth >= 2:
            people = random.sample(ASKED_ABOUT, chains)
            asked = people[person]
            nearer = tuple(sorted(places[kinds * person : kinds * (person + 1)]))
            for at, relative in enumerate(levels[0]):
                who, relation = (people[at // kinds], "r1"), (RELATIVES[at % kinds], "r2")
                text.put(at == own, who, "s ", relation, " is ", (relative, "r3"), ".\n")
        if depth >= 4:
            self._put_work(text, random, people, person, RELATIVES[kind])
        text.put(True, "Where does ", (asked, "q"))
        if depth in (2, 3):
            text.put(True, "s ", (RELATIVES[kind], "w2"))
        text.put(True, " live? Say directly only the name, without any other words.")
        steps: list[Sequence[Link]] = []
        if depth >= 4:
            steps += [step("q", "w1", "w2"), step("w2", "c1", "c2"), [("c2", "r2"), ("c2", "r3")]]
        if depth >= 2:
            steps += [[("w2", "r2"), ("r3", "r2")], step("q", "r1", "r3")]
        before = ["r3" if depth >= 2 else "q", *(f"l{2 * block}" for block in range(1, blocks))]
        for block, role in enumerate(before, start=1):
            steps.append(step(role, f"l{2 * block - 1}", f"l{2 * block}"))
        return self.question(text, depth, chains, rank, acceptable, steps, nearer=nearer)

    def _put_work(
        self, text: Text, random: Random, people: Sequence[str], person: int, kin: str
    ) -> None:
        """Writes with which relative every profession lives, and what people do: the one who is
        asked about what makes them live with this relative."""
        kinds = len(RELATIVES)
        professions = random.sample(PROFESSIONS, kinds)
        customs = dict(zip(professions, random.sample(RELATIVES, kinds), strict=True))
        # As many people as there are professions all have another one.
        works = [p for _ in range(0, len(people), kinds) for p in random.sample(PROFESSIONS, kinds)]
        needed = next(profession for profession in customs if customs[profession] == kin)
        other = works.index(needed)
        works[person], works[other] = works[other], works[person]
        for profession, whom in customs.items():
            whose = profession.capitalize() + "s", "c1"
            text.put(whom == kin, whose, " live with their ", (f"{whom}s", "c2"), ".\n")
        for at, (who, profession) in enumerate(zip(people, works, strict=False)):
            article = " works as an " if profession[0] in "aeiou" else " works as a "
            text.put(at == person, (who, "w1"), article, (profession, "w2"), ".\n")
