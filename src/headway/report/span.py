"""Which part of a run is worth showing: until well after the last thing that happened in it."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from headway.circuits import Timeline

QUIET = 0.5
"""If all that is dated happened in less than this part of the steps, the rest is left out."""


def shown_until(timeline: Timeline, metrics: Sequence[Mapping[str, Any]]) -> tuple[int, int]:
    """The last step that the figure shows, and the last that there is.

    What follows twice the time of the last dated event is left out if it is much.
    """
    end = max([*timeline.steps, *(line["step"] for line in metrics), 1])
    dated = [step for h in timeline.paths for step in (h.born, h.needed)]
    dated += timeline.hops.values()
    latest = max((step for step in dated if step is not None), default=end)
    undated = any(step is None for step in timeline.hops.values())
    if undated or 2 * latest > QUIET * end:
        return end, end
    size = 10 ** max(0, math.floor(math.log10(max(latest, 1))) - 1)
    return max(1, min(end, size * math.ceil(2 * latest / size))), end


def ending(timeline: Timeline, metrics: Sequence[Mapping[str, Any]]) -> str:
    """A sentence about steps that the figure leaves out; empty if there are none."""
    last, end = shown_until(timeline, metrics)
    if last == end:
        return ""
    return f" Steps {last:,} to {end:,}, in which nothing passes its mark, are left out."
