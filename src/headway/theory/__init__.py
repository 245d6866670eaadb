"""How few attention layers could do: information flow, simulated and proved."""

from typing import TYPE_CHECKING

from headway.late import late
from headway.theory.flow import Along, Flow, Holdings, is_code
from headway.theory.problems import (
    Copies,
    Order,
    PairOrder,
    chain_depth,
    conditional_flow,
    facts_flow,
    hop_flow,
    retrieval_flow,
)
from headway.theory.simulation import minimum_layers, stretches

if TYPE_CHECKING:
    from headway.theory.counting import Count, count_circuits, is_minimal_circuit, solves
    from headway.theory.formulas import (
        closed_form,
        fewest_paths,
        theorem_1_bound,
    )
    from headway.theory.table import Bound, bounds
    from headway.theory.witnesses import Witness, witness

__all__ = [
    "Along",
    "Bound",
    "Copies",
    "Count",
    "Flow",
    "Holdings",
    "Order",
    "PairOrder",
    "Witness",
    "bounds",
    "chain_depth",
    "closed_form",
    "conditional_flow",
    "count_circuits",
    "facts_flow",
    "fewest_paths",
    "hop_flow",
    "is_code",
    "is_minimal_circuit",
    "minimum_layers",
    "retrieval_flow",
    "solves",
    "stretches",
    "theorem_1_bound",
    "witness",
]

__getattr__, __dir__ = late(__name__)
