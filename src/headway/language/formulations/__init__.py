"""The five ways to put the problem into words (F1 to F5)."""

from collections.abc import Sequence

from headway.errors import require
from headway.language.formulations.base import Formulation, Text
from headway.language.formulations.chains import ChainFacts, Chains, Equations, Kingdoms, LivesWith
from headway.language.formulations.functions import FunctionFacts, Functions
from headway.language.formulations.relatives import Relatives, RelativesFacts

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
    listed = ", ".join([*FORMULATIONS, "all"])
    for name in names:
        require(name in FORMULATIONS or name == "all", "formulation", name, f"one of {listed}")
    found: list[tuple[str, int]] = []
    for name in dict.fromkeys(FORMULATIONS if "all" in names else names):
        one = formulation(name)
        one.require_chains(chains)
        wanted = [one.default_depth] if depths is None else list(dict.fromkeys(depths))
        possible = [depth for depth in wanted if 1 <= depth <= one.deepest(chains)]
        if not possible:
            one.require(wanted[0], chains)
        found += [(name, depth) for depth in possible]
    return tuple(found)


__all__ = [
    "FORMULATIONS",
    "ChainFacts",
    "Chains",
    "Equations",
    "Formulation",
    "FunctionFacts",
    "Functions",
    "Kingdoms",
    "LivesWith",
    "Relatives",
    "RelativesFacts",
    "Text",
    "formulation",
    "places",
]
