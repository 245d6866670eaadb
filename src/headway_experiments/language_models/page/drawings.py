"""Drawings of the page about heads: maps of layers and heads; estimates with intervals."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from headway.report.labels import spread
from headway.report.page.canvas import text
from headway.report.page.charts import round_step
from headway.report.page.html import tag

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
) -> Markup:
    """A map with a column per layer and a row per head; larger values have a stronger shade.

    Args:
        values: [layer, head].
        most: the value of the full shade; values up to zero have none.
        label: what the map shows, for those who do not see it.
        told: what is said of a head under the pointer.
        marks: a word to write on some heads.
        kind: a further class.
    """
    layers, heads = len(values), len(values[0])
    width, height = LEFT + CELL * layers + 4, CELL * heads + UNDER
    parts = []
    for layer, row in enumerate(values):
        for head, value in enumerate(row):
            share = min(max(value / most, 0.0), 1.0)
            box = {
                "x": LEFT + CELL * layer,
                "y": CELL * head,
                "width": CELL - 1,
                "height": CELL - 1,
            }
            title, shade = tag("title", told((layer, head))), f"--share:{share:.3f}"
            parts.append(tag("rect", title, class_="headcell", style=shade, **box))
            if marks is not None and (layer, head) in marks:
                full = "headmark full" if share > 0.55 else "headmark"
                x, y = LEFT + CELL * (layer + 0.47), CELL * head + 11
                parts.append(text(x, y, marks[layer, head], class_=full))
    for layer in range(0, layers, 1 if layers <= 12 else 5):
        x, y = LEFT + CELL * (layer + 0.47), CELL * heads + 12
        parts.append(text(x, y, layer, class_="across"))
    for head in range(0, heads, 1 if heads <= 12 else 4):
        parts.append(text(LEFT - 6, CELL * head + 11, head, class_="down"))
    parts.append(text(LEFT + CELL * layers / 2, CELL * heads + 26, "layer", class_="across"))
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
) -> Markup:
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

    parts, right = [], width - 92
    ticks = [i * step for i in range(int(least // step), int(most // step) + 1)]
    for tick in (tick for tick in ticks if tick >= least - 1e-9):
        y = down(tick)
        parts.append(tag("line", class_="rule", y1=y, y2=y, x1=left, x2=right))
        parts.append(text(left - 6, y + 4, f"{tick:g}".replace("-", "−"), class_="down"))
    heights = spread([-down(value) for _, value in levels], 13)
    for (name, value), height_of in zip(levels, heights, strict=True):
        y = down(value)
        parts.append(tag("line", class_="level", x1=left, x2=right, y1=y, y2=y))
        parts.append(text(right + 6, 4 - height_of, name, class_="levelname"))
    for i, one in enumerate(series):
        for group, mean, low, high in one.points:
            x = left + wide * (group + 0.5) + 20 * (i - (len(series) - 1) / 2)
            title = tag("title", f"{one.name}, {groups[group]}: {mean:.3f} [{low:.3f}, {high:.3f}]")
            line = tag("line", x1=x, x2=x, y1=down(low), y2=down(high))
            point = _point(one.shape, x, down(mean))
            parts.append(tag("g", title, line, point, class_=f"whisker {one.colour}"))
    for group, name in enumerate(groups):
        parts.append(text(left + wide * (group + 0.5), tall + top + 18, name, class_="across"))
    middle = left + wide * len(groups) / 2
    parts.append(text(middle, tall + top + 38, axis, class_="across"))
    return _svg(parts, width, height, label, "estimates")


def key(series: Sequence[Series]) -> Markup:
    """Which point is which."""
    box = {"viewBox": "0 0 12 12", "class_": "sample whisker", "aria_hidden": "true"}
    names = [
        tag("span", tag("svg", _point(s.shape, 6, 6), **box), s.name, class_=f"carried {s.colour}")
        for s in series
    ]
    return tag("p", names, class_="legend")


def _point(shape: str, x: float, y: float) -> Markup:
    if shape == "circle":
        return tag("circle", cx=x, cy=y, r=4.4)
    turned = f"rotate(45 {x:.1f} {y:.1f})" if shape == "diamond" else None
    return tag("rect", x=x - 4, y=y - 4, width=8, height=8, transform=turned)


def _svg(parts: Sequence[Markup], width: float, height: float, label: str, kind: str) -> Markup:
    box = {"viewBox": f"0 0 {width:g} {height:g}", "style": f"--wide:{width:g}px"}
    return tag("svg", parts, role="img", aria_label=label, class_=kind, **box)
