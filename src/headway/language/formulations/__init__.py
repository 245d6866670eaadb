"""The five ways to put the problem into words (F1 to F5), and the questions that each asks."""

from collections.abc import Iterator, Sequence
from random import Random
from typing import Annotated

from annotated_types import Ge, Le

from headway.errors import require
from headway.fields import allows, described
from headway.language.formulations.base import Formulation
from headway.language.formulations.chains import Chains, Equations, Kingdoms, LivesWith
from headway.language.formulations.conditional import Functions, Relatives
from headway.language.question import Question

Count = Annotated[int, Ge(1), Le(1_000_000)]
"""A number of questions that are asked."""

FORMULATIONS: dict[str, Formulation] = {
    one.name: one for one in (Equations(), LivesWith(), Kingdoms(), Functions(), Relatives())
}


def formulation(name: str) -> Formulation:
    """The formulation of a name.

    Raises:
        HeadwayError: if there is none.
    """
    require(name in FORMULATIONS, "formulation", name, "one of " + ", ".join(FORMULATIONS))
    return FORMULATIONS[name]


def places(
    names: Sequence[str], depths: Sequence[int] | None, chains: int
) -> tuple[tuple[str, int], ...]:
    """Every formulation with every depth that it can be asked at.

    Args:
        names: of formulations; `all` means each.
        depths: look-ups to the answer, each asked once; by default that of the paper's example.
        chains: that are interleaved.

    Raises:
        HeadwayError: if there is no such formulation, or it can be asked at none of the depths or
            not with so many chains.
    """
    for name in names:
        allowed = f"one of {', '.join([*FORMULATIONS, 'all'])}"
        require(name in FORMULATIONS or name == "all", "formulation", name, allowed)
    found: list[tuple[str, int]] = []
    for name in dict.fromkeys(FORMULATIONS if "all" in names else names):
        one = FORMULATIONS[name]
        wanted = [one.default_depth] if depths is None else list(dict.fromkeys(depths))
        possible = [depth for depth in wanted if depth in one.depths(chains)]
        if not possible:
            one.require(wanted[0], chains)
        found += [(name, depth) for depth in possible]
    return tuple(found)


def questions(
    name: str, depth: int | None = None, chains: int = 4, count: int = 500, seed: int = 0
) -> Iterator[Question]:
    """Questions of a formulation, each a pure function of depth, chains, seed and its number.

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
    require(allows(Count, count), "n", count, described(Count))
    answers, about = kind.answers(chains), f"{name}/{depth}/{chains}/{seed}"

    def written() -> Iterator[Question]:
        for turn in range(0, count, answers):
            ranks = Random(f"{about}/ranks/{turn}").sample(range(answers), answers)
            for number, rank in enumerate(ranks[: count - turn], start=turn):
                yield kind.question(Random(f"{about}/{number}"), depth, chains, rank)

    return written()


__all__ = ["FORMULATIONS", "Chains", "Count", "Formulation", "formulation", "places", "questions"]
