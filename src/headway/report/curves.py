"""Curves through training: losses, and the attention along paths."""

import math
from collections.abc import Iterable, Sequence
from typing import TypeVar

from headway.report.circuit import path_key
from headway.report.findings import Findings
from headway.report.labels import typeset
from headway.report.looks import DASHES, path_looks, symbol_colours
from headway.report.schema import Curve

MOST_POINTS = 600
"""Evaluations on the page of a run; of more, evenly many are kept."""

Kept = TypeVar("Kept")


def losses(findings: Findings) -> list[Curve]:
    """The losses of a run: on training's own batch, then held out, hop by hop."""
    lines, colours = thinned(findings.metrics, MOST_POINTS), symbol_colours(findings.task)
    training = points((line["step"], line["train_loss"]) for line in lines)
    hops = [
        Curve(
            name=typeset(hop),
            key="",
            colour=colours[hop],
            dashes=i % DASHES,
            points=points((line["step"], line["partial"][hop]) for line in lines),
            mark=findings.hops.get(hop),
        )
        for i, hop in enumerate(findings.task.hops)
    ]
    return [Curve("training", "", -1, 0, training), *hops]


def dated(findings: Findings, steps: Sequence[int]) -> tuple[list[Curve], list[Curve]]:
    """Attention along every path, and the model's losses without it and with all, at some steps.

    Nothing if paths were not dated.
    """
    timeline, shown = findings.timeline, {*steps}
    if timeline is None or not findings.paths:
        return [], []

    def at_steps(values: Sequence[float]) -> list[tuple[float, float]]:
        pairs = zip(timeline.steps, values, strict=True)
        return points(pair for pair in pairs if pair[0] in shown)

    along, without = list[Curve](), list[Curve]()
    looks = path_looks(findings.task, findings.paths)
    histories = {history.path: history for history in timeline.paths}
    for path in findings.paths:
        history, look = histories[path], looks[path]
        name = typeset(str(path)), path_key(path), look.colour, look.dashes
        along.append(Curve(*name, at_steps(history.attention), history.emerged))
        without.append(Curve(*name, at_steps(history.loss_without), history.needed))
    return along, [*without, Curve("nothing cut", "", 0, 0, at_steps(timeline.loss))]


def points(pairs: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Steps and values, those left out that are not finite."""
    return [(step, short(value)) for step, value in pairs if math.isfinite(value)]


def short(value: float) -> float:
    """A measured number to four digits, which is what a drawing can show."""
    return float(f"{value:.4g}")


def thinned(steps: Sequence[Kept], most: int) -> list[Kept]:
    """At most so many steps or lines, at least two, evenly spread, with the first and the last."""
    most = max(2, most)
    if len(steps) <= most:
        return list(steps)
    return [steps[round(i * (len(steps) - 1) / (most - 1))] for i in range(most)]
