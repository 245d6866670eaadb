"""Whether doubling is learnt where no layer is read out but the last: four, five and seven hops.

Models in the fewest layers must jump somewhere to learn all hops. They are asked for 1, 3, 7, …
and D hops (`curricula.Leaps`), or for every number of hops (a mixture of depths).
"""

from typing import Any

from headway.recipes import changed
from headway_experiments.claims import Measures
from headway_experiments.curricula import Leaps
from headway_experiments.experiment import Configs, Experiment, Group, Runs
from headway_experiments.paper.algorithms import ways_measured
from headway_experiments.paper.cells import QUICK, SMOKE, WIDE, Cell
from headway_experiments.paper.ways import ways

SEEDS = range(3100, 3110)
"""The seeds of the judged runs; the setting was chosen with seed 2000."""

HEADS = {"model.n_heads": 4}
LONGER: dict[str, Any] = {**QUICK, **HEADS, "training.steps": 1_500, "training.save_every": 300}
"""The full depth alone left a model of five hops in four layers on its plateau for 680 steps."""

CELLS = tuple(
    Cell(depth, spare, mixture, "" if mixture else "leaps")
    for depth, spare in ((5, 0), (4, 0), (5, 2), (7, 0))
    for mixture in (False, True)
)
"""The fewest layers; and for five hops the six in which they could be passed on."""


def runs_of(scale: str) -> Configs:
    """All cells of a seed before the next seed."""
    seeds, setting, cells = {
        "smoke": (range(1), {**SMOKE, **HEADS}, CELLS[2:4]),
        "small": (SEEDS, LONGER, CELLS),
        "paper": (SEEDS, {**WIDE, **HEADS}, CELLS),
    }[scale]
    leaps = {"training.curriculum": Leaps()}
    return {
        f"{cell},seed={seed}": changed(cell.config(seed, setting), leaps if cell.change else {})
        for seed in seeds
        for cell in cells
    }


def measured(runs: Runs) -> Measures:
    """The way of every run, as in `paper.algorithms`; and of those in the fewest layers, whether
    they learn all hops, and if so whether they jump."""
    found = ways(runs)
    tight = {name: found[name].label for name in runs if Cell.of(name).spare == 0}
    learnt = {name: float(label != "neither") for name, label in tight.items()}
    return ways_measured(found) | {
        "doubling_leaps": {n: got for n, got in learnt.items() if not Cell.of(n).mixture},
        "doubling_mixture": {n: got for n, got in learnt.items() if Cell.of(n).mixture},
        "doubling_jumps": {n: float(tight[n] == "jumps") for n, got in learnt.items() if got},
    }


RUNS = Group("doubling", "jumping where it must be, untaught", runs_of)
TITLE = "four, five and seven hops in the fewest layers, with no layer read out but the last"
EXPERIMENTS = (Experiment(__file__, "doubling", TITLE, (RUNS,), measured),)
