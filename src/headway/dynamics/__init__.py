"""Training dynamics: when each path emerged, and which depend on which."""

from typing import TYPE_CHECKING

from headway.dynamics.emergence import EMERGES_AT as EMERGES_AT
from headway.dynamics.emergence import Timeline as Timeline
from headway.dynamics.emergence import crossing as crossing
from headway.dynamics.emergence import emergence as emergence
from headway.dynamics.emergence import hop_steps as hop_steps
from headway.dynamics.emergence import learnt_in_order as learnt_in_order
from headway.dynamics.emergence import saved_timeline as saved_timeline
from headway.late import late

if TYPE_CHECKING:
    from headway.dynamics.dependence import Dependence as Dependence
    from headway.dynamics.programs import ProgramHistory as ProgramHistory
    from headway.dynamics.programs import program_history as program_history

HOMES = {
    "dependence": "Dependence",
    "emergence": (
        "EMERGES_AT Timeline crossing emergence hop_steps "
        "learnt_in_order saved_timeline"
    ),
    "programs": "ProgramHistory program_history",
}
__all__, __getattr__, __dir__ = late(__name__, HOMES)
