"""Four layers and two hops, with and without the implicit curriculum (section 7)."""

from headway.recipes import changed
from headway.training import Implicit
from headway_experiments.claims import Measures
from headway_experiments.curricula import FinalHop
from headway_experiments.experiment import Configs, Experiment, Group, Runs
from headway_experiments.reading import final_loss
from headway_experiments.recipes import base

WAYS = {"ic": Implicit(), "non-ic": FinalHop()}


def runs_of(scale: str) -> Configs:
    """Four layers and two hops, with and without the implicit curriculum."""
    layers = {} if scale == "smoke" else {"model.n_layers": 4}
    return {
        f"{way},seed={seed}": changed(
            base(scale, 2, seed), {**layers, "training.curriculum": curriculum}
        )
        for way, curriculum in WAYS.items()
        for seed in range({"paper": 8, "small": 3}.get(scale, 1))
    }


def measured(runs: Runs) -> Measures:
    """Final losses with and without the curriculum."""
    losses = {name: final_loss(run) for name, run in runs.items()}
    return {
        f"first_{way.replace('-', '_')}_loss": {
            name: loss for name, loss in losses.items() if name.startswith(f"{way},")
        }
        for way in WAYS
    }


TITLE = "four layers and two hops, with and without the curriculum"
RUNS = Group("first-steps", TITLE, runs_of)
EXPERIMENTS = (Experiment(__file__, "first-steps", TITLE, (RUNS,), measured),)
