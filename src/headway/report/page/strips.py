"""Dot strips: a row per run over one axis of steps, with a mark where something happened."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from headway.report.page.charts import charted, round_step, steps_axis
from headway.report.page.html import data_attributes, joined, tag
from headway.report.page.looks import hop_sign, symbol_colours
from headway.tasks import Task

APART = 0.022
"""Marks closer than this part of the axis stand below each other."""


@dataclass(frozen=True)
class Mark:
    """Something that happened at a step.

    Attributes:
        step: at which.
        colour: its class (see `looks`).
        shape: `square` or `round`; those of one shape stand together.
        word: what stands in it, a digit or so.
        title: what happened, as text.
        key: data attributes, by which the page's script finds it.
    """

    step: float
    colour: str
    shape: str
    word: str
    title: str
    key: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Strip:
    """One row.

    Attributes:
        name: what stands before it.
        label: the row in words, for those who do not see it.
        marks: what happened.
        note: what stands below the name.
        key: data attributes of the row.
    """

    name: str
    label: str
    marks: Sequence[Mark]
    note: str = ""
    key: dict[str, str] = field(default_factory=dict)


def strips(
    rows: Sequence[Strip], end: float, cut: float, slim: bool = False, below: object = None
) -> Markup:
    """The rows above each other, and their axis.

    Args:
        rows: from top to bottom.
        end: the last step of the axis.
        cut: the last step to show at first, after all marks.
        slim: whether a row is as high as a mark, so that marks may lie on each other.
        below: plots on the same axis.
    """
    step = round_step(cut / 6)
    lines = [tag("i", style=f"--s:{i * step:g}") for i in range(1, int(cut / step) + 1)]
    ruled = tag("div", lines, class_="ruled", aria_hidden="true")
    drawn = tag("div", ruled, [_row(row, cut, slim) for row in rows], class_="rows")
    kind = "strips slim" if slim else "strips"
    return charted(joined(drawn, below, steps_axis(end, cut)), end, cut, kind)


def hop_marks(task: Task, hops: Mapping[str, float | None], of: str = "") -> list[Mark]:
    """A mark for every hop that was learnt, with its number.

    Args:
        task: whose hops they are.
        hops: the step at which each was learnt, if it was.
        of: words before what happened.
    """
    colours = symbol_colours(task)
    return [
        Mark(step, colours[hop], "square", hop_sign(hop), f"{of}{hop} learnt at step {step:,.0f}")
        for hop, step in hops.items()
        if step is not None
    ]


def lanes(places: Sequence[float], gap: float) -> list[int]:
    """For every place along a line, the first lane in which it is far enough from those before
    it."""
    free: list[float] = []
    chosen = [0] * len(places)
    for index in sorted(range(len(places)), key=lambda i: places[i]):
        lane = next((i for i, last in enumerate(free) if places[index] - last >= gap), len(free))
        free[lane : lane + 1] = [places[index]]
        chosen[index] = lane
    return chosen


def _row(row: Strip, cut: float, slim: bool) -> Markup:
    above, marks = 0, []
    for shape in ("square", "round"):
        some = [mark for mark in row.marks if mark.shape == shape]
        in_lanes = lanes([mark.step / cut for mark in some], 0 if slim else APART)
        marks += [_mark(mark, above + lane) for mark, lane in zip(some, in_lanes, strict=True)]
        above += max(in_lanes, default=-1) + 1
    height = {"style": f"--lanes:{max(above, 1)}", "role": "img", "aria_label": row.label}
    note = tag("small", row.note) if row.note else None
    name = tag("div", row.name, note, class_="stripname")
    return tag("div", name, tag("div", marks, class_="track", **height), **data_attributes(row.key))


def _mark(mark: Mark, lane: int) -> Markup:
    look = {"class_": f"blob {mark.shape} {mark.colour}", "title": mark.title}
    place = f"--s:{mark.step:.6g};--lane:{lane}"
    return tag("i", mark.word, style=place, **look, **data_attributes(mark.key))
