"""Curves through training: losses, and the attention along paths."""

import math
from collections.abc import Container, Iterable, Sequence
from typing import TypeVar

import numpy as np

from headway.dynamics import Timeline
from headway.dynamics.emergence import EMERGES_AT, PathHistory
from headway.judge.roles import Cast, symbol_order
from headway.report.circuit import path_key
from headway.report.findings import Findings
from headway.report.labels import typeset
from headway.report.looks import BASELINE, DASHES, path_looks, symbol_colours
from headway.report.schema import Curve
from headway.tasks import Task

MOST_POINTS = 600
"""Evaluations on the page of a run; of more, evenly many are kept."""

Kept = TypeVar("Kept")
Shares = list[tuple[float, dict[str, float]]]
"""Steps, and what is right of every hop."""


def losses(findings: Findings) -> list[Curve]:
    """The losses of a run: on training's own batch, then held out, hop by hop."""
    lines = thinned(findings.metrics, MOST_POINTS)
    colours = _colours(findings.task)
    training = points((line["step"], line["train_loss"]) for line in lines)
    curves = [Curve("training", "", -1, 0, training)]
    for i, hop in enumerate(findings.task.hops):
        held_out = points((line["step"], line["partial"][hop]) for line in lines)
        learnt = findings.hops.get(hop)
        mark = None if learnt is None else (learnt, EMERGES_AT)
        curves.append(Curve(typeset(hop), "", colours[hop], i % DASHES, held_out, mark))
    return curves


def _colours(task: Task) -> dict[str, int]:
    """The colours of hops: those of their symbols, and of a single answer, which has
    none, one that no head has.
    """
    if len(task.hops) == 1 and not symbol_order(task):
        return {task.hops[0]: 0}
    return symbol_colours(task)


def accuracies(findings: Findings) -> list[Curve]:
    """The accuracies of a run, hop by hop: held out, and then on its fixed training
    set.

    There are none without such a set, or if answers are vectors.
    """
    held_out: Shares = []
    trained: Shares = []
    for line in thinned(findings.metrics, MOST_POINTS):
        scores = line.get("training_set") or {}
        shares = scores.get("accuracy")
        if not shares:
            continue
        step = line["step"]
        apart = line.get("accuracy", {})
        held_out.append((step, apart))
        trained.append((step, shares))
    task = findings.task
    curves = _by_hop(task, held_out, "held out", 0)
    curves += _by_hop(task, trained, "training set", 1)
    return curves


def _by_hop(task: Task, shares: Shares, place: str, dashes: int) -> list[Curve]:
    """The curve of every hop, from its shares of right answers by step."""
    curves: list[Curve] = []
    colours = symbol_colours(task)
    for hop in task.hops:
        drawn = points((step, by_hop.get(hop, math.nan)) for step, by_hop in shares)
        if not drawn:
            continue
        name = f"{typeset(hop)}, {place}"
        curve = Curve(name, "", colours[hop], dashes, drawn)
        curves.append(curve)
    return curves


def dated(
    timeline: Timeline, task: Task | Cast, steps: Container[int] | None = None
) -> tuple[list[Curve], list[Curve]]:
    """Attention along every path, and the model's losses without it and with all.

    Args:
        timeline: of the paths.
        task: by which they are coloured.
        steps: those to keep; by default all.
    """

    def kept(values: Sequence[float]) -> list[tuple[float, float]]:
        pairs = zip(timeline.steps, values, strict=True)
        return points(pair for pair in pairs if steps is None or pair[0] in steps)

    along = list[Curve]()
    without = list[Curve]()
    looks = path_looks(task, [history.path for history in timeline.paths])
    for history in timeline.paths:
        look = looks[history.path]
        name = (
            typeset(str(history.path)),
            path_key(history.path),
            look.colour,
            look.dashes,
        )
        emerged = None if history.emerged is None else (history.emerged, EMERGES_AT)
        along.append(Curve(*name, kept(history.attention), emerged))
        cut = kept(history.loss_without)
        without.append(Curve(*name, cut, _needed(history, timeline.steps)))
    without.append(Curve("nothing cut", "", BASELINE, 2, kept(timeline.loss)))
    return along, without


def _needed(history: PathHistory, steps: Sequence[int]) -> tuple[float, float] | None:
    """The step from which the loss depends on a path, and the loss without it there."""
    if history.needed is None:
        return None
    loss = np.interp(history.needed, steps, history.loss_without)
    return history.needed, short(float(loss))


def points(pairs: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Steps and values, those left out that are not finite."""
    return [(step, short(value)) for step, value in pairs if math.isfinite(value)]


def short(value: float) -> float:
    """A measured number to four digits, which is what a drawing can show."""
    return float(f"{value:.4g}")


def thinned(steps: Sequence[Kept], most: int) -> list[Kept]:
    """At most so many steps or lines, at least two, evenly spread, with the first and
    the last.
    """
    most = max(2, most)
    if len(steps) <= most:
        return list(steps)
    last = len(steps) - 1
    return [steps[round(i * last / (most - 1))] for i in range(most)]
