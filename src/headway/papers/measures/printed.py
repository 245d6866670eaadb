"""What is measured for the paper's claims (claims.toml), from the run folders alone."""

import statistics
from collections.abc import Mapping
from itertools import combinations, pairwise

from headway.circuits import Circuit, Discovery, Path, Timeline, saved_discovery, saved_timeline
from headway.circuits.comparison import jaccard
from headway.circuits.routes import trace
from headway.papers.claims import Measures
from headway.papers.measures.reading import (
    Runs,
    final_loss,
    in_order,
    least_heads,
    rank_correlation,
    taken_apart,
    task_of,
)
from headway.tasks import Retrieval
from headway.theory import (
    minimum_layers,
    retrieval_flow,
    theorem_1_bound,
    witness,
)
from headway.training import Run


def theorem_1() -> Measures:
    """The exact minimum against the paper's bound, and a circuit of three layers for D = 3."""
    depths = [*range(1, 65)]
    found = witness(retrieval_flow(3))
    return {
        "minimum_minus_bound": {
            f"D={depth}, {mask}": float(
                minimum_layers(depth, causal=mask == "causal") - theorem_1_bound(depth)
            )
            for depth in depths
            for mask in ("causal", "no mask")
        },
        "witness_heads_d3": {f"D=3, {found.layers} layers": float(found.heads)},
    }


def shared_information() -> Measures:
    """Who shares a piece before any layer, and how what can be reached grows, for D = 5."""
    depth = 5
    flow = retrieval_flow(depth)
    starts = dict(zip(flow.roles, flow.starts, strict=True))
    names = [f"s{i}" for i in range(2 * depth + 1)]
    neighbours = {
        f"{a}, {b}": float(bool(starts[a] & starts[b]) == (abs(i - j) == 1))
        for (i, a), (j, b) in combinations(enumerate(names), 2)
    }
    held = flow.holdings(4, causal=False)
    reached = [[len(pieces) for pieces in stage.values()] for stage in held]
    growth = {
        f"layer {layer}": max(after / before for before, after in zip(low, high, strict=True))
        for layer, (low, high) in enumerate(pairwise(reached))
    }
    return {"neighbours_share": neighbours, "reach_growth": growth}


def by_layers(with_ic: Runs, without: Runs) -> Measures:
    """Section 7: final losses, and which hops are learnt when, by the number of layers.

    That later hops need more layers is seen from the partial losses at the end, averaged over all
    runs: every number of layers counts the same.
    """
    final = {name: final_loss(run) for name, run in with_ic.items()}
    seeds: dict[int, dict[int, Run]] = {}
    for run in with_ic.values():
        seeds.setdefault(run.config.seed, {})[run.config.transformer.n_layers] = run
    correlation = {}
    for seed, runs in sorted(seeds.items()):
        layers = sorted(runs)
        if len(layers) > 1:
            losses = [final_loss(runs[n]) for n in layers]
            correlation[f"seed={seed}"] = rank_correlation(layers, losses)
    partial: dict[str, list[float]] = {}
    for run in with_ic.values():
        for hop, loss in run.metrics()[-1]["partial"].items():
            partial.setdefault(hop, []).append(loss)
    means = {hop: statistics.mean(losses) for hop, losses in partial.items()}
    order = {name: in_order(run) for name, run in with_ic.items()}
    return {
        "ic_final_loss": final,
        "non_ic_final_loss": {name: final_loss(run) for name, run in without.items()},
        "ic_rank_correlation": correlation,
        "ic_partial_loss": means,
        "ic_later_costs_more": {
            f"{hop}, {later}": means[later] - means[hop] for hop, later in pairwise(means)
        },
        "ic_in_chain_order": {name: value for name, value in order.items() if value is not None},
    }


def circuits(runs: Runs) -> Measures:
    """Section 8 and appendices C and E: Transformers A, B and C."""
    found = {name: saved_discovery(run) for name, run in runs.items() if taken_apart(run)}
    measured: Measures = {
        "abc_val_loss": {name: run.metrics()[-1]["val_loss"] for name, run in runs.items()},
        "abc_idle_share": {},
        "abc_useful_heads": {},
        "abc_heads_above_minimum": {},
        "abc_first_joins_pairs": {},
        "abc_replaced_loss": {},
        "abc_path_cut": {},
        "abc_first_uniform": {},
        "abc_path_attention": {},
    }
    for name, discovery in found.items():
        circuit, config = discovery.circuit, runs[name].config
        least = least_heads(config)
        useful = len(circuit.useful_heads)
        measured["abc_idle_share"][name] = 1 - useful / len(circuit.mechanisms)
        measured["abc_useful_heads"][name] = float(useful)
        if least is not None:
            measured["abc_heads_above_minimum"][name] = float(useful - least)
        depth = task_of(runs[name].config, Retrieval).depth
        measured["abc_first_joins_pairs"][name] = float(_first_joins_pairs(circuit, depth))
        measured["abc_replaced_loss"][name] = discovery.replaced_loss
        first = circuit.useful_heads[0] if circuit.useful_heads else None
        for n in discovery.certificate.necessity:
            path = f"{name} {n.path}"
            measured["abc_path_attention"][path] = n.attention
            if n.path.at != first:
                measured["abc_path_cut"][path] = n.loss
            else:
                measured["abc_first_uniform"][name] = n.uniform
    measured["abc_likeness"] = {
        f"{a} and {b}": jaccard(_beyond_first(found[a].circuit), _beyond_first(found[b].circuit))
        for a, b in combinations(found, 2)
    }
    return measured


def emergence(runs: Runs) -> Measures:
    """Section 9 and appendix D: Transformer D."""
    measured: Measures = {
        "d_val_loss": {name: run.metrics()[-1]["val_loss"] for name, run in runs.items()},
        "d_fall_over_plateau": {},
        "d_in_chain_order": {},
        "d_replaced_loss": {},
        "d_twin_paths": {},
        "d_induction_first": {},
        "d_looks_in_order": {},
        "d_reuse": {},
        "d_last_over_first": {},
    }
    for name, run in runs.items():
        if (ratio := _fall_over_plateau(run)) is not None:
            measured["d_fall_over_plateau"][name] = ratio
        if (order := in_order(run)) is not None:
            measured["d_in_chain_order"][name] = order
        if not taken_apart(run):
            continue
        _circuit_of_d(measured, name, run, saved_discovery(run), saved_timeline(run))
    return measured


def _circuit_of_d(
    measured: Measures, name: str, run: Run, discovery: Discovery, timeline: Timeline
) -> None:
    measured["d_replaced_loss"][name] = discovery.replaced_loss
    paths = discovery.circuit.paths
    relations = [path.relation for path in paths]
    twins = {relation for relation in relations if relations.count(relation) > 1}
    measured["d_twin_paths"][name] = float(len(twins))
    born = {history.path: history.born for history in timeline.paths}
    dated = sorted(step for step in born.values() if step is not None)
    if dated:  # what was born by chance at the start counts from the first checkpoint after it
        measured["d_last_over_first"][name] = dated[-1] / max(dated[0], timeline.steps[1])
    routes, hops = trace(run.task, paths), run.task.hops
    if routes is None or len(hops) < 2:
        return
    if (order := _looks_in_order(born)) is not None:
        measured["d_looks_in_order"][name] = float(order)
    measured["d_induction_first"][name] = float(_induction_first(born))
    for early, late in pairwise(hop for hop in hops if hop in routes.needs):
        shared = set(routes.needs[early]) & set(routes.needs[late])
        measured["d_reuse"][f"{name} {early}, {late}"] = float(len(shared))


def _induction_first(born: Mapping[Path, float | None]) -> bool:
    """Whether of all paths that lead from one pair to another s0←s2 was born first."""
    between = {path: step for path, step in born.items() if step is not None and _leaps(path)}
    return bool(between) and min(between, key=between.__getitem__).relation == "s0←s2"


def _numbers(path: Path) -> tuple[int, int]:
    """The numbers of the roles that a path of the retrieval problem leads from and to."""
    query, key = path.relation.ends or ("", "")
    return int(query[1:]), int(key[1:])


def _leaps(path: Path) -> bool:
    """Whether a path of the retrieval problem leads from one pair, or the query, to another."""
    query, key = _numbers(path)
    return (query + 1) // 2 != (key + 1) // 2


def _looks_in_order(born: Mapping[Path, float | None]) -> bool | None:
    """Whether the query came to look at x_1, at x_2, … in this order, be it at their first place
    or the second; none if it looks at one of them only."""
    first: dict[int, float] = {}
    for path, step in born.items():
        query, key = _numbers(path)
        if query == 0 and key >= 2 and step is not None:
            first[key // 2] = min(step, first.get(key // 2, step))
    steps = [first[number] for number in sorted(first)]
    return steps == sorted(steps) if len(steps) > 1 else None


def _fall_over_plateau(run: Run) -> float | None:
    """How long x_1's partial loss takes from 90 % of its plateau to 0.25, against how long it
    stayed above; none if it never falls."""
    metrics, hop = run.metrics(), run.task.hops[0]
    plateau = run.task.references()["mean of the candidates"]
    left = next((m["step"] for m in metrics if m["partial"][hop] < 0.9 * plateau), None)
    down = next((m["step"] for m in metrics if m["partial"][hop] < plateau / 3), None)
    if left is None or down is None:
        return None
    return (down - left) / left


def _first_joins_pairs(circuit: Circuit, depth: int) -> bool:
    """Whether the first useful head joins the two tokens of every pair (whatever else it does)."""
    if not circuit.useful_heads:
        return False
    first = circuit.useful_heads[0]
    relations = {path.relation for path in circuit.paths if path.at == first}
    return {f"s{2 * i}←s{2 * i - 1}" for i in range(1, depth + 1)} <= relations


def _beyond_first(circuit: Circuit) -> list[tuple[int, str]]:
    """What the heads above the first useful one do: rank of the layer, and relation."""
    layers = circuit.useful_layers
    if not layers:
        return []
    first = circuit.useful_heads[0]
    return [(layers.index(p.layer), p.relation) for p in circuit.paths if p.at != first]
