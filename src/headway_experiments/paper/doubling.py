"""Whether doubling is learnt where no layer is read out but the last: four, five and seven hops.

Models in the fewest layers must jump somewhere to learn all hops. They are asked for 1, 3, 7, …
and D hops (`curricula.Leaps`), or for every number of hops (a mixture of depths).
"""

from collections.abc import Mapping
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
    found = {}
    for seed in seeds:
        for cell in cells:
            config = cell.config(seed, setting)
            asked = {} if cell.mixture else {"training.curriculum": Leaps()}
            found[f"{cell},seed={seed}"] = changed(config, asked)
    return found


def measured(runs: Runs) -> Measures:
    """The way of every run, as in `paper.algorithms`, and what the claims are judged by: whether
    runs in the fewest layers learn all hops; and of those that do, whether they jump."""
    found = ways(runs)
    learnt = {name: way.label != "neither" for name, way in found.items()}
    jumps = {name: way.label == "jumps" for name, way in found.items() if learnt[name]}

    def of(numbers: Mapping[str, bool], tight: bool, *mixture: bool) -> dict[str, float]:
        cells = {name: Cell.of(name) for name in numbers}
        chosen = [n for n, c in cells.items() if (c.spare == 0) == tight and c.mixture in mixture]
        return {name: float(numbers[name]) for name in chosen}

    return ways_measured(found) | {
        "doubling_leaps_learnt": of(learnt, True, False),
        "doubling_mixture_learnt": of(learnt, True, True),
        "doubling_tight_jumps": of(jumps, True, False, True),
        "doubling_leaps_jumps": of(jumps, False, False),
        "doubling_mixture_jumps": of(jumps, False, True),
    }


RUNS = Group("doubling", "jumping where it must be, untaught", runs_of)
TITLE = "four, five and seven hops in the fewest layers, with no layer read out but the last"
EXPERIMENTS = (Experiment(__file__, "doubling", TITLE, (RUNS,), measured),)
