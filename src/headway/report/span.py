"""Which part of a run is worth showing: until well after the last thing that happened in it."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from headway.circuits import Timeline


def worth_showing(latest: float, end: float) -> float:
    """The last step to show: twice that of the latest event, or the end if that is not much later.

    Args:
        latest: the step of the last thing that happened.
        end: the last step that there is.
    """
    if 4 * latest > end:
        return end
    size = 10 ** max(0, math.floor(math.log10(max(latest, 1))) - 1)
    return max(1, min(end, size * math.ceil(2 * latest / size)))


def shown_until(timeline: Timeline, metrics: Sequence[Mapping[str, Any]]) -> tuple[float, int]:
    """The last step that the figure shows, and the last that there is.

    If a hop was never learnt, all is shown.
    """
    end = max([*timeline.steps, *(line["step"] for line in metrics), 1])
    dated = [step for h in timeline.paths for step in (h.emerged, h.needed)]
    latest = [step for step in [*dated, *timeline.hops.values()] if step is not None]
    if None in timeline.hops.values() or not latest:
        return end, end
    return worth_showing(max(latest), end), end
