"""Emergence: when each path emerged (Musat 2024, section 9 and appendix D).

Emergence is dated in two ways: by where the head attends at every checkpoint, and by
how much the loss of that checkpoint's model rises without this attention. A head may
attend long before the loss depends on it. If another head does the same, the loss may
never depend on it.
"""

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor

from headway.dynamics.text import of_timeline
from headway.errors import HeadwayError, require
from headway.fields import Finding, NotBelowZero, NotNegative, require_allowed
from headway.judge.discovery import Discovery, given_or_own, missing, standing_of
from headway.late import Shown
from headway.models import Tappable, attention_patterns
from headway.relations.paths import AttentionPath
from headway.replace.ablation import Bench
from headway.replace.circuit import Circuit
from headway.replace.heads import WrittenLoss, WrittenPath
from headway.replace.mechanism import KnockOut
from headway.replace.patterns import attention_along
from headway.replace.rows import measured_weights
from headway.replace.subject import Counted, device_of, opened, require_task, with_tap
from headway.settings import computes_as_usual
from headway.tasks import Batch, Task
from headway.training.data import held_out
from headway.training.run import Run

EMERGES_AT = 0.5
"""The attention at which a path emerges, and the loss at which a hop is learnt."""

MATTERS = 0.02
"""The least rise of the loss, at some checkpoint, of a path that is needed."""


@dataclass(frozen=True)
class PathHistory:
    """One path at every checkpoint.

    Attributes:
        path: layer, head and relation.
        attention: mean attention along it, averaged over chains and held-out sequences;
            of a task that names neither roles nor relations, over rows by what they
            matter to the last model.
        loss_without: the loss of that checkpoint's model with this attention set to
            zero and all else as it is (knock-out).
        emerged: the step at which the attention first passes 0.5, interpolated between
            checkpoints; None if it never does.
        needed: the step at which the rise of the loss without it first passes half of
            its largest value, interpolated likewise; None if the rise is never above
            0.02.
    """

    path: WrittenPath
    attention: list[float]
    loss_without: list[WrittenLoss]
    emerged: NotBelowZero | None
    needed: NotBelowZero | None


@dataclass(frozen=True)
class Timeline(Finding, Shown):
    """The emergence of every path of a circuit, and the step of every hop.

    Attributes:
        steps: of the checkpoints.
        loss: of the model at every checkpoint, on the sequences of `loss_without`.
        paths: one history a path, in the order in which information flows.
        hops: the step at which each partial loss first passes below 0.5, interpolated
            between evaluations; None if it never does.
        sequences: how many held-out sequences attention and losses are averaged over.
        standing: the task's roles, as a `Discovery` has them; empty if it has none.
    """

    FILE: ClassVar[str] = "emergence.json"

    steps: list[int]
    loss: list[WrittenLoss]
    paths: list[PathHistory]
    hops: dict[str, NotBelowZero | None]
    sequences: Counted
    standing: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def is_of(self, discovery: Discovery) -> bool:
        """True if it is about the circuit that was discovered."""
        return [history.path for history in self.paths] == discovery.circuit.paths

    @property
    def half(self) -> dict[AttentionPath, float | None]:
        """The step at which each path first has half of its final attention.

        That dates paths of heads that never give most of their attention to one place,
        too; the paper's fixed 0.5 is `PathHistory.emerged`.
        """
        return {
            history.path: crossing(
                self.steps, history.attention, history.attention[-1] / 2
            )
            for history in self.paths
        }

    def __str__(self):
        return of_timeline(self)

    def __post_init__(self):
        steps = self.steps
        lengths = {len(self.loss)}
        for history in self.paths:
            lengths |= {len(history.attention), len(history.loss_without)}
        rising = bool(steps) and all(before < step for before, step in pairwise(steps))
        require(rising, "steps", steps, "rising")
        require(
            lengths == {len(steps)},
            "values in a curve",
            lengths,
            f"{len(steps)}, one a step",
        )


@dataclass(frozen=True)
class Checkpoints:
    """The models of one training.

    Attributes:
        steps: in order.
        load: the model of a step.
        task: what they were trained on.
        seed: of the run; 0 if models are given.
        run: theirs, if any.
    """

    steps: list[int]
    load: Callable[[int], Any]
    task: Task
    seed: int
    run: Run | None = None

    @classmethod
    def of(
        cls, given: Run | str | Path | Mapping[int, Any], task: Task | None
    ) -> "Checkpoints":
        """The checkpoints of a run, or models by their step with their task.

        Raises:
            HeadwayError: if these do not go together, or there is no checkpoint.
        """
        run = opened(given)
        if isinstance(run, Run):
            require(task is None, "task", task, "None, as the run has its own")
            steps = run.checkpoint_steps()
            if not steps:
                raise HeadwayError(f"{run.folder}: the run has no checkpoints yet")
            return cls(steps, run.model, run.task, run.config.seed, run)
        is_by_step = isinstance(run, Mapping) and {*map(type, run)} == {int}
        is_allowed = is_by_step and min(run) >= 0
        allowed = "models by their steps, whole numbers from 0 on"
        require(is_allowed, "checkpoints", run, allowed)
        return cls(sorted(run), run.__getitem__, require_task(task), 0)

    def model(self, step: int) -> Tappable:
        """The model of a step, with a tap."""
        return with_tap(self.load(step), self.task)

    def sequences(self, model: Tappable, count: int, seed: int, purpose: str) -> Batch:
        """Held-out sequences for a purpose, on a model's device."""
        config = self.run and self.run.config
        return held_out(self.task, count, seed, device_of(model), purpose, config)


@computes_as_usual
def emergence(
    checkpoints: Run | str | Path | Mapping[int, Any],
    circuit: Circuit | Discovery | Path | str | None = None,
    task: Task | None = None,
    *,
    sequences: int = 32,
    seed: int | None = None,
    watch: Callable[[int, int], None] | None = None,
) -> Timeline:
    """Dates every path of a circuit over the checkpoints of a model.

    Given a run, leaves the timeline in its `emergence.json`, unless its `circuit.json`
    holds another circuit.

    Args:
        checkpoints: a run or its folder; or models by their step, together with their
            task.
        circuit: the circuit of the last, what `discover` returned, or a file that holds
            it; by default the run's own.
        task: what the models were trained on, if models are given.
        sequences: how many held-out sequences to average over (the paper's 32): at
            least 1.
        seed: of the held-out sequences; by default the run's, or 0.
        watch: called with how many checkpoints are done, and of how many; by default a
            line tells it on a terminal or in a notebook.

    Raises:
        HeadwayError: if a checkpoint cannot be read, or a path is not one of this model
            and task.
    """
    require_allowed("sequences", sequences, Counted)
    require_allowed("seed", seed, NotNegative | None)
    known = Checkpoints.of(checkpoints, task)
    seed = known.seed if seed is None else seed
    run = known.run
    circuit, _ = given_or_own(circuit, run)
    if run is None:
        return _dated(known, circuit, sequences, seed, watch)
    with run.writing(Timeline.FILE), run.computing():
        timeline = _dated(known, circuit, sequences, seed, watch)
        discovery = run.load(Discovery)
        if discovery is None or timeline.is_of(discovery):
            run.save(timeline)
    return timeline


@torch.no_grad()
def _dated(
    known: Checkpoints,
    circuit: Circuit,
    sequences: int,
    seed: int,
    watch: Callable[[int, int], None] | None,
) -> Timeline:
    """The timeline of a circuit's paths."""
    from headway.progress import watched

    task = known.task
    steps = known.steps
    hops = hop_steps(known.run.metrics(), task.hops) if known.run else {}
    last = known.model(steps[-1])
    batch = known.sequences(last, sequences, seed, "emergence")
    cut = [{path.at: KnockOut(frozenset({path.relation}))} for path in circuit.paths]
    rows = None
    if task.is_read_blind:
        rows = measured_weights(last, task, batch, circuit.useful_heads)
    losses = list[list[float]]()
    attention = list[list[float]]()
    with watched(watch, "dated {} of {} checkpoints".format) as told:
        for step in steps:
            bench = Bench(known.model(step), task, batch)
            losses.append(bench.losses([{}, *cut]))
            attention.append(_attention_along(bench, circuit.paths, rows))
            told(len(losses), len(steps))
    whole, *without = map(list, zip(*losses, strict=True))
    curves = zip(circuit.paths, zip(*attention, strict=True), without, strict=True)
    histories = [_history(steps, whole, *curve) for curve in curves]
    return Timeline(steps, whole, histories, hops, sequences, standing_of(task))


def _attention_along(
    bench: Bench, paths: Sequence[AttentionPath], rows: Tensor | None
) -> list[float]:
    """The attention of a checkpoint's model along each path."""
    patterns = attention_patterns(bench.model, bench.batch.inputs)
    attention = list[float]()
    for path in paths:
        edges = bench.patterns.relation(path.relation)
        along = attention_along(patterns, edges, rows=rows)
        attention.append(along[path.at].item())
    return attention


def _history(
    steps: Sequence[int],
    whole: Sequence[float],
    path: AttentionPath,
    attention: Sequence[float],
    without: list[float],
) -> PathHistory:
    """A path with its dates, from its attention and the losses with and without it."""
    rise = list[float]()
    for loss, own in zip(without, whole, strict=True):
        # Where the model itself gives no numbers, nothing rises above that.
        rise.append(loss - own if own < math.inf else 0.0)
    needed = None
    if max(rise) > MATTERS:
        half = min(max(rise) / 2, sys.float_info.max)
        needed = crossing(steps, rise, half)
    emerged = crossing(steps, attention, EMERGES_AT)
    return PathHistory(path, [*attention], without, emerged, needed)


def saved_timeline(run: Run) -> Timeline:
    """The timeline that was left in a run's `emergence.json`.

    Raises:
        HeadwayError: if there is none.
    """
    return run.load(Timeline) or missing(
        run, "its paths are not dated; do it with", "emergence"
    )


def hop_steps(
    metrics: list[dict[str, Any]], hop_names: Sequence[str]
) -> dict[str, float | None]:
    """The step at which every partial loss first passes below 0.5."""
    steps = [line["step"] for line in metrics]
    return {
        hop: crossing(steps, [-line["partial"][hop] for line in metrics], -EMERGES_AT)
        for hop in hop_names
    }


def learnt_in_order(
    hops: dict[str, float | None], order: Sequence[tuple[str, str]]
) -> bool | None:
    """True if of every (earlier, later) pair of hops the earlier was learnt first.

    Pairs of which neither was learnt do not count; None if no pair counts.
    """
    steps = {hop: math.inf if step is None else step for hop, step in hops.items()}
    pairs = [(steps[earlier], steps[later]) for earlier, later in order]
    held = [first <= second for first, second in pairs if min(first, second) < math.inf]
    return all(held) if held else None


def crossing(
    steps: Sequence[int], values: Sequence[float], level: float
) -> float | None:
    """The interpolated step at which a curve first passes a level; None if never."""
    passed = [at for at, value in enumerate(values) if value > level]
    if not passed:
        return None
    at = passed[0]
    step = steps[at]
    value = values[at]
    if at == 0:
        return float(step)
    before = steps[at - 1]
    low = values[at - 1]
    if math.isinf(value - low):
        return float(step)
    return before + (step - before) * (level - low) / (value - low)
