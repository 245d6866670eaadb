"""Whether doubling is learnt where no layer is read out but the last: four, five and seven hops.

Models in the fewest layers, ⌊log₂ D⌋ + 2, must jump somewhere to learn all hops; models of D + 1
layers may pass symbols on instead. How the way of a model is told is in `paper.ways`.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

from headway.recipes import changed
from headway.theory import closed_form
from headway.training import Curriculum, Mixture, RunConfig, fast
from headway_experiments.claims import Measures
from headway_experiments.curricula import Leaps
from headway_experiments.experiment import Configs, Drawn, Experiment, Group, Runs
from headway_experiments.paper import algorithms
from headway_experiments.paper.cells import QUICK, SMOKE, WIDE
from headway_experiments.paper.ways import LABELS, Label, ways

SEEDS = range(3100, 3110)
"""The seeds of the judged runs; the setting was chosen with seed 2000."""

ASKED: dict[str, Curriculum] = {"leaps": Leaps(), "mixture": Mixture()}
"""Sequences of 1, 3, 7, … hops and of all; or of every depth."""

HEADS = {"model.n_heads": 4}
"""Heads in a layer, at every scale."""

LONGER: dict[str, Any] = {
    **QUICK,
    "training.steps": 1_500,
    "training.save_every": 300,
    "training.weight_decay": 0.05,
}
"""The setting of `paper.cells`, with more steps. The full depth alone left a model of five hops in
four layers on its plateau for 680 steps, with as many heads."""


class Setting(NamedTuple):
    """A setting, which has a run per seed.

    Attributes:
        depth: D, hops.
        layers: of the model.
        asked: a way of asking, by its name in `ASKED`.
    """

    depth: int
    layers: int
    asked: str

    def __str__(self):
        return f"D={self.depth},layers={self.layers},{self.asked}"

    @classmethod
    def of(cls, run: str) -> Self:
        """The setting of a run, by its name."""
        depth, layers, asked, _ = run.split(",")
        return cls(int(depth[2:]), int(layers[7:]), asked)

    @property
    def tight(self) -> bool:
        """Whether a model has the fewest layers that its hops take."""
        return self.layers == closed_form(self.depth)

    def config(self, seed: int, setting: dict[str, Any]) -> RunConfig:
        """A run of it, in the setting of a scale."""
        base = fast(self.depth, seed, self.layers, deepening=False)
        return changed(base, setting | HEADS | {"training.curriculum": ASKED[self.asked]})


PLAN = tuple(
    Setting(depth, layers, asked)
    for depth, layers in ((5, 4), (4, 4), (5, 6), (7, 4))
    for asked in ASKED
)
"""In the fewest layers, and of five hops in D + 1."""


def runs_of(scale: str) -> Configs:
    """All settings of a seed before the next seed."""
    seeds, setting, plan = {
        "smoke": (range(1), SMOKE, PLAN[2:4]),
        "small": (SEEDS, LONGER, PLAN),
        "paper": (SEEDS, WIDE, PLAN),
    }[scale]
    return {f"{one},seed={seed}": one.config(seed, setting) for seed in seeds for one in plan}


def measured(runs: Runs) -> Measures:
    """The way of every run (see `ways.Way`), and what the claims are judged by.

    `doubling_label` numbers the labels in the order of `LABELS`; costs are of hops from x_2 on.
    """
    found = ways(runs)
    measured = algorithms.ways_measured(found, "doubling")
    learnt = {name: way.label != "neither" for name, way in found.items()}
    jumps = {name: float(way.label == "jumps") for name, way in found.items() if learnt[name]}

    def chosen(tight: bool, numbers: Mapping[str, float], *asked: str) -> dict[str, float]:
        """Of runs in the fewest layers, or in more, that were asked in one of some ways."""
        of = {name: Setting.of(name) for name in numbers}
        return {
            name: float(numbers[name])
            for name, one in of.items()
            if one.tight == tight and one.asked in asked
        }

    for asked in ASKED:
        measured[f"doubling_{asked}_learnt"] = chosen(True, learnt, asked)
        measured[f"doubling_{asked}_jumps"] = chosen(False, jumps, asked)
    measured["doubling_tight_jumps"] = chosen(True, jumps, *ASKED)
    return measured


def drawn(runs: Runs) -> Drawn:
    """The shares that are learnt, and that jump or pass on, by depth and layers."""
    labels = measured(runs)["doubling_label"]
    groups: dict[str, dict[str, dict[Label, int]]] = {}
    for name, label in labels.items():
        one = Setting.of(name)
        title = f"D = {one.depth}, {one.layers} layers"
        counts = groups.setdefault(title, {}).setdefault(one.asked, dict.fromkeys(LABELS, 0))
        counts[LABELS[int(label)]] += 1
    return {"doubling": ("Doubling without being taught it", algorithms.shares_drawn(groups))}


RUNS = Group("doubling", "jumping where it must be, untaught", runs_of)
TITLE = "four, five and seven hops in the fewest layers, with no layer read out but the last"
EXPERIMENTS = (Experiment(__file__, "doubling", TITLE, (RUNS,), measured, drawn),)
