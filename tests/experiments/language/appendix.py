"""The five examples of appendix A, to the letter: the paper's text, and the draws that
give it.
"""

from pathlib import Path
from random import Random

from headway_experiments.language import FORMULATIONS

TEXTS = Path(__file__).parent / "appendix_a.txt"


def examples():
    """By section, the prompt, the correct answer and the acceptable ones."""
    found = {}
    for part in TEXTS.read_text().split("## ")[1:]:
        section, _, rest = part.partition("\n")
        *prompt, correct, acceptable = rest.strip().split("\n")
        answers = tuple(acceptable.removeprefix("Acceptable: ").split(", "))
        found[section] = "\n".join(prompt), correct.removeprefix("Correct: "), answers
    return found


class Scripted(Random):
    """Draws what it is given."""

    def __init__(self, draws):
        super().__init__(0)
        self.draws = iter(draws)

    def sample(self, population, k, *, counts=None):
        found = list(next(self.draws))
        assert len(set(found)) == k
        return found

    def randrange(self, start, stop=None, step=1):
        found = next(self.draws)
        assert found in range(start)
        return found


def chains(text, names):
    """The draws of a text whose blocks of lines tell (x_{k-1}, x_k), the deepest first.

    Args:
        text: a block a line, `b-2 c-3` for the lines that tell of b and 2, and c and 3.
        names: the draws of x_0 … x_D, given them.
    """
    blocks = [
        [tuple(word.split("-")) for word in line.split()] for line in text.split("\n")
    ]
    symbols = [[left for left, _ in blocks[-1]]]
    for block in reversed(blocks):
        symbols.append([dict(block)[symbol] for symbol in symbols[-1]])
    depth = len(blocks)
    orders = [
        [symbols[depth - 1 - i].index(left) for left, _ in block]
        for i, block in enumerate(blocks)
    ]
    return [*names(symbols), *orders]


def together(symbols):
    """x_0 … x_{D-1} are drawn at once."""
    return [[name for names in symbols[:-1] for name in names], symbols[-1]]


def apart(symbols):
    """Kingdoms first, people last."""
    return [*symbols[-2::-1], symbols[-1]]


EQUATIONS = """b-2 c-3 d-0 a-1
e-b g-a h-d f-c
k-e i-f l-g j-h
n-k p-l o-i m-j
q-n s-p r-o t-m"""

LIVES_WITH = """Charlie-Cairo David-Delhi Alice-Berlin Bob-Amsterdam
Henry-David Eve-Charlie Frank-Alice Grace-Bob
Kate-Grace Larry-Frank Jack-Eve Isabelle-Henry
Mary-Jack Olivia-Isabelle Nick-Kate Peter-Larry
Rose-Peter Queen-Nick Tom-Olivia Sam-Mary"""

KINGDOMS = """Silvania-Bob Novaria-Alice Aurora-Charlie Florinia-David
celestianism-Silvania harmonianism-Novaria elysianism-Aurora luminism-Florinia
beef-luminism pork-elysianism lamb-harmonianism chicken-celestianism
Astralyte-beef Nephryon-chicken Zephyrium-lamb Virellium-pork
Chronogy-Zephyrium Aetherflux-Astralyte Somnosis-Virellium Synthemia-Nephryon"""

FUNCTIONS = [
    "abcdefghijkl",
    [3, 2, 0, 1],
    [1, 3, 2, 0],
    [1, 0, 3, 2],
    [1, 0, 2, 3],
    [1, 0, 2, 3],
    [0, 2, 3, 1],
    1,
]

KIN = (
    "Jane Olivia Ed Mike Penny Dana Adam George Nancy Isabelle Hank Bob Lily "
    "Cathy Fred Kevin"
)
COUNTRIES = (
    "England Qatar Laos Japan Canada Norway Mexico Italy"
    " Argentina France Germany Denmark Brazil Kenya Hungary Peru"
)
RELATIVES = [
    KIN.split(),
    COUNTRIES.split(),
    3,
    0,
    [4, 12, 9, 13, 7, 6, 15, 2, 10, 3, 0, 14, 5, 1, 11, 8],
    ["John", "Chris", "Diana", "Eve"],
    ["doctor", "lawyer", "teacher", "engineer"],
    ["brother", "mother", "sister", "father"],
    ["doctor", "engineer", "teacher", "lawyer"],
]

DRAWS = {
    "A.1": ("equations", chains(EQUATIONS, together)),
    "A.2": ("lives-with", chains(LIVES_WITH, together)),
    "A.3": ("kingdoms", chains(KINGDOMS, apart)),
    "A.4": ("functions", FUNCTIONS),
    "A.5": ("relatives", RELATIVES),
}


def written(section):
    """The question that headway writes, given the names and orders of a section."""
    name, draws = DRAWS[section]
    _, correct, acceptable = examples()[section]
    one = FORMULATIONS[name]
    script = Scripted(draws)
    found = one.question(script, one.default_depth, 4, acceptable.index(correct))
    assert not list(script.draws)
    return found
