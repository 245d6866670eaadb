"""Questions by number: each a pure function of formulation, depth, chains, seed and number."""

from collections.abc import Iterator
from random import Random

from headway.errors import require
from headway.language.formulations import formulation
from headway.language.question import Question


def questions(
    name: str, depth: int | None = None, chains: int = 4, count: int = 500, seed: int = 0
) -> Iterator[Question]:
    """Questions of a formulation.

    Names are drawn anew for every question, and every acceptable answer, in its rank among them,
    is right about equally often: in any as many questions in a row as there are answers, once.

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
    depth = kind.default_depth if depth is None else depth
    kind.require(depth, chains)
    require(count >= 1, "n", count, "a whole number of at least 1")
    answers = kind.answers(chains)
    about = f"{name}/{depth}/{chains}/{seed}"

    def asked() -> Iterator[Question]:
        for turn in range(0, count, answers):
            ranks = Random(f"{about}/ranks/{turn}").sample(range(answers), answers)
            for number, rank in enumerate(ranks[: count - turn], start=turn):
                yield kind.tell(kind.draw(Random(f"{about}/{number}"), depth, chains, rank))

    return asked()
