"""Emergence: when each path of a circuit was born (Musat 2024, section 9 and appendix D).

Seen twice: by where the head attends at every checkpoint, and by what it costs the model of that
checkpoint to lose just this attention. A head may attend long before anything depends on it, and
where another head does the same, nothing ever does.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from headway.circuits.ablation import Bench
from headway.circuits.discovery import Discovery
from headway.circuits.mechanism import Circuit, KnockOut, Path
from headway.circuits.patterns import attention_along
from headway.errors import HeadwayError, require
from headway.models import attention_patterns
from headway.training.data import held_out
from headway.training.files import clear_content_errors
from headway.training.run import Run

BIRTH = 0.5
"""The attention at which a path counts as born, and the partial loss at which a hop is learnt."""

MATTERS = 0.02
"""The least rise of the loss, at some checkpoint, for a path to count as needed at all."""


@dataclass(frozen=True)
class PathHistory:
    """One path at every checkpoint.

    Attributes:
        path: layer, head and relation.
        attention: mean attention along it, averaged over chains and held-out sequences.
        loss_without: the loss of the model as it was then, with this attention set to zero and
            all else as it is (knock-out).
        born: the step at which the attention first passes 0.5, interpolated between checkpoints;
            none if it never does.
        needed: the step at which the rise of the loss without it first passes half of its largest
            value, interpolated likewise; none if the rise is never above 0.02.
    """

    path: Path
    attention: list[float]
    loss_without: list[float]
    born: float | None
    needed: float | None


@dataclass(frozen=True)
class Timeline:
    """When every path of a circuit was born and every hop was learnt.

    Attributes:
        steps: of the checkpoints.
        loss: of the model at every checkpoint, on the sequences of `loss_without`.
        paths: one history a path, in the order in which information flows.
        hops: the step at which each partial loss first passes below 0.5, interpolated between
            evaluations; none if it never does.
        in_chain_order: whether no hop was learnt before one that the chain reaches earlier; none
            if there was nothing to compare.
        sequences: how many held-out sequences attention and losses are averaged over.
    """

    steps: list[int]
    loss: list[float]
    paths: list[PathHistory]
    hops: dict[str, float | None]
    in_chain_order: bool | None
    sequences: int

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON data, as in `emergence.json`."""
        return {
            "birth": BIRTH,
            "ablation": "knock-out: attention along the path set to zero, all else as it is",
            "sequences": self.sequences,
            "steps": self.steps,
            "loss": self.loss,
            "paths": [
                {
                    "layer": history.path[0],
                    "head": history.path[1],
                    "relation": history.path[2],
                    "born": history.born,
                    "needed": history.needed,
                    "attention": history.attention,
                    "loss_without": history.loss_without,
                }
                for history in self.paths
            ],
            "hops": self.hops,
            "in_chain_order": self.in_chain_order,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Timeline":
        """What `to_json` wrote.

        Raises:
            HeadwayError: if a field is missing or not what it should be.
        """
        with clear_content_errors("emergence.json"):
            paths = [
                PathHistory(
                    (p["layer"], p["head"], p["relation"]),
                    p["attention"],
                    p["loss_without"],
                    p["born"],
                    p["needed"],
                )
                for p in data["paths"]
            ]
            return cls(
                data["steps"],
                data["loss"],
                paths,
                data["hops"],
                data["in_chain_order"],
                data["sequences"],
            )


@torch.no_grad()
def emergence(
    run: Run,
    circuit: Circuit | Discovery,
    *,
    sequences: int = 32,
    watch: Callable[[int, int], None] | None = None,
) -> Timeline:
    """Dates every path of a circuit over the checkpoints of its run.

    Leaves the timeline in the run's `emergence.json`.

    Args:
        run: the run that the circuit was found in.
        circuit: the circuit, or what `discover` returned.
        sequences: how many held-out sequences to average over (the paper's 32).
        watch: told how many checkpoints are done, of how many.

    Raises:
        HeadwayError: if a checkpoint cannot be read, or a path is not one of this model and task.
    """
    require(sequences >= 1, "sequences", sequences, "a whole number of at least 1")
    if isinstance(circuit, Discovery):
        circuit = circuit.circuit
    config = run.config
    with run.writing(), run.computing():
        batch = held_out(run.task, sequences, config.seed, run.device, "emergence")
        paths, steps = circuit.paths, run.checkpoint_steps()
        if not steps:
            raise HeadwayError(f"{run.folder}: the run has no checkpoints yet")
        attention: list[list[float]] = [[] for _ in paths]
        losses: list[list[float]] = [[] for _ in range(len(paths) + 1)]
        for done, step in enumerate(steps, start=1):
            bench = Bench(run.model(step), run.task, batch)
            cut = [{path[:2]: KnockOut(frozenset({path[2]}))} for path in paths]
            for curve, loss in zip(losses, bench.losses([{}, *cut]), strict=True):
                curve.append(loss)
            patterns = attention_patterns(bench.model, batch.inputs)
            for curve, (layer, head, name) in zip(attention, paths, strict=True):
                along = attention_along(patterns, bench.patterns.relation(name))
                curve.append(along[layer, head].item())
            if watch is not None:
                watch(done, len(steps))
        whole, *without = losses
        hops = hop_steps(run.metrics(), run.task.hop_names)
        timeline = Timeline(
            steps=steps,
            loss=whole,
            paths=[
                PathHistory(
                    path,
                    along,
                    cut,
                    crossing(steps, along, BIRTH),
                    needed_from(steps, whole, cut),
                )
                for path, along, cut in zip(paths, attention, without, strict=True)
            ],
            hops=hops,
            in_chain_order=learnt_in_order(hops, run.task.hop_order),
            sequences=sequences,
        )
        run.write("emergence.json", timeline.to_json())
    return timeline


def saved_timeline(run: Run) -> Timeline:
    """The timeline that was left in a run's `emergence.json`.

    Raises:
        HeadwayError: if there is none.
    """
    data = run.read("emergence.json")
    if data is None:
        raise HeadwayError(
            f"{run.folder}: its circuit has not been dated; do it with: headway emergence"
            f" {run.folder}"
        )
    return Timeline.from_json(data)


def needed_from(
    steps: Sequence[int], whole: Sequence[float], without: Sequence[float]
) -> float | None:
    """The step at which the rise of the loss first passes half of its largest value."""
    rise = [cut - loss for cut, loss in zip(without, whole, strict=True)]
    return crossing(steps, rise, max(rise) / 2) if max(rise) > MATTERS else None


def hop_steps(metrics: list[dict[str, Any]], hop_names: Sequence[str]) -> dict[str, float | None]:
    """The step at which every partial loss first passes below 0.5."""
    steps = [line["step"] for line in metrics]
    return {
        hop: crossing(steps, [-line["partial"][hop] for line in metrics], -BIRTH)
        for hop in hop_names
    }


def learnt_in_order(hops: dict[str, float | None], order: Sequence[tuple[str, str]]) -> bool | None:
    """Whether of every (earlier, later) pair of hops the earlier was learnt first.

    A pair of which neither was learnt says nothing; none if no pair says anything.
    """
    verdicts = []
    for earlier, later in order:
        first, second = hops[earlier], hops[later]
        if second is not None:
            verdicts.append(first is not None and first <= second)
        elif first is not None:
            verdicts.append(True)
    return all(verdicts) if verdicts else None


def crossing(steps: Sequence[int], values: Sequence[float], level: float) -> float | None:
    """Where a curve first rises above a level, by linear interpolation; none if it never does."""
    previous: tuple[int, float] | None = None
    for step, value in zip(steps, values, strict=True):
        if value > level:
            if previous is None:
                return float(step)
            before, low = previous
            return before + (step - before) * (level - low) / (value - low)
        previous = step, value
    return None
