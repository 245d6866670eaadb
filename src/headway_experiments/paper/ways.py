"""The way in which a model follows a chain: jumping over facts, or passing symbols on.

A model that *jumps* has its query read facts further down the chain (s0←s4, …); in
between, facts may have gathered more than their own pair (pointer doubling). A model
that *passes on* reads the next fact alone, in layer after layer, and symbols come up to
the query one fact a layer (assembly line). Cutting paths, not attention, tells which
way a hop comes: see `Way`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from headway.dynamics import EMERGES_AT
from headway.models import Tap, Transformer
from headway.relations import Relation
from headway.tasks import Batch, Task
from headway.training import TapOf, evaluate, held_out
from headway_experiments.experiment import Runs

SEQUENCES = 256
"""Sequences that every loss is over; no step of the run saw them."""

HALF = 0.5
"""The share of what was learnt of a hop that a cut must cost, for the hop to depend on
it.
"""

LABELS = ("jumps", "passes on", "both", "neither")
Label = str
"""One of `LABELS`."""


@dataclass(frozen=True)
class Way:
    """A model's losses when one kind of path is cut, in all layers and heads at once.

    A path between two facts of a chain, or from the query to a fact, leads some facts
    further. A *jump* leads two or more. A *pass* leads from a fact to the next. (The
    query's path to the first fact is neither: all algorithms need it.) What a cut costs
    a hop is the rise of its loss over what had been learnt of it, mean of the
    candidates less loss: 0 if nothing is lost, 1 if all is, more if what is predicted
    then is worse than the mean. A hop depends on what costs it half or more. A hop that
    is not learnt (its loss is 0.5 or more) has nothing to lose: 0.

    Attributes:
        losses: by hop, of the whole model.
        jumps: what cutting all jumps costs every hop.
        passes: what cutting all passes costs it.
        layers: the layers that some hop depends on, by cutting all attention to other
            positions, one layer at a time.
    """

    losses: Mapping[str, float]
    jumps: Mapping[str, float]
    passes: Mapping[str, float]
    layers: tuple[int, ...]

    @property
    def label(self) -> Label:
        """The algorithm, told by the hops from x_2 on.

        - `neither`: some hop, x_1 among them, is not learnt.
        - `jumps`: every one of them depends on jumps, and x_2 not on passes. (A later
          hop may, too:
          in pointer doubling the fact that is jumped to has first read the next.)
        - `passes on`: every one depends on passes, and none on jumps.
        - `both`: anything else, such as hops that depend on both, or on either alone,
          or one hop on jumps and another on passes.
        """
        if any(loss >= EMERGES_AT for loss in self.losses.values()):
            return "neither"
        later = [hop for hop in self.losses if hop != "x_1"]
        jumped = [self.jumps[hop] >= HALF for hop in later]
        passed = {hop: self.passes[hop] >= HALF for hop in later}
        if all(jumped) and not passed.get("x_2", False):
            return "jumps"
        only_passed = all(passed.values()) and not any(jumped)
        return "passes on" if only_passed else "both"


def way_of(model: Transformer, task: Task, batch: Batch) -> Way:
    """Cuts a model's paths and reads off which way its hops come.

    Args:
        model: of the retrieval problem.
        task: what it answers.
        batch: the sequences.
    """
    mean = task.references()["mean of the candidates"]
    whole = evaluate(model, task, batch)

    def cost(tap: TapOf) -> Tensor:
        """The cost of a cut to every hop; 0 if the hop is not learnt."""
        rise = evaluate(model, task, batch, tap=tap) - whole
        return torch.where(whole < EMERGES_AT, rise / (mean - whole), 0.0)

    def by_hop(numbers: Tensor) -> dict[str, float]:
        return dict(zip(task.hops, numbers.tolist(), strict=True))

    jumps = by_hop(cost(without(task, jumping)))
    passes = by_hop(cost(without(task, passing)))
    layers = []
    for layer in range(model.n_layers):
        is_needed = cost(alone(layer)) >= HALF
        if is_needed.any():
            layers.append(layer)
    return Way(by_hop(whole), jumps, passes, tuple(layers))


def jumping(query: int, key: int) -> bool:
    """True if a path from one fact of a chain to another (0: the query) jumps over a
    fact.
    """
    return key - query >= 2


def passing(query: int, key: int) -> bool:
    """True if it leads from a fact to the next."""
    return query >= 1 and key - query == 1


def without(task: Task, cut: Callable[[int, int], bool]) -> TapOf:
    """Sets attention along some paths to zero, in all layers and heads.

    Args:
        task: the retrieval problem.
        cut: whether a path is cut, by the numbers of the facts that it leads from and
            to; 0 is the query.
    """

    def tap_of(batch: Batch) -> Tap:
        inputs = batch.inputs
        length = batch.inputs.shape[1]
        off = torch.zeros(
            len(inputs), length, length, dtype=torch.bool, device=inputs.device
        )
        for name, edges in task.edges(batch).items():
            if edges.use == "path" and cut(*facts(Relation(name))):
                off |= edges.mask(length)
        return lambda _, pattern: pattern.masked_fill(off[:, None], 0.0)

    return tap_of


def facts(relation: Relation) -> tuple[int, int]:
    """The numbers of the facts that a relation leads from and to; 0 is the query."""
    query, key = (int(role[1:]) for role in relation.ends or ())
    return (query + 1) // 2, (key + 1) // 2


def alone(layer: int) -> TapOf:
    """Sets all attention to other positions to zero in one layer."""

    def tap(at: int, pattern: Tensor) -> Tensor:
        own = torch.eye(pattern.shape[-1], dtype=torch.bool, device=pattern.device)
        return pattern.masked_fill(~own, 0.0) if at == layer else pattern

    return lambda _: tap


def ways(runs: Runs) -> dict[str, Way]:
    """The way of every run, by name."""
    way_by_run = {}
    for name, run in runs.items():
        batch = held_out(run.task, SEQUENCES, run.config.seed, run.device, "ways")
        way_by_run[name] = way_of(run.transformer(), run.task, batch)
    return way_by_run
