"""The certificate: what speaks for a circuit, measured on sequences that its search never saw."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from headway.circuits.ablation import Bench
from headway.circuits.mechanism import Circuit, Head, Mechanism, Path, Paths, Uniform
from headway.circuits.patterns import ABLATIONS
from headway.circuits.search import Attention, free_above
from headway.tasks import Conditional, Retrieval, Task
from headway.theory import conditional_flow, proven_minimum, retrieval_flow

RESAMPLES = 2_000
INTERVAL = 0.95


@dataclass(frozen=True)
class Necessity:
    """What happens to the circuit when one of its paths is cut.

    Attributes:
        path: layer, head and relation.
        attention: the model's own mean attention along the relation.
        loss: with the whole circuit in place but this path.
        free: the same, with the useful heads of the layers above attending freely.
        uniform: with this path's head uniform instead, as the paper tests its first layer.
    """

    path: Path
    attention: float
    loss: float
    free: float
    uniform: float

    @property
    def worst(self) -> float:
        """The loss without the path, in whichever of the two ways it is missed more."""
        return max(self.loss, self.free)


@dataclass(frozen=True)
class Pair:
    """Two paths that can be dropped together: the circuit is not minimal."""

    first: Path
    second: Path
    loss: float


@dataclass(frozen=True)
class BackUp:
    """A head outside the circuit that can stand in for one of its paths.

    Attributes:
        path: the path of the circuit.
        by: the path that does its work as well.
        loss: with that path in the place of this one.
    """

    path: Path
    by: Path
    loss: float


@dataclass(frozen=True)
class Trial:
    """The same search once more, with another sample or threshold.

    Attributes:
        sample: the name of the held-out sample that was searched on.
        threshold: the loss to stay below.
        paths: of the circuit that was found.
        jaccard: paths in both circuits / paths in either.
    """

    sample: str
    threshold: float
    paths: list[Path]
    jaccard: float


@dataclass(frozen=True)
class Certificate:
    """The evidence for a circuit. All losses are mean squared errors on held-out sequences.

    Attributes:
        intact: the partial losses of the model as it is.
        replaced: the partial losses with every head replaced by its mechanism.
        interval: bootstrap interval of the loss with every head replaced, over sequences.
        intact_interval: the same of the model as it is.
        variants: the loss with every head replaced, by what stands in rows without a path.
        necessity: for every path, the losses when it alone is cut.
        droppable: the pairs of paths that could be dropped together.
        pairs: how many pairs were tried.
        backups: paths outside the circuit that could stand in for paths in it.
        trials: the same search on other samples and at other thresholds.
        infeasible: paths between positions that share no piece at their layer, whatever the
            layers below did (section 5 of the paper); none if the task has no such theory.
        minimum: the proven least number of layers; none if the task has no such theory.
        sequences: how many held-out sequences the losses are over.
    """

    intact: dict[str, float]
    replaced: dict[str, float]
    interval: tuple[float, float]
    intact_interval: tuple[float, float]
    variants: dict[str, float]
    necessity: list[Necessity]
    droppable: list[Pair]
    pairs: int
    backups: list[BackUp]
    trials: list[Trial]
    infeasible: list[Path] | None
    minimum: int | None
    sequences: int

    @property
    def intact_loss(self) -> float:
        """The loss of the model as it is."""
        return sum(self.intact.values()) / len(self.intact)

    @property
    def replaced_loss(self) -> float:
        """The loss with every head replaced."""
        return sum(self.replaced.values()) / len(self.replaced)

    def stability(self, path: Path) -> float | None:
        """In which part of the trials a path was found again; none without trials."""
        if not self.trials:
            return None
        return sum(path in trial.paths for trial in self.trials) / len(self.trials)

    def to_json(self) -> dict[str, Any]:
        """The certificate as JSON data."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Certificate":
        """What `to_json` wrote."""

        def path(entry: Sequence[Any]) -> Path:
            layer, head, relation = entry
            return layer, head, relation

        changed: dict[str, Any] = {
            "interval": tuple(data["interval"]),
            "intact_interval": tuple(data["intact_interval"]),
            "necessity": [Necessity(**{**n, "path": path(n["path"])}) for n in data["necessity"]],
            "droppable": [
                Pair(path(p["first"]), path(p["second"]), p["loss"]) for p in data["droppable"]
            ],
            "backups": [BackUp(path(b["path"]), path(b["by"]), b["loss"]) for b in data["backups"]],
            "trials": [
                Trial(**{**t, "paths": [path(p) for p in t["paths"]]}) for t in data["trials"]
            ],
            "infeasible": data["infeasible"] and [path(p) for p in data["infeasible"]],
        }
        if data["infeasible"] == []:
            changed["infeasible"] = []
        return cls(**{**data, **changed})


def certify(
    bench: Bench,
    circuit: Circuit,
    attention: Attention,
    threshold: float,
    without_necessity: bool = False,
) -> Certificate:
    """Measures a circuit; `trials` are left empty.

    Args:
        bench: with sequences that the search for the circuit did not see.
        circuit: a mechanism for every head.
        attention: mean attention along every relation, by relation.
        threshold: the loss below which the circuit counts as doing what the model does.
        without_necessity: leaves `necessity` empty, as it is measured elsewhere.
    """
    names = bench.task.hop_names
    intact, replaced = bench.errors([{}, circuit])
    feasible, minimum = feasibility(bench.task, circuit, bench.model.config.causal)
    pairs = list(combinations(circuit.paths, 2))
    return Certificate(
        intact=dict(zip(names, intact.mean(0).tolist(), strict=True)),
        replaced=dict(zip(names, replaced.mean(0).tolist(), strict=True)),
        interval=bootstrap(replaced.mean(1)),
        intact_interval=bootstrap(intact.mean(1)),
        variants=variants(bench, circuit),
        necessity=[] if without_necessity else necessity(bench, circuit, attention),
        droppable=droppable(bench, circuit, pairs, threshold),
        pairs=len(pairs),
        backups=backups(bench, circuit, attention, threshold),
        trials=[],
        infeasible=feasible,
        minimum=minimum,
        sequences=bench.sequences,
    )


def bootstrap(losses: Float[Tensor, " sequence"]) -> tuple[float, float]:
    """The interval in which the mean lies, resampling sequences; the same draws every time."""
    generator = torch.Generator().manual_seed(0)
    count = len(losses)
    drawn = torch.randint(count, (RESAMPLES, count), generator=generator)
    means = losses.cpu()[drawn].mean(1)
    tail = (1 - INTERVAL) / 2
    low, high = means.quantile(torch.tensor([tail, 1 - tail])).tolist()
    return low, high


def variants(bench: Bench, circuit: Circuit) -> dict[str, float]:
    """The loss with every head replaced, for every way to fill rows that have no path."""
    losses = {bench.patterns.rows: bench.loss(circuit)}
    for rows in ABLATIONS:
        if rows not in losses:
            other = Bench(bench.model, bench.task, bench.batch, rows)
            losses[rows] = other.loss(circuit)
    return {rows: losses[rows] for rows in ABLATIONS}


def necessity(bench: Bench, circuit: Circuit, attention: Attention) -> list[Necessity]:
    """What cutting each path costs (the paper's step 6)."""
    paths = circuit.paths
    cut = [circuit.without(path) for path in paths]
    candidates = [
        *cut,
        *(free_above(without, path[0]) for without, path in zip(cut, paths, strict=True)),
        *(circuit.replacing(path[:2], Uniform()) for path in paths),
    ]
    losses, n = bench.losses(candidates), len(paths)
    return [
        Necessity(path, attention[path[2]][path[0]][path[1]], *losses[i::n])
        for i, path in enumerate(paths)
    ]


def droppable(
    bench: Bench, circuit: Circuit, pairs: Sequence[tuple[Path, Path]], threshold: float
) -> list[Pair]:
    """The pairs of paths without which the loss stays below the threshold.

    Both with every head replaced and with the useful heads above the lower of the two free.
    """
    cut = [circuit.without(first).without(second) for first, second in pairs]
    forced = bench.losses(cut, threshold)
    left = [i for i, loss in enumerate(forced) if loss < threshold]
    freed = [free_above(cut[i], min(pairs[i][0][0], pairs[i][1][0])) for i in left]
    losses = bench.losses(freed, threshold)
    return [
        Pair(*pairs[i], max(forced[i], loss))
        for i, loss in zip(left, losses, strict=True)
        if loss < threshold
    ]


def backups(
    bench: Bench, circuit: Circuit, attention: Attention, threshold: float, least: float = 0.3
) -> list[BackUp]:
    """Paths outside the circuit that work as well as one of its own.

    Another head that attends along the same relation (at least `least` of its attention) takes
    the path over: the circuit without the one and with the other stays below the threshold, both
    with every head replaced and with the useful heads above the lower of the two free.
    """
    swaps: list[tuple[Path, Path, Circuit]] = []
    own = set(circuit.paths)
    for path in circuit.paths:
        along = attention[path[2]]
        for layer, head in bench.heads:
            by = (layer, head, path[2])
            if by not in own and along[layer][head] >= least:
                swaps.append((path, by, with_path(circuit.without(path), by)))
    forced = bench.losses([swapped for _, _, swapped in swaps], threshold)
    left = [(swap, loss) for swap, loss in zip(swaps, forced, strict=True) if loss < threshold]
    freed: list[dict[Head, Mechanism]] = [
        free_above(swapped, min(path[0], by[0])) for (path, by, swapped), _ in left
    ]
    losses = bench.losses(freed, threshold)
    return [
        BackUp(path, by, max(loss, free))
        for ((path, by, _), loss), free in zip(left, losses, strict=True)
        if free < threshold
    ]


def with_path(circuit: Circuit, path: Path) -> Circuit:
    """The circuit with one more path; a head that had none gets it alone."""
    mechanism = circuit.mechanisms[path[:2]]
    old = mechanism.relations if isinstance(mechanism, Paths) else frozenset[str]()
    return circuit.replacing(path[:2], Paths(old | {path[2]}))


def feasibility(task: Task, circuit: Circuit, causal: bool) -> tuple[list[Path] | None, int | None]:
    """The paths that no flow of information allows, and the proven least number of layers."""
    match task:
        case Retrieval() if type(task) is Retrieval:
            flow = retrieval_flow(task.config.depth, task.config.order)
        case Conditional():
            flow = conditional_flow(task.config.order)
        case _:
            return None, None
    deepest = max((layer for layer, _, _ in circuit.paths), default=0)
    held = flow.holdings(deepest, causal)
    infeasible = []
    for path in circuit.paths:
        query, _, key = path[2].partition("→")
        if not held[path[0]][query] & held[path[0]][key]:
            infeasible.append(path)
    return infeasible, proven_minimum(task.config, causal)
