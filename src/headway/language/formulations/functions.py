"""F4 (appendix A.4), conditional: tables of functions, names equal to functions, and arguments."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from headway.language.formulations.base import Formulation, Text
from headway.language.names import LETTERS
from headway.language.question import Question


@dataclass(frozen=True)
class FunctionFacts:
    """The parts of a question; chains are numbered as their tables and arguments are printed.

    Attributes:
        tables: a row per function, with the value at every number.
        functions: the names of the functions in the tables.
        renamed: rounds of (name, index of the earlier name that it equals) of functions.
        numbers: rounds of the same of arguments; in the first, the numbers themselves.
        asked: which of the last names, of function and argument.
    """

    tables: Sequence[Sequence[int]]
    functions: Sequence[str]
    renamed: Sequence[Sequence[tuple[str, int]]]
    numbers: Sequence[Sequence[tuple[str, int]]]
    asked: tuple[int, int]


class Functions(Formulation[FunctionFacts]):
    """`a(0) = 3`, …, `f = a`, …, `i = 0`, … What is the value of f(i)?

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

    def answers(self, chains: int) -> int:
        """As many as there are numbers."""
        return chains

    def draw(self, random: Random, depth: int, chains: int, rank: int) -> FunctionFacts:
        """Every row of a table holds every number once, so any value can be asked for."""
        n, numbers = chains, range(chains)
        letters = random.sample(LETTERS, n + 2 * n * (depth - 1))
        tables = [random.sample(numbers, n) for _ in numbers]
        rounds = [letters[n * i : n * (i + 1)] for i in range(1, 2 * depth - 1)]
        paired = [list(zip(names, random.sample(numbers, n), strict=True)) for names in rounds]
        renamed, arguments = paired[0::2], paired[1::2]
        function = random.randrange(n)
        row = function
        for names in reversed(renamed):
            row = names[row][1]
        argument = tables[row].index(rank)
        for names in arguments:
            argument = [index for _, index in names].index(argument)
        return FunctionFacts(tables, letters[:n], renamed, arguments, (function, argument))

    def tell(self, facts: FunctionFacts) -> Question:
        """Writes tables, then names of functions and of arguments, then the question."""
        chains, rounds = len(facts.tables), len(facts.renamed)
        text = Text()
        functions, arguments = self._followed(facts)
        for row, (name, table) in enumerate(zip(facts.functions, facts.tables, strict=True)):
            for number, value in enumerate(table):
                on_way = (row, number) == (functions[-1], arguments[-1])
                text.put(on_way, (name, "t.f"), "(", (str(number), "t.i"), ") = ")
                text.put(on_way, (str(value), "t.v"), "\n")
        known: dict[str, Sequence[str]] = {
            "f": facts.functions,
            "i": [str(number) for number in range(chains)],
        }
        for made in range(rounds):
            step = rounds - 1 - made  # from the question to these lines
            for role, names, way in (
                ("f", facts.renamed[made], functions),
                ("i", facts.numbers[made], arguments),
            ):
                for index, (name, meant) in enumerate(names):
                    left, right = f"{role}{2 * step + 1}", f"{role}{2 * step + 2}"
                    on_way = index == way[step]
                    text.put(on_way, (name, left), " = ", (known[role][meant], right), "\n")
                known[role] = [name for name, _ in names]
        text.put(True, "What is the value of ", (known["f"][facts.asked[0]], "f0"), "(")
        text.put(True, (known["i"][facts.asked[1]], "i0"), ")? ")
        text.put(True, "Say directly only the numeric value, without any other words.")
        acceptable = tuple(str(number) for number in range(chains))
        return Question(
            formulation=self.name,
            depth=rounds + 1,
            chains=chains,
            phrases=text.phrases,
            asked=0,
            correct=str(facts.tables[functions[-1]][arguments[-1]]),
            acceptable=acceptable,
            nearer=acceptable,
            links=self._links(rounds),
        )

    def _followed(self, facts: FunctionFacts) -> tuple[list[int], list[int]]:
        """From the question on, the places of function and argument in every round, and at last
        the row and the number."""
        ways: list[list[int]] = []
        for start, rounds in zip(facts.asked, (facts.renamed, facts.numbers), strict=True):
            way = [start]
            for names in reversed(rounds):
                way.append(names[way[-1]][1])
            ways.append(way)
        return ways[0], ways[1]

    def _links(self, rounds: int) -> tuple[tuple[str, str], ...]:
        found: list[tuple[str, str]] = []
        for role in ("f", "i"):
            for step in range(rounds):
                found += [
                    (f"{role}{2 * step}", f"{role}{2 * step + 1}"),
                    (f"{role}{2 * step}", f"{role}{2 * step + 2}"),
                    (f"{role}{2 * step + 2}", f"{role}{2 * step + 1}"),
                ]
            found += [(f"{role}{2 * rounds}", f"t.{role}"), (f"{role}{2 * rounds}", "t.v")]
        return (*found, ("t.v", "t.f"), ("t.v", "t.i"))
