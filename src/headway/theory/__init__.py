"""The fewest attention layers that could do: information flow, simulated and proved."""

from typing import TYPE_CHECKING

from headway.late import late

if TYPE_CHECKING:
    from headway.theory.counting import Count as Count
    from headway.theory.counting import count_circuits as count_circuits
    from headway.theory.counting import is_minimal_circuit as is_minimal_circuit
    from headway.theory.counting import solves as solves
    from headway.theory.flow import Along as Along
    from headway.theory.flow import Flow as Flow
    from headway.theory.flow import Holdings as Holdings
    from headway.theory.flow import is_code as is_code
    from headway.theory.formulas import closed_form as closed_form
    from headway.theory.formulas import fewest_paths as fewest_paths
    from headway.theory.formulas import theorem_1_bound as theorem_1_bound
    from headway.theory.problems import Copies as Copies
    from headway.theory.problems import Order as Order
    from headway.theory.problems import PairOrder as PairOrder
    from headway.theory.problems import chain_depth as chain_depth
    from headway.theory.problems import conditional_flow as conditional_flow
    from headway.theory.problems import facts_flow as facts_flow
    from headway.theory.problems import hop_flow as hop_flow
    from headway.theory.problems import retrieval_flow as retrieval_flow
    from headway.theory.simulation import minimum_layers as minimum_layers
    from headway.theory.simulation import stretches as stretches
    from headway.theory.witnesses import Witness as Witness
    from headway.theory.witnesses import witness as witness

HOMES = {
    "counting": "Count count_circuits is_minimal_circuit solves",
    "flow": "Along Flow Holdings is_code",
    "formulas": "closed_form fewest_paths theorem_1_bound",
    "problems": (
        "Copies Order PairOrder chain_depth conditional_flow "
        "facts_flow hop_flow retrieval_flow"
    ),
    "simulation": "minimum_layers stretches",
    "witnesses": "Witness witness",
}
__all__, __getattr__, __dir__ = late(__name__, HOMES)
