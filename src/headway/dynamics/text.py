"""The emergence of paths, as text."""

from typing import TYPE_CHECKING

from headway.text import aligned, at_step, sparkline, width, wrapped

if TYPE_CHECKING:
    from headway.dynamics.emergence import Timeline

SPARKS = 18
"""The most characters of a curve in a table."""


def of_timeline(timeline: "Timeline") -> str:
    """The emergence of paths, and the steps at which hops were learnt."""
    dated = (
        paths_table(timeline) if timeline.paths else ["the circuit has no path to date"]
    )
    if timeline.hops:
        learnt = [f"{hop} {at_step(step)}" for hop, step in timeline.hops.items()]
        dated += wrapped(f"partial loss below 0.5 at step:  {'   '.join(learnt)}")
    return "\n".join(dated)


def paths_table(timeline: "Timeline") -> list[str]:
    """Every path with its dates, and curves of its attention and loss without it."""
    names = [str(history.path) for history in timeline.paths]
    longest = max(map(len, ["path", *names]))
    sparks = min(SPARKS, (width() - longest - 29) // 2)
    top = _top(timeline)
    half = timeline.half
    rows = [["path", "attention", "to half", "to 0.5", "knocked out", "needed"]]
    for name, history in zip(names, timeline.paths, strict=True):
        row = [name, sparkline(history.attention, sparks)]
        row += [at_step(half[history.path]), at_step(history.emerged)]
        row += [sparkline(history.loss_without, sparks, top), at_step(history.needed)]
        rows.append(row)
    lines = aligned(rows, "<<>><>")
    lines += wrapped(
        "to half, to 0.5: the steps at which the attention along the path first has"
        " half of its final value, and passes 0.5; never, if it always stays below that"
    )
    lines += wrapped(
        "knocked out: the loss with this attention set to zero, all else as it is"
    )
    lines += wrapped(
        "needed: the step at which the rise of that loss is half of its largest; never,"
        " if it always rises by less than 0.02"
    )
    return lines


def _top(timeline: "Timeline") -> float:
    """The largest loss without a path after the first checkpoint; at least 1."""
    top = 1.0
    for history in timeline.paths:
        top = max([top, *history.loss_without[1:]])
    return top
