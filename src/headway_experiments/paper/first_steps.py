"""Four layers and two hops, with and without the implicit curriculum (section 7)."""

from headway.recipes import changed
from headway.training import Implicit
from headway_experiments.claims import Measures
from headway_experiments.curricula import FinalHop
from headway_experiments.experiment import Configs, Group, Runs, study
from headway_experiments.reading import final_loss
from headway_experiments.scales import base


def runs_of(scale: str) -> Configs:
    """Four layers and two hops, with and without the implicit curriculum."""
    ways = {"ic": Implicit(), "non-ic": FinalHop()}
    match scale:
        case "paper":
            seeds, four = range(8), {"model.n_layers": 4}
        case "small":
            seeds, four = range(3), {"model.n_layers": 4}
        case _:
            seeds, four = range(1), {}
    return {
        f"{way},seed={seed}": changed(
            base(scale, 2, seed), {**four, "training.curriculum": curriculum}
        )
        for way, curriculum in ways.items()
        for seed in seeds
    }


def measured(runs: Runs) -> Measures:
    """Final losses with and without the curriculum."""
    return {
        f"first_{way.replace('-', '_')}_loss": {
            name: final_loss(run) for name, run in runs.items() if name.startswith(f"{way},")
        }
        for way in ("ic", "non-ic")
    }


RUNS = Group("first-steps", "four layers, two hops, with and without the curriculum", runs_of)
TITLE = "four layers and two hops, with and without the curriculum"
EXPERIMENTS = (study(__file__, "first-steps", TITLE, RUNS, measured),)
