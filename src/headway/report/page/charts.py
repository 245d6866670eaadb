"""Curves over training: panels that share one axis of steps, and a line where the page stands.

The drawing stretches with the page: curves are SVG in a box of 1000 × 100 units, and all words are
HTML, so that they keep their size. Where the whole run is much longer than what happens in it, the
page starts with the part in which things happen (`cut`), the left of the box; it can show the rest.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from headway.report.labels import spread
from headway.report.page.html import escape, tag

MOST_POINTS = 600
"""Points of one curve; of more, evenly many are drawn."""


@dataclass(frozen=True)
class Curve:
    """One curve.

    Attributes:
        points: (step, value), in order of steps.
        colour: its class (see `looks`).
        dashes: `stroke-dasharray`.
        key: of the path or hop that it belongs to (`path` or `hop`).
        mark: a step and value to be marked, with the words that say what happened there.
    """

    points: Sequence[tuple[float, float]]
    colour: str
    dashes: str = "none"
    key: dict[str, str] = field(default_factory=dict)
    mark: tuple[float, float, str] | None = None


@dataclass(frozen=True)
class Name:
    """A line of the list beside the panels.

    Attributes:
        html: what it is called.
        like: the curve that it names.
        cells: more columns, as HTML.
        now: columns for the page's script to fill with what holds where the page stands, each by
            the name of its values in the page's data.
    """

    html: str
    like: Curve
    cells: Sequence[str] = ()
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
    """Panels above each other, and one list beside them that names their curves."""

    panels: Sequence[Panel]
    head: Sequence[str]
    names: Sequence[Name]


def stacked(groups: Sequence[Group], end: float, cut: float) -> str:
    """The groups above each other on one axis of steps.

    Args:
        groups: from top to bottom.
        end: the last step of the run.
        cut: the last step to show at first.
    """
    html = "".join(_group(group, end, cut, group is groups[-1]) for group in groups)
    whole = ""
    if cut < end:
        words = f"show the whole run, {end:,.0f} steps"
        data = {"data_cut": f"{cut:g}", "data_end": f"{end:g}"}
        whole = tag("button", words, type="button", class_="whole", **data)
    style = f"--shown:{cut:g};--end:{end:g};--now:{end:g}"
    return tag("div", html + whole, class_="chart", style=style, data_range="cut")


def thin(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """At most `MOST_POINTS` of the points, evenly spread, with the first and the last."""
    if len(points) <= MOST_POINTS:
        return list(points)
    last = len(points) - 1
    return [points[round(i * last / (MOST_POINTS - 1))] for i in range(MOST_POINTS)]


def round_step(least: float) -> float:
    """The smallest of 1, 2, 5, 10, … that is at least so large."""
    if least <= 0:
        return 1.0
    size = 10.0 ** math.floor(math.log10(least))
    return next(m * size for m in (1, 2, 5, 10) if m * size >= least * (1 - 1e-9))


def _group(group: Group, end: float, cut: float, last: bool) -> str:
    drawn = "".join(tag("h4", panel.title) + _plot(panel, end, cut) for panel in group.panels)
    drawn += _steps(end, cut) if last else ""
    return tag("div", tag("div", drawn, class_="drawn") + _names(group), class_="panel")


def _plot(panel: Panel, end: float, cut: float) -> str:
    curves = "".join(_curve(curve, panel, end) for curve in panel.curves)
    rules = "".join(
        tag("line", "", x1="0", x2="1000", y1=f"{y:.2f}", y2=f"{y:.2f}", class_=kind)
        for kind, values in (("rule", panel.ticks()), ("level", [v for _, v in panel.levels]))
        for y in map(panel.down, values)
    )
    shown = f"0 0 {1000 * cut / end:g} 100"
    box = {"viewBox": shown, "preserveAspectRatio": "none", "aria_hidden": "true"}
    drawing = tag("svg", rules + curves, **box)
    words = "".join(_word("ytick", f"{tick:g}", panel.down(tick)) for tick in panel.ticks())
    heights = spread([-panel.down(value) for _, value in panel.levels], 1400 / panel.height)
    words += "".join(
        _word("levelname", escape(name), -height)
        for (name, _), height in zip(panel.levels, heights, strict=True)
    )
    marks = "".join(
        _word(
            f"mark-at {curve.colour}",
            "",
            panel.down(curve.mark[1]),
            curve.mark[0],
            title=curve.mark[2],
            **_data(curve.key),
        )
        for curve in panel.curves
        if curve.mark is not None
    )
    inner = drawing + words + marks + tag("i", "", class_="cursor")
    return tag("div", inner, class_="plot", style=f"height:{panel.height}px")


def _steps(end: float, cut: float) -> str:
    ticks = ""
    for shown, last in (("cut", cut), ("end", end)) if cut < end else (("cut", end),):
        step = round_step(last / 6)
        numbers = [i * step for i in range(int(last / step) + 1)]
        ticks += "".join(
            _word("xtick", f"{number:,.0f}", step=number, data_range=shown) for number in numbers
        )
    return tag("div", ticks + tag("span", "step", class_="axisname"), class_="steps")


def _word(
    kind: str, words: str, top: float | None = None, step: float | None = None, **attributes: str
) -> str:
    """A word at a place: `top` in hundredths of the height, `step` along the axis."""
    places = [] if top is None else [f"top:{top:.2f}%"]
    places += [] if step is None else [f"--s:{step:g}"]
    return tag("span", words, class_=kind, style=";".join(places), **attributes)


def _curve(curve: Curve, panel: Panel, end: float) -> str:
    points = " ".join(
        f"{1000 * step / end:.2f},{panel.down(value):.2f}" for step, value in thin(curve.points)
    )
    look = {**_dashes(curve), **_data(curve.key)}
    return tag("polyline", "", points=points, class_=f"curve {curve.colour}", **look)


def _names(group: Group) -> str:
    """The list of curves, with their values where the page stands."""
    rows = []
    for name in group.names:
        line = tag("line", "", x1="0", x2="26", y1="5", y2="5", **_dashes(name.like))
        swatch = tag("svg", line, viewBox="0 0 26 10", class_="swatch", aria_hidden="true")
        now = [tag("output", "", data_now=values) for values in name.now]
        cells = [swatch + name.html, *name.cells, *now]
        row = "".join(tag("td", cell) for cell in cells)
        rows.append(tag("tr", row, class_=name.like.colour, **_data(name.like.key)))
    head = tag("tr", "".join(tag("th", word, scope="col") for word in group.head))
    inner = tag("thead", head) + tag("tbody", "".join(rows))
    box = {"tabindex": "0", "role": "group", "aria_label": "curves and their values"}
    return tag("div", tag("table", inner), class_="curves scroll", **box)


def _data(key: dict[str, str]) -> dict[str, str]:
    return {f"data_{name}": value for name, value in key.items()}


def _dashes(curve: Curve) -> dict[str, str]:
    return {} if curve.dashes == "none" else {"stroke_dasharray": curve.dashes}
