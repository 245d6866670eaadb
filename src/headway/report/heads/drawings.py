"""Drawings of the page about heads: maps of layers and heads; estimates with intervals."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from headway.report.labels import spread
from headway.report.page.charts import round_step
from headway.report.page.html import escape, tag

Head = tuple[int, int]
"""Layer, and number in it."""

CELL, LEFT, UNDER = 15, 34, 30


def head_map(
    values: Sequence[Sequence[float]],
    most: float,
    label: str,
    told: Callable[[Head], str],
    marks: Mapping[Head, str] | None = None,
    kind: str = "",
) -> str:
    """A map with a column a layer and a row a head, the stronger the shade the larger the value.

    Args:
        values: [layer, head].
        most: the value of the full shade; what is not above zero has none.
        label: what the map shows, for those who do not see it.
        told: what is said of a head that is pointed at.
        marks: a word to write on some heads.
        kind: a further class.
    """
    layers, heads = len(values), len(values[0])
    width, height = LEFT + CELL * layers + 4, CELL * heads + UNDER
    parts = []
    for layer, row in enumerate(values):
        for head, value in enumerate(row):
            share = min(max(value / most, 0.0), 1.0)
            box = {"x": str(LEFT + CELL * layer), "y": str(CELL * head)}
            size = {"width": str(CELL - 1), "height": str(CELL - 1)}
            title = tag("title", escape(told((layer, head))))
            parts.append(
                tag("rect", title, class_="headcell", style=f"--share:{share:.3f}", **box, **size)
            )
            mark = (marks or {}).get((layer, head))
            if mark is not None:
                at = {"x": f"{LEFT + CELL * (layer + 0.47):.1f}", "y": f"{CELL * head + 11}"}
                full = "headmark full" if share > 0.55 else "headmark"
                parts.append(tag("text", escape(mark), class_=full, **at))
    every = 1 if layers <= 12 else 5
    for layer in range(0, layers, every):
        at = {"x": f"{LEFT + CELL * (layer + 0.47):.1f}", "y": f"{CELL * heads + 12}"}
        parts.append(tag("text", str(layer), class_="across", **at))
    for head in range(0, heads, 1 if heads <= 12 else 4):
        at = {"x": str(LEFT - 6), "y": f"{CELL * head + 11}"}
        parts.append(tag("text", str(head), class_="down", **at))
    middle = {"x": f"{LEFT + CELL * layers / 2:.1f}", "y": f"{CELL * heads + 26}"}
    parts.append(tag("text", "layer", class_="across", **middle))
    turned = f"translate(10 {CELL * heads / 2:.1f}) rotate(-90)"
    parts.append(tag("text", "head", class_="across", transform=turned))
    return _svg(parts, width, height, label, f"headmap {kind}".strip())


@dataclass(frozen=True)
class Series:
    """Estimates of one kind.

    Attributes:
        name: what they are.
        colour: class of page.css.
        shape: of its points: `circle`, `square` or `diamond`.
        points: group, mean, and the ends of the interval.
    """

    name: str
    colour: str
    shape: str
    points: Sequence[tuple[int, float, float, float]]


def whiskers(
    groups: Sequence[str],
    series: Sequence[Series],
    levels: Sequence[tuple[str, float]],
    label: str,
    axis: str,
) -> str:
    """Means with their intervals, group by group, and thin lines at some values.

    Args:
        groups: along the axis.
        series: side by side in every group.
        levels: by what they stand for.
        label: what is shown, for those who do not see it.
        axis: what the groups are.
    """
    wide, tall, left, top = 96, 190, 46, 12
    width, height = left + wide * len(groups) + 92, tall + top + 44
    ends = [high for one in series for _, _, _, high in one.points] + [v for _, v in levels]
    lows = [low for one in series for _, _, low, _ in one.points] + [v for _, v in levels]
    most, least = max(0.0, *ends), min(0.0, *lows)
    most, least = most + 0.04 * (most - least), least - (0.04 * (most - least) if least < 0 else 0)
    step = round_step((most - least) / 4)

    def down(value: float) -> float:
        return top + tall * (most - value) / (most - least)

    parts = []
    ticks = [i * step for i in range(int(least // step), int(most // step) + 1)]
    for tick in (tick for tick in ticks if tick >= least - 1e-9):
        ends_at = {"x1": f"{left}", "x2": f"{width - 92}"}
        y = f"{down(tick):.1f}"
        parts.append(tag("line", "", class_="rule", y1=y, y2=y, **ends_at))
        at = {"x": f"{left - 6}", "y": f"{down(tick) + 4:.1f}"}
        parts.append(tag("text", f"{tick:g}".replace("-", "−"), class_="down", **at))
    heights = spread([-down(value) for _, value in levels], 13)
    for (name, value), height_of in zip(levels, heights, strict=True):
        y = f"{down(value):.1f}"
        parts.append(tag("line", "", class_="level", x1=f"{left}", x2=f"{width - 92}", y1=y, y2=y))
        at = {"x": f"{width - 86}", "y": f"{4 - height_of:.1f}"}
        parts.append(tag("text", escape(name), class_="levelname", **at))
    for i, one in enumerate(series):
        for group, mean, low, high in one.points:
            x = left + wide * (group + 0.5) + 20 * (i - (len(series) - 1) / 2)
            said = f"{one.name}, {groups[group]}: {mean:.3f} [{low:.3f}, {high:.3f}]"
            bar = {"x1": f"{x:.1f}", "x2": f"{x:.1f}"}
            line = tag("line", "", y1=f"{down(low):.1f}", y2=f"{down(high):.1f}", **bar)
            inner = tag("title", escape(said)) + line + _point(one.shape, x, down(mean))
            parts.append(tag("g", inner, class_=f"whisker {one.colour}"))
    for group, name in enumerate(groups):
        at = {"x": f"{left + wide * (group + 0.5):.1f}", "y": f"{tall + top + 18}"}
        parts.append(tag("text", escape(name), class_="across", **at))
    middle = {"x": f"{left + wide * len(groups) / 2:.1f}", "y": f"{tall + top + 38}"}
    parts.append(tag("text", escape(axis), class_="across", **middle))
    return _svg(parts, width, height, label, "estimates")


def key(series: Sequence[Series]) -> str:
    """Which point is which, as HTML."""
    names = "".join(
        f'<span class="carried {one.colour}">{_sample(one.shape)}{escape(one.name)}</span>'
        for one in series
    )
    return tag("p", names, class_="legend")


def _sample(shape: str) -> str:
    box = {"viewBox": "0 0 12 12", "class_": "sample whisker", "aria_hidden": "true"}
    return tag("svg", _point(shape, 6, 6), **box)


def _point(shape: str, x: float, y: float) -> str:
    if shape == "circle":
        return tag("circle", "", cx=f"{x:.1f}", cy=f"{y:.1f}", r="4.4")
    turned = {"transform": f"rotate(45 {x:.1f} {y:.1f})"} if shape == "diamond" else {}
    place = {"x": f"{x - 4:.1f}", "y": f"{y - 4:.1f}", "width": "8", "height": "8"}
    return tag("rect", "", **place, **turned)


def _svg(parts: Sequence[str], width: float, height: float, label: str, kind: str) -> str:
    box = {"viewBox": f"0 0 {width:g} {height:g}", "style": f"--wide:{width:g}px"}
    return tag("svg", "".join(parts), role="img", aria_label=label, class_=kind, **box)
