"""The five examples of appendix A, to the letter: the paper's text, and the facts they tell."""

from pathlib import Path

from headway.language.formulations import (
    ChainFacts,
    Equations,
    FunctionFacts,
    Functions,
    Kingdoms,
    LivesWith,
    Relatives,
    RelativesFacts,
)

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


def chain_facts(blocks, asked):
    """The facts of a text whose lines, block by block, tell (x_{k-1}, x_k).

    Chains are numbered by what is asked about: the last block's order.
    """
    x0 = [left for left, _ in blocks[-1]]
    symbols = [x0]
    for block in reversed(blocks):
        leads = dict(block)
        symbols.append([leads[symbol] for symbol in symbols[-1]])
    orders = []
    for k, block in zip(range(len(blocks), 0, -1), blocks, strict=True):
        orders.append([symbols[k - 1].index(left) for left, _ in block])
    return ChainFacts(symbols, orders, x0.index(asked))


def pairs(text):
    """`ab cd` as [("a", "b"), ("c", "d")], words joined by dashes."""
    return [tuple(word.split("-")) for word in text.split()]


EQUATIONS = chain_facts(
    [
        pairs("b-2 c-3 d-0 a-1"),
        pairs("e-b g-a h-d f-c"),
        pairs("k-e i-f l-g j-h"),
        pairs("n-k p-l o-i m-j"),
        pairs("q-n s-p r-o t-m"),
    ],
    "s",
)

LIVES_WITH = chain_facts(
    [
        pairs("Charlie-Cairo David-Delhi Alice-Berlin Bob-Amsterdam"),
        pairs("Henry-David Eve-Charlie Frank-Alice Grace-Bob"),
        pairs("Kate-Grace Larry-Frank Jack-Eve Isabelle-Henry"),
        pairs("Mary-Jack Olivia-Isabelle Nick-Kate Peter-Larry"),
        pairs("Rose-Peter Queen-Nick Tom-Olivia Sam-Mary"),
    ],
    "Rose",
)

KINGDOMS = chain_facts(
    [
        pairs("Silvania-Bob Novaria-Alice Aurora-Charlie Florinia-David"),
        pairs("celestianism-Silvania harmonianism-Novaria elysianism-Aurora luminism-Florinia"),
        pairs("beef-luminism pork-elysianism lamb-harmonianism chicken-celestianism"),
        pairs("Astralyte-beef Nephryon-chicken Zephyrium-lamb Virellium-pork"),
        pairs("Chronogy-Zephyrium Aetherflux-Astralyte Somnosis-Virellium Synthemia-Nephryon"),
    ],
    "Chronogy",
)

FUNCTIONS = FunctionFacts(
    tables=[[3, 2, 0, 1], [1, 3, 2, 0], [1, 0, 3, 2], [1, 0, 2, 3]],
    functions=["a", "b", "c", "d"],
    renamed=[[("e", 1), ("f", 0), ("g", 2), ("h", 3)]],
    numbers=[[("i", 0), ("j", 2), ("k", 3), ("l", 1)]],
    asked=(1, 0),
)

RELATIVES = RelativesFacts(
    lives=[
        pairs(
            "Penny-Canada Lily-Brazil Isabelle-France Cathy-Kenya George-Italy Adam-Mexico"
            " Kevin-Peru Ed-Laos Hank-Germany Mike-Japan Jane-England Fred-Hungary Dana-Norway"
            " Olivia-Qatar Bob-Denmark Nancy-Argentina"
        )
    ],
    relatives=[
        ("John", pairs("mother-Jane sister-Olivia father-Ed brother-Mike")),
        ("Chris", pairs("mother-Penny sister-Dana father-Adam brother-George")),
        ("Diana", pairs("mother-Nancy sister-Isabelle father-Hank brother-Bob")),
        ("Eve", pairs("mother-Lily sister-Cathy father-Fred brother-Kevin")),
    ],
    customs=pairs("doctor-brother lawyer-mother teacher-sister engineer-father"),
    works=pairs("John-doctor Chris-engineer Diana-teacher Eve-lawyer"),
    asked="Eve",
)

FACTS = {
    "A.1": (Equations(), EQUATIONS),
    "A.2": (LivesWith(), LIVES_WITH),
    "A.3": (Kingdoms(), KINGDOMS),
    "A.4": (Functions(), FUNCTIONS),
    "A.5": (Relatives(), RELATIVES),
}
