"""What is measured for the questions that the paper leaves open, from the run folders alone."""

import math
import statistics
from collections.abc import Mapping
from itertools import combinations

from headway.circuits import Circuit, saved_discovery
from headway.circuits.emergence import crossing, hop_steps
from headway.papers import depths
from headway.papers.claims import Measures
from headway.papers.measures.reading import (
    Runs,
    final_loss,
    least_heads,
    rank_correlation,
    taken_apart,
    task_of,
)
from headway.papers.setups import SIZES, WAYS
from headway.tasks import Retrieval
from headway.training import Run, evaluate
from headway.training.curriculum import Growing, Mixture
from headway.training.seeds import generator_for


def first_steps(runs: Runs) -> Measures:
    """Final losses with and without the curriculum."""
    return {
        f"first_{way.replace('-', '_')}_loss": {
            name: final_loss(run) for name, run in runs.items() if name.startswith(f"{way},")
        }
        for way in ("ic", "non-ic")
    }


def depths_against_layers(runs: Runs) -> Measures:
    """What models of so many layers learn against what the theory allows them; the least layers
    that solve D hops in any seed; and when, with the most layers, x_1 is learnt."""
    solved: dict[int, list[int]] = {}
    emerged: dict[int, list[float]] = {}
    most = max((run.config.transformer.n_layers for run in runs.values()), default=0)
    for run in runs.values():
        depth, layers = _depth(run), run.config.transformer.n_layers
        if run.metrics()[-1]["val_loss"] < depths.SOLVED:
            solved.setdefault(depth, []).append(layers)
        first = hop_steps(run.metrics(), run.task.hops)["x_1"]
        if layers == most and first is not None:
            emerged.setdefault(depth, []).append(first)
    least = {depth: min(layers) for depth, layers in sorted(solved.items())}
    proven = {_depth(run): _minimum(run) for run in runs.values()}
    first = {depth: statistics.mean(steps) for depth, steps in sorted(emerged.items())}
    return {
        "depths_beyond": {
            name: float(depths.learnt_hops(run) - depths.reach(run.config))
            for name, run in runs.items()
        },
        "depths_least_layers": {f"D={depth}": float(n) for depth, n in least.items()},
        "depths_above_minimum": {
            f"D={depth}": float(n - minimum)
            for depth, n in least.items()
            if (minimum := proven[depth]) is not None
        },
        "depths_correlation": _correlation(least),
        "depths_first_hop": {f"D={depth}": step for depth, step in first.items()},
        "depths_first_hop_correlation": _correlation(first),
    }


def curricula(runs: Runs) -> Measures:
    """The loss of the answer at the end, and when every hop was learnt, by the way of asking.

    Where only the last symbol is asked for, in sequences of several depths, also the loss at every
    depth at the end: what was learnt short of the answer.
    """
    measured: Measures = {f"curriculum_{way}": {} for way in WAYS}
    measured |= {"curriculum_steps": {}, "curriculum_by_depth": {}}
    for name, run in runs.items():
        way, seed = name.split(",")
        metrics, hops = run.metrics(), run.task.hops
        measured[f"curriculum_{way}"][seed] = metrics[-1]["partial"][hops[-1]]
        measured["curriculum_steps"] |= {
            f"{way} {hop} {seed}": step
            for hop, step in hop_steps(metrics, hops).items()
            if step is not None
        }
        curriculum = run.config.training.curriculum
        if isinstance(curriculum, Mixture | Growing) and curriculum.final:
            losses = enumerate(_by_depth(run), start=1)
            measured["curriculum_by_depth"] |= {f"{way} D={d} {seed}": x for d, x in losses}
    return measured


def _by_depth(run: Run) -> list[float]:
    """The loss of the last weights on held-out sequences of every depth."""
    task, model = run.task, run.transformer()
    generator = generator_for("cpu", run.config.seed, "by depth")
    draws = task.draw(run.config.training.eval_examples, generator)
    batches = [task.shallower(draws, depth) for depth in range(1, task.n_depths + 1)]
    return [evaluate(model, task, batch).mean().item() for batch in batches]


def circuits(runs: Runs) -> Measures:
    """How many heads the circuits of solved runs use and how they differ, by seed and by shape."""
    solved = {
        name: run
        for name, run in runs.items()
        if taken_apart(run) and run.metrics()[-1]["val_loss"] < depths.SOLVED
    }
    found = {name: saved_discovery(run).circuit for name, run in solved.items()}
    heads = {name: float(len(circuit.useful_heads)) for name, circuit in found.items()}
    plain = {name: circuit for name, circuit in found.items() if name.startswith("usual,")}
    measured: Measures = {
        "circuits_solved": {
            name: float(run.metrics()[-1]["val_loss"] < depths.SOLVED) for name, run in runs.items()
        },
        "circuits_useful_heads": heads,
        "circuits_heads_above_minimum": {},
        "circuits_layers_above_minimum": {},
        "circuits_own": _own(plain),
    }
    for name, circuit in plain.items():
        least, minimum = least_heads(solved[name].config), _minimum(solved[name])
        if least is not None and minimum is not None:
            layers = len(circuit.useful_layers)
            measured["circuits_heads_above_minimum"][name] = heads[name] - least
            measured["circuits_layers_above_minimum"][name] = float(layers - minimum)
    usual = statistics.mean(heads[name] for name in plain) if plain else 0.0
    for size in list(SIZES)[1:]:
        measured[f"circuits_more_{size}"] = {
            name: heads[name] - usual for name in found if name.startswith(f"{size},") and plain
        }
    return measured


def lengths(runs: Runs) -> Measures:
    """When x_1's loss passes half of its plateau, and how that grows with the sequence: the slope
    of log(step) against log(positions), seed by seed."""
    emerged: dict[str, float] = {}
    points: dict[int, list[tuple[float, float]]] = {}
    for name, run in runs.items():
        metrics, task = run.metrics(), run.task
        half = task.references()["mean of the candidates"] / 2
        losses = [-line["partial"]["x_1"] for line in metrics]
        step = crossing([line["step"] for line in metrics], losses, -half)
        if step is not None:
            emerged[name] = step
            point = math.log(task.length), math.log(step)
            points.setdefault(run.config.seed, []).append(point)
    slopes = {
        f"seed={seed}": statistics.linear_regression(*zip(*known, strict=True)).slope
        for seed, known in points.items()
        if len(known) > 1
    }
    return {"lengths_steps": emerged, "lengths_exponent": slopes}


def _depth(run: Run) -> int:
    return task_of(run.config, Retrieval).depth


def _minimum(run: Run) -> int | None:
    """The least number of layers by information flow; none if no number is enough."""
    flow = run.config.task.flow()
    return None if flow is None else flow.minimum_layers(run.config.transformer.causal)


def _correlation(by_depth: Mapping[int, float]) -> dict[str, float]:
    """Of depths with something; none if there is nothing to compare."""
    if len(set(by_depth.values())) < 2:
        return {}
    return {"all depths": rank_correlation(list(by_depth), list(by_depth.values()))}


def _own(circuits: Mapping[str, Circuit]) -> dict[str, float]:
    """Of every circuit, whether none of the others has the same paths in layers of the same rank.

    Which layers of a model do nothing makes no difference, nor how heads of a layer are numbered.
    """
    looks = {
        name: frozenset((circuit.useful_layers.index(p.layer), p.relation) for p in circuit.paths)
        for name, circuit in circuits.items()
    }
    own = dict.fromkeys(looks, 1.0)
    for a, b in combinations(looks, 2):
        if looks[a] == looks[b]:
            own[a] = own[b] = 0.0
    return own if len(own) > 1 else {}
