"""Ways to a model's circuit: search, blind reading, attribution, all sets."""

from typing import TYPE_CHECKING

from headway.find.search import candidates_among as candidates_among
from headway.find.study import circuit_file as circuit_file
from headway.find.study import discover as discover
from headway.find.study import require_learnt as require_learnt
from headway.find.ways import Way as Way
from headway.find.ways import searched as searched
from headway.late import late

if TYPE_CHECKING:
    from headway.find.exchanged import likely_heads as likely_heads
    from headway.find.exhaustive import Exhaustive as Exhaustive
    from headway.find.exhaustive import MinimalCircuits as MinimalCircuits
    from headway.find.exhaustive import every_circuit as every_circuit
    from headway.find.gap import Gap as Gap
    from headway.find.gap import HeadCut as HeadCut
    from headway.find.gap import bench_of as bench_of
    from headway.find.gap import cuts_of as cuts_of
    from headway.find.gap import gap_of as gap_of

HOMES = {
    "exhaustive": "Exhaustive MinimalCircuits every_circuit",
    "exchanged": "likely_heads",
    "gap": "Gap HeadCut bench_of cuts_of gap_of",
    "search": "candidates_among",
    "study": "circuit_file discover require_learnt",
    "ways": "Way searched",
}
__all__, __getattr__, __dir__ = late(__name__, HOMES)
