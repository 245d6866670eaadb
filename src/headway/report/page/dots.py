"""One dot per run over categories or along a number, the median of every category marked."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from markupsafe import Markup

from headway.report.page.charts import Panel, plot
from headway.report.page.html import tag
from headway.report.page.strips import lanes
from headway.text import rounded


@dataclass(frozen=True)
class Dot:
    """A run.

    Attributes:
        value: how high it stands.
        full: whether it is drawn full, or as a ring.
        title: what it is, as text.
        run: its key on the page.
    """

    value: float
    full: bool
    title: str
    run: str


def dots(panel: Panel, columns: Sequence[tuple[str, Sequence[Dot]]], label: str) -> Markup:
    """Dots above the name of their category, those of nearly one value side by side.

    Args:
        panel: the axis of values; its curves are not drawn.
        columns: the categories' names as text, and their dots.
        label: the drawing in words, for those who do not see it.
    """
    width, drawn, names = 100 / len(columns), [], []
    for i, (name, some) in enumerate(columns):
        middle = (i + 0.5) * width
        places = [panel.down(dot.value) for dot in some]
        aside = lanes(places, 700 / panel.height)
        apart = min(10, 80 / (1 + max(aside, default=0)))
        for dot, place, lane in zip(some, places, aside, strict=True):
            off = apart * ((lane + 1) // 2) * (-1 if lane % 2 else 1)
            drawn.append(_dot(dot, f"calc({middle:.2f}% + {off:.1f}px)", place))
        if some:
            value = median(dot.value for dot in some)
            at = f"left:{middle:.2f}%;top:{panel.down(value):.2f}%;width:{0.7 * width:.2f}%"
            drawn.append(tag("i", class_="median", style=at, title=f"median {rounded(value)}"))
        at = f"left:{middle:.2f}%;max-width:{width:.2f}%"
        names.append(tag("span", name, style=at, title=name))
    axis = tag("div", names, class_="categories")
    return tag("div", plot(panel, 1, 1, *drawn), axis, role="img", aria_label=label)


def scattered(panel: Panel, runs: Sequence[tuple[float, Dot]], label: str) -> Markup:
    """Dots along a number: at its logarithm where all are positive and span more than a decade.

    Args:
        panel: the axis of values; its curves are not drawn.
        runs: where each dot stands, and the dot.
        label: the drawing in words, for those who do not see it.
    """
    numbers = [number for number, _ in runs]
    low, high = min(numbers), max(numbers)
    logarithmic = low > 0 and high / low > 10

    def along(number: float) -> float:
        if low == high:
            return 50.0
        if logarithmic:
            return 3 + 94 * math.log(number / low) / math.log(high / low)
        return 3 + 94 * (number - low) / (high - low)

    drawn = [_dot(dot, f"{along(number):.2f}%", panel.down(dot.value)) for number, dot in runs]
    middle = math.sqrt(low * high) if logarithmic else (low + high) / 2
    ticks = dict.fromkeys((low, middle, high))
    names = [tag("span", f"{tick:.3g}", style=f"left:{along(tick):.2f}%") for tick in ticks]
    axis = tag("div", names, class_="categories")
    return tag("div", plot(panel, 1, 1, *drawn), axis, role="img", aria_label=label)


def _dot(dot: Dot, left: str, top: float) -> Markup:
    kind = "rundot full" if dot.full else "rundot"
    at = f"left:{left};top:{top:.2f}%"
    return tag("i", class_=kind, style=at, title=dot.title, data_run=dot.run)
