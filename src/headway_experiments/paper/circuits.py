"""The differences of circuits: two hops, by seed and by shape."""

import statistics
from collections.abc import Mapping
from itertools import combinations
from typing import Any

from headway.judge import saved_discovery
from headway.recipes import changed
from headway.replace import Circuit
from headway_experiments.experiment import Configs, Experiment, Group, Measures, Runs
from headway_experiments.reading import is_solved, least_heads, minimum, taken_apart
from headway_experiments.recipes import base, smoke

USUAL: dict[str, Any] = {"model.n_layers": 5, "model.d_model": 64, "model.d_mlp": 64}
"""The model that others are compared with, as changes of a scale's config."""

SIZES: dict[str, dict[str, Any]] = {
    "usual": {},
    "layers=8": {"model.n_layers": 8},
    "width=32": {"model.d_model": 32, "model.d_mlp": 32},
    "heads=2": {"model.n_heads": 2},
}
"""Models whose circuits are compared, as changes of the usual one."""


def runs_of(scale: str) -> Configs:
    """Two hops, twenty seeds of one model and five each of others (`SIZES`)."""
    if scale == "smoke":
        return {f"usual,seed={seed}": smoke(3, seed) for seed in (1, 2)}
    return {
        f"{size},seed={seed}": changed(base(scale, 2, seed), USUAL | changes)
        for size, changes in SIZES.items()
        for seed in range(20 if size == "usual" else 5)
    }


def measured(runs: Runs) -> Measures:
    """The heads that circuits of solved runs use, and their differences, by seed and by shape."""
    found = {
        name: saved_discovery(run).circuit
        for name, run in runs.items()
        if taken_apart(run) and is_solved(run)
    }
    heads = {name: float(len(circuit.useful_heads)) for name, circuit in found.items()}
    plain = {name: circuit for name, circuit in found.items() if name.startswith("usual,")}
    more: Measures = {"circuits_heads_above_minimum": {}, "circuits_layers_above_minimum": {}}
    for name, circuit in plain.items():
        least, layers = least_heads(runs[name].config), minimum(runs[name])
        if least is not None and layers is not None:
            more["circuits_heads_above_minimum"][name] = heads[name] - least
            above = float(len(circuit.useful_layers) - layers)
            more["circuits_layers_above_minimum"][name] = above
    for size in list(SIZES)[1:]:
        others = [name for name in found if name.startswith(f"{size},") and plain]
        usual = statistics.mean(heads[name] for name in plain) if others else 0.0
        more[f"circuits_more_{size}"] = {name: heads[name] - usual for name in others}
    return {
        "circuits_solved": {name: float(is_solved(run)) for name, run in runs.items()},
        "circuits_useful_heads": heads,
        "circuits_own": _own(plain),
        **more,
    }


def _own(circuits: Mapping[str, Circuit]) -> dict[str, float]:
    """For every circuit, whether no other has the same paths in layers of the same rank.

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


RUNS = Group("circuits", "twenty seeds, and other shapes", runs_of, taken_apart=True)
TITLE = "how much circuits differ: twenty seeds, and other shapes"
EXPERIMENTS = (Experiment(__file__, "circuits", TITLE, (RUNS,), measured),)
