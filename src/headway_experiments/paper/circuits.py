"""The differences of circuits: two hops, by seed and by shape."""

import statistics
from collections import Counter
from collections.abc import Mapping
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
    configs: Configs = {}
    for size, changes in SIZES.items():
        for seed in range(20 if size == "usual" else 5):
            config = base(scale, 2, seed)
            configs[f"{size},seed={seed}"] = changed(config, USUAL | changes)
    return configs


def measured(runs: Runs) -> Measures:
    """The heads that circuits of solved runs use, and their differences, by seed and by
    shape.
    """
    solved = {name: is_solved(run) for name, run in runs.items()}
    circuits = {}
    for name, run in runs.items():
        if taken_apart(run) and solved[name]:
            circuits[name] = saved_discovery(run).circuit
    heads = {}
    usual = {}
    for name, circuit in circuits.items():
        heads[name] = float(len(circuit.useful_heads))
        if _size(name) == "usual":
            usual[name] = circuit
    shares = {name: float(is_one) for name, is_one in solved.items()}
    return {
        "circuits_solved": shares,
        "circuits_useful_heads": heads,
        "circuits_own": _own(usual),
        **_above_minimum(runs, usual),
        **_more_than_usual(heads),
    }


def _size(name: str) -> str:
    """Unusual features of a run."""
    return name.partition(",")[0]


def _above_minimum(runs: Runs, circuits: Mapping[str, Circuit]) -> Measures:
    """Heads and layers of circuits, less those that are needed."""
    heads = {}
    layers = dict[str, float]()
    for name, circuit in circuits.items():
        fewest = least_heads(runs[name].config)
        lowest = minimum(runs[name])
        if fewest is not None and lowest is not None:
            heads[name] = float(len(circuit.useful_heads)) - fewest
            layers[name] = float(len(circuit.useful_layers) - lowest)
    return {
        "circuits_heads_above_minimum": heads,
        "circuits_layers_above_minimum": layers,
    }


def _more_than_usual(heads: Mapping[str, float]) -> Measures:
    """Heads of circuits of unusual models, less the mean of usual ones, if there are
    any.
    """
    usual = [count for name, count in heads.items() if _size(name) == "usual"]
    measures: Measures = {}
    for size in SIZES:
        if size == "usual":
            continue
        others = [name for name in heads if _size(name) == size and usual]
        mean = statistics.mean(usual) if others else 0.0
        measures[f"circuits_more_{size}"] = {
            name: heads[name] - mean for name in others
        }
    return measures


def _own(circuits: Mapping[str, Circuit]) -> dict[str, float]:
    """For every circuit, whether no other has the same paths in layers of the same
    rank.

    Which layers of a model do nothing makes no difference, nor how heads of a layer are
    numbered.
    """
    looks = {}
    for name, circuit in circuits.items():
        layers = circuit.useful_layers
        paths = [(layers.index(path.layer), path.relation) for path in circuit.paths]
        looks[name] = frozenset(paths)
    if len(looks) < 2:
        return {}
    count = Counter(looks.values())
    return {name: float(count[look] == 1) for name, look in looks.items()}


RUNS = Group("circuits", "twenty seeds, and other shapes", runs_of, taken_apart=True)
TITLE = "how much circuits differ: twenty seeds, and other shapes"
EXPERIMENTS = (Experiment(__file__, "circuits", TITLE, (RUNS,), measured),)
