"""Measuring a certificate, on sequences that the search for the circuit never saw."""

import math
from collections.abc import Sequence
from itertools import combinations, islice

import torch
from jaxtyping import Float
from torch import Tensor

from headway.circuits.ablation import Bench
from headway.circuits.certificate import BackUp, Certificate, Necessity, Pair
from headway.circuits.mechanism import Circuit, Head, Path, Paths, Uniform
from headway.circuits.patterns import ABLATIONS
from headway.circuits.search import Attention, free_above, losses_twice
from headway.tasks import Conditional, Retrieval, Task
from headway.tasks.labelled import Labelled
from headway.theory import flow_of, proven_minimum

RESAMPLES = 2_000
INTERVAL = 0.95


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
    names = bench.hops
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
        alone=alone(bench, circuit),
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


def alone(bench: Bench, circuit: Circuit) -> dict[Head, float]:
    """The loss with one head replaced by its mechanism and all others as they are, for every head.

    By how much it is above the model's own tells what the head does beyond its mechanism.
    """
    heads = sorted(circuit.mechanisms)
    losses = bench.losses([{head: circuit.mechanisms[head]} for head in heads])
    return dict(zip(heads, losses, strict=True))


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
    cut = [(circuit.without(a).without(b), min(a[0], b[0])) for a, b in pairs]
    losses = losses_twice(bench, cut, threshold)
    return [Pair(*pair, loss) for pair, loss in zip(pairs, losses, strict=True) if loss < math.inf]


def backups(
    bench: Bench, circuit: Circuit, attention: Attention, threshold: float, least: float = 0.3
) -> list[BackUp]:
    """Paths outside the circuit that work as well as one of its own.

    Another head that attends along the same relation (at least `least` of its attention) takes
    the path over: the circuit without the one and with the other stays below the threshold, both
    with every head replaced and with the useful heads above the lower of the two free.
    """
    own = set(circuit.paths)
    swaps = [
        (path, (*head, path[2]))
        for path in circuit.paths
        for head in bench.heads
        if (*head, path[2]) not in own and attention[path[2]][head[0]][head[1]] >= least
    ]
    swapped = [(with_path(circuit.without(path), by), min(path[0], by[0])) for path, by in swaps]
    losses = losses_twice(bench, swapped, threshold)
    return [
        BackUp(*swap, loss) for swap, loss in zip(swaps, losses, strict=True) if loss < math.inf
    ]


def with_path(circuit: Circuit, path: Path) -> Circuit:
    """The circuit with one more path; a head that had none gets it alone."""
    mechanism = circuit.mechanisms[path[:2]]
    old = mechanism.relations if isinstance(mechanism, Paths) else frozenset[str]()
    return circuit.replacing(path[:2], Paths(old | {path[2]}))


def feasibility(task: Task, circuit: Circuit, causal: bool) -> tuple[list[Path] | None, int | None]:
    """The paths that no flow of information allows, and the proven least number of layers."""
    if isinstance(task, Labelled) or not isinstance(task, Retrieval | Conditional):
        return None, None
    flow = flow_of(task.config)
    deepest = max((layer for layer, _, _ in circuit.paths), default=0)
    stages, visible = list(islice(flow.layers(causal), deepest + 1)), flow.visible(causal)
    found = [flow.attends(held, layer) & visible for layer, held in enumerate(stages)]
    infeasible = []
    for path in circuit.paths:
        query, key = (flow.roles.index(role) for role in flow.ends(path))
        if not found[path[0]][query, key]:
            infeasible.append(path)
    return infeasible, proven_minimum(task.config, causal)
