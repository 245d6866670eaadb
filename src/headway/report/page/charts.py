"""Curves over training: panels that share one axis of steps, and a line where the page stands.

The drawing stretches with the page: curves are SVG in a box of 1000 × 100 units, and all words are
HTML, so that they keep their size. Where the whole run is much longer than what happens in it, the
page starts with the part in which things happen (`cut`), left in the box, and can show the rest.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from markupsafe import Markup

from headway.report.history import thinned
from headway.report.labels import spread
from headway.report.page.html import data_attributes, joined, plain_table, row, tag

MOST_POINTS = 600
"""Points of one curve; of more, evenly many are drawn."""


@dataclass(frozen=True)
class Curve:
    """One curve.

    Attributes:
        points: (step, value), in order of steps.
        colour: its class (see `looks`).
        dashes: `stroke-dasharray`; by default a full line.
        key: of the path or hop that it belongs to (`path` or `hop`).
        mark: a step and value to be marked, with the words that say what happened there.
        name: written where it ends, if it is short and there are few.
    """

    points: Sequence[tuple[float, float]]
    colour: str
    dashes: str | None = None
    key: dict[str, str] = field(default_factory=dict)
    mark: tuple[float, float, str] | None = None
    name: str = ""

    def at(self, step: float) -> float:
        """The value at a step, on the straight line between the points around it."""
        for (a, low), (b, high) in pairwise(self.points):
            if a <= step <= b:
                return low + (high - low) * (step - a) / (b - a)
        return self.points[-1][1]


@dataclass(frozen=True)
class Name:
    """A line of the list beside the panels.

    Attributes:
        name: what it is called.
        like: the curve that it names.
        cells: more columns.
        now: columns for the page's script to fill with the values at the page's step, each by the
            name of these values in the page's data.
    """

    name: str
    like: Curve
    cells: Sequence[object] = ()
    now: Sequence[str] = ()


@dataclass(frozen=True)
class Panel:
    """Curves over one range of values.

    Attributes:
        title: what is drawn.
        curves: the curves, the first at the bottom of the pile.
        top: the largest value shown; the least is 0, or `bottom` if that is given.
        bottom: the least value of a logarithmic axis.
        levels: thin lines at a value, by what they stand for.
        height: in pixels.
    """

    title: str
    curves: Sequence[Curve]
    top: float
    bottom: float | None = None
    levels: Sequence[tuple[str, float]] = ()
    height: int = 190

    def down(self, value: float) -> float:
        """Where a value stands, in hundredths of the height from the top."""
        if self.bottom is None:
            share = value / self.top
        else:
            low, high = math.log(self.bottom), math.log(self.top)
            share = (math.log(max(value, self.bottom)) - low) / (high - low)
        return 100 * (1 - min(max(share, -0.02), 1.02))

    def ticks(self) -> list[float]:
        """Round values along the axis."""
        if self.bottom is not None:
            every = [d * 10.0**e for e in range(-9, 4) for d in (1, 3)]
            return [tick for tick in every if self.bottom <= tick <= self.top]
        step = round_step(self.top / 3)
        return [i * step for i in range(int(self.top / step) + 1)]


@dataclass(frozen=True)
class Group:
    """Panels above each other, and what names their curves.

    Attributes:
        panels: from top to bottom.
        head: the columns of a list beside them; empty for a legend below.
        names: of the curves.
    """

    panels: Sequence[Panel]
    head: Sequence[str]
    names: Sequence[Name]


def stacked(groups: Sequence[Group], end: float, cut: float, pressable: bool = True) -> Markup:
    """The groups above each other on one axis of steps.

    Args:
        groups: from top to bottom.
        end: the last step of the run.
        cut: the last step to show at first.
        pressable: whether there may be buttons; if not, there is no script to press them for.
    """
    curves = (curve for group in groups for panel in group.panels for curve in panel.curves)
    first = min((step for curve in curves for step, _ in curve.points if step > 0), default=end)
    html = joined(_group(group, end, cut, first, group is groups[-1]) for group in groups)
    named = any(curve.name for group in groups for p in group.panels for curve in p.curves)
    return charted(html, end, cut, "labelled" * named, first if pressable else None)


def charted(
    html: Markup, end: float, cut: float, kind: str = "", first: float | None = None
) -> Markup:
    """What lies on one axis of steps, with a button that shows the whole run if it is cut.

    Args:
        html: plots and their axis.
        end: the last step of the run.
        cut: the last step to show at first.
        kind: a further class.
        first: the step at which a logarithmic axis begins, if it may be asked for.
    """
    whole, style = [], f"--shown:{cut:.10g};--end:{end:.10g};--now:{end:.10g}"
    if first is not None and first < cut:
        style += f";--first:{first:.10g}"
        whole.append(tag("button", "log steps", type="button", class_="log", aria_pressed="false"))
    if cut < end:
        words = f"show the whole run, {end:,.0f} steps"
        data = {"data_cut": f"{cut:.10g}", "data_end": f"{end:.10g}"}
        whole.append(tag("button", words, type="button", class_="whole", **data))
    look = {"class_": f"chart {kind}".strip(), "style": style, "data_range": "cut"}
    return tag("div", html, whole, **look)


def round_step(least: float) -> float:
    """The smallest of 1, 2, 5, 10, … that is at least so large."""
    if least <= 0:
        return 1.0
    size = 10.0 ** math.floor(math.log10(least))
    return next(m * size for m in (1, 2, 5, 10) if m * size >= least * (1 - 1e-9))


def _group(group: Group, end: float, cut: float, first: float, last: bool) -> Markup:
    drawn = [(tag("h3", panel.title), plot(panel, end, cut)) for panel in group.panels]
    axis = steps_axis(end, cut, first) if last else None
    return tag("div", tag("div", drawn, axis, class_="drawn"), _names(group), class_="panel")


def plot(panel: Panel, end: float, cut: float, *more: object) -> Markup:
    """A panel's curves over its axis of values.

    Args:
        panel: what is drawn.
        end: the last step of the run.
        cut: the last step to show at first.
        more: what else stands in the panel.
    """
    curves = [_curve(curve, panel, end) for curve in panel.curves]
    rules = [
        tag("line", x1=0, x2=1000, y1=y, y2=y, class_=kind)
        for kind, values in (("rule", panel.ticks()), ("level", [v for _, v in panel.levels]))
        for y in map(panel.down, values)
    ]
    box = f"0 0 {1000 * cut / end:.2f} 100"
    drawing = tag("svg", rules, curves, viewBox=box, preserveAspectRatio="none", aria_hidden="true")
    words = [_word("ytick", f"{tick:g}", panel.down(tick)) for tick in panel.ticks()]
    heights = spread([-panel.down(value) for _, value in panel.levels], 1400 / panel.height)
    words += [
        _word("levelname", name, -height)
        for (name, _), height in zip(panel.levels, heights, strict=True)
    ]
    for curve in panel.curves:
        if curve.mark is not None:
            step, value, told = curve.mark
            look = {"title": told, **data_attributes(curve.key)}
            words.append(_word(f"mark-at {curve.colour}", "", panel.down(value), step, **look))
    for shown, last in _ranges(end, cut):
        words += _names_at(panel, last, data_range=shown)
    cursor, height = tag("i", class_="cursor"), f"height:{panel.height}px"
    return tag("div", drawing, words, cursor, more, class_="plot", style=height)


def steps_axis(end: float, cut: float, first: float | None = None) -> Markup:
    """The axis of steps, for the whole run and for the part shown at first; perhaps by logarithm.

    Args:
        end: the last step of the run.
        cut: the last step to show at first.
        first: the step at which a logarithmic axis begins, if it may be asked for.
    """
    ticks = [
        _word("xtick log", f"{step:,}", step=step)
        for step in (d * 10**e for e in range(10) for d in (1, 2, 5))
        if first is not None and first <= step <= end
    ]
    for shown, last in _ranges(end, cut):
        step = round_step(last / 6)
        numbers = [i * step for i in range(int(last / step) + 1)]
        ticks += [_word("xtick", f"{at:,.0f}", step=at, data_range=shown) for at in numbers]
    return tag("div", ticks, tag("span", "step", class_="axisname"), class_="steps")


def _ranges(end: float, cut: float) -> list[tuple[str, float]]:
    """What may be shown of the run, and the last step of that."""
    return [("cut", cut), ("end", end)] if cut < end else [("cut", end)]


def _names_at(panel: Panel, last: float, data_range: str) -> list[Markup]:
    """The names of curves beside their ends, moved apart."""
    curves = [curve for curve in panel.curves if curve.name]
    heights = spread([-panel.down(curve.at(last)) for curve in curves], 1300 / panel.height)
    return [
        _word(f"curvename {curve.colour}", curve.name, -height, data_range=data_range)
        for curve, height in zip(curves, heights, strict=True)
    ]


def _word(
    kind: str, words: str, top: float | None = None, step: float | None = None, **attributes: str
) -> Markup:
    """A word at a place: `top` in hundredths of the height, `step` along the axis."""
    places = [] if top is None else [f"top:{top:.2f}%"]
    places += [] if step is None else [f"--s:{step:g}"]
    return tag("span", words, class_=kind, style=";".join(places), **attributes)


def _curve(curve: Curve, panel: Panel, end: float) -> Markup:
    points = " ".join(
        f"{1000 * step / end:.2f},{panel.down(value):.2f}"
        for step, value in thinned(curve.points, MOST_POINTS)
    )
    key = data_attributes(curve.key)
    look = f"curve {curve.colour}"
    return tag("polyline", points=points, class_=look, stroke_dasharray=curve.dashes, **key)


def _names(group: Group) -> Markup | None:
    """The list of curves, with their values where the page stands."""
    if not group.names:
        return None
    names = [(swatch(one.like.colour, one.like.dashes), one.name) for one in group.names]
    if not group.head:
        spans = [tag("span", name, class_="carried") for name in names]
        return tag("p", spans, class_="legend")
    rows = []
    for one, name in zip(group.names, names, strict=True):
        now = [tag("output", data_now=values) for values in one.now]
        rows.append(row(name, *one.cells, *now, **data_attributes(one.like.key)))
    box = {"tabindex": "0", "role": "group", "aria_label": "curves and their values"}
    return tag("div", plain_table(group.head, rows), class_="curves scroll", **box)


def swatch(colour: str, dashes: str | None = None) -> Markup:
    """A short line that looks like a curve."""
    line = tag("line", x1=0, x2=26, y1=5, y2=5, stroke_dasharray=dashes)
    return tag("svg", line, class_=f"swatch {colour}", viewBox="0 0 26 10", aria_hidden="true")
