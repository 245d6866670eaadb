"""How few attention layers could do: information flow, simulated and proved."""

from headway.theory.flow import (
    Flow,
    closed_form,
    conditional_flow,
    holdings,
    minimum_layers,
    proven_minimum,
    retrieval_flow,
    theorem_1_bound,
)

__all__ = [
    "Flow",
    "closed_form",
    "conditional_flow",
    "holdings",
    "minimum_layers",
    "proven_minimum",
    "retrieval_flow",
    "theorem_1_bound",
]
