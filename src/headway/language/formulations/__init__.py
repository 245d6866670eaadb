"""The five ways to put the problem into words (F1 to F5)."""

from headway.errors import require
from headway.language.formulations.base import Formulation, Text
from headway.language.formulations.chains import ChainFacts, Equations, Kingdoms, LivesWith
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


__all__ = [
    "FORMULATIONS",
    "ChainFacts",
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
]
