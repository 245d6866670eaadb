"""Measuring the evidence, on sequences that the search for the circuit never saw."""

import math
from collections.abc import Sequence
from itertools import combinations, islice

import torch
from jaxtyping import Float
from torch import Tensor

from headway.circuits.ablation import Bench
from headway.circuits.candidates import Attention
from headway.circuits.evidence_records import BackUp, Evidence, Necessity, Pair
from headway.circuits.likeness import likenesses
from headway.circuits.mechanism import Circuit, Head, Paths, Uniform
from headway.circuits.mlps import mlps_of
from headway.circuits.patterns import ABLATIONS
from headway.circuits.search import free_above, losses_twice
from headway.paths import Path
from headway.theory import Flow

RESAMPLES = 2_000
INTERVAL = 0.95


def evidence_for(
    bench: Bench,
    circuit: Circuit,
    attention: Attention,
    threshold: float,
) -> Evidence:
    """Measures a circuit on a bench. `trials` (searches on other samples) are left empty.

    Args:
        bench: with sequences that the search for the circuit did not see.
        circuit: a mechanism for every head.
        attention: mean attention along every relation, by relation.
        threshold: the loss below which the circuit counts as solving the task.
    """
    names = bench.hops
    intact, replaced = bench.errors([{}, circuit])
    flow = bench.task.flow()
    causal = bench.patterns.causal
    pairs = list(combinations(circuit.paths, 2))
    return Evidence(
        intact=dict(zip(names, intact.mean(0).tolist(), strict=True)),
        replaced=dict(zip(names, replaced.mean(0).tolist(), strict=True)),
        interval=bootstrap(replaced.mean(1)),
        intact_interval=bootstrap(intact.mean(1)),
        variants=variants(bench, circuit),
        necessity=necessity(bench, circuit, attention),
        droppable=droppable(bench, circuit, pairs, threshold),
        pairs=len(pairs),
        backups=backups(bench, circuit, attention, threshold),
        trials=[],
        infeasible=None if flow is None else infeasible(flow, circuit, causal),
        minimum=None if flow is None else flow.minimum_layers(causal),
        sequences=bench.sequences,
        alone=alone(bench, circuit),
        likeness=likenesses(bench, circuit),
        mlps=mlps_of(bench, circuit, threshold),
    )


def bootstrap(losses: Float[Tensor, " sequence"]) -> tuple[float, float]:
    """The 95 % bootstrap interval of the mean over sequences; the same draws every time."""
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
    known = [rows for rows in ABLATIONS if rows != "corrupted" or bench.task.is_corrupted]
    for rows in known:
        if rows not in losses:
            other = Bench(bench.model, bench.task, bench.batch, rows)
            losses[rows] = other.loss(circuit)
    return {rows: losses[rows] for rows in known}


def alone(bench: Bench, circuit: Circuit) -> dict[Head, float]:
    """The loss with one head replaced by its mechanism and all others as they are, for every head.

    Its excess over the model's own loss tells what the head does beyond its mechanism.
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
        *(free_above(without, path.layer) for without, path in zip(cut, paths, strict=True)),
        *(circuit.replacing(path.at, Uniform()) for path in paths),
    ]
    losses, n = bench.losses(candidates), len(paths)
    return [
        Necessity(path, attention[path.relation][path.layer][path.head], *losses[i::n])
        for i, path in enumerate(paths)
    ]


def droppable(
    bench: Bench, circuit: Circuit, pairs: Sequence[tuple[Path, Path]], threshold: float
) -> list[Pair]:
    """The pairs of paths without which the loss stays below the threshold.

    Both with every head replaced and with the useful heads above the lower of the two free.
    """
    cut = [(circuit.without(a).without(b), min(a.layer, b.layer)) for a, b in pairs]
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
        (path, Path(*head, path.relation))
        for path in circuit.paths
        for head in bench.heads
        if (*head, path.relation) not in own and attention[path.relation][head[0]][head[1]] >= least
    ]
    swapped = [
        (with_path(circuit.without(path), by), min(path.layer, by.layer)) for path, by in swaps
    ]
    losses = losses_twice(bench, swapped, threshold)
    return [
        BackUp(*swap, loss) for swap, loss in zip(swaps, losses, strict=True) if loss < math.inf
    ]


def with_path(circuit: Circuit, path: Path) -> Circuit:
    """The circuit with one more path; a head that had none gets it alone."""
    mechanism = circuit.mechanisms[path.at]
    old = mechanism.relations if isinstance(mechanism, Paths) else frozenset[str]()
    return circuit.replacing(path.at, Paths(old | {path.relation}))


def infeasible(flow: Flow, circuit: Circuit, causal: bool) -> list[Path]:
    """The paths between roles that share no piece at their layer, whatever is below.

    Paths that are not between roles of the flow are left out.
    """
    deepest = max((path.layer for path in circuit.paths), default=0)
    visible = flow.visible(causal)
    found = [
        flow.attends(held, layer) & visible
        for layer, held in enumerate(islice(flow.layers(causal), deepest + 1))
    ]
    impossible = []
    for path in circuit.paths:
        if not {*(path.relation.ends or (None,))} <= {*flow.roles}:
            continue
        query, key = (flow.roles.index(role) for role in flow.ends(path))
        if not found[path.layer][query, key]:
            impossible.append(path)
    return impossible
