"""How few attention layers could do: information flow, simulated and proved."""

from headway.theory.flow import Along, Flow, Holdings, Path, is_code
from headway.theory.formulas import (
    closed_form,
    codes_first,
    fewest_paths,
    one_path_a_head,
    theorem_1_bound,
)
from headway.theory.problems import (
    PairOrder,
    conditional_flow,
    facts_flow,
    flow_of,
    hop_flow,
    proven_minimum,
    retrieval_flow,
)
from headway.theory.simulation import minimum_layers, stretches
from headway.theory.table import Bound, bounds
from headway.theory.witnesses import Witness, necessary_roles, witness

__all__ = [
    "Along",
    "Bound",
    "Flow",
    "Holdings",
    "PairOrder",
    "Path",
    "Witness",
    "bounds",
    "closed_form",
    "codes_first",
    "conditional_flow",
    "facts_flow",
    "fewest_paths",
    "flow_of",
    "hop_flow",
    "is_code",
    "minimum_layers",
    "necessary_roles",
    "one_path_a_head",
    "proven_minimum",
    "retrieval_flow",
    "stretches",
    "theorem_1_bound",
    "witness",
]
