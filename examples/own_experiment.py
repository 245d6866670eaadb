"""Does one hop take longer among more chains?"""

from matplotlib.figure import Figure

from headway import RunConfig, TrainingConfig, TransformerConfig
from headway.dynamics.emergence import hop_steps
from headway.tasks import Retrieval
from headway_experiments.claims import Measures
from headway_experiments.experiment import Configs, Drawn, Experiment, Group, Runs


def runs(scale: str) -> Configs:
    """A run by number of chains."""
    steps = {"smoke": 8, "small": 1_000}.get(scale, 2_000)
    model = TransformerConfig(n_layers=2, d_model=16, d_mlp=16, init="orthogonal")
    training = TrainingConfig(
        steps=steps, batch_size=16, eval_every=4, eval_examples=32
    )
    return {
        f"chains={n},seed=1": RunConfig(
            Retrieval(depth=1, n_chains=n), model, training, seed=1
        )
        for n in (2, 3)
    }


def measured(runs: Runs) -> Measures:
    """The last loss by run; and how much later x_1 is learnt with three chains than
    with two.
    """
    lines = {name: run.metrics() for name, run in runs.items()}
    steps = {name: hop_steps(found, ["x_1"])["x_1"] for name, found in lines.items()}
    learnt = [step for step in steps.values() if step is not None]
    later = {"three less two chains": learnt[1] - learnt[0]} if len(learnt) == 2 else {}
    return {
        "own_loss": {name: found[-1]["val_loss"] for name, found in lines.items()},
        "own_later": later,
    }


def drawn(runs: Runs) -> Drawn:
    """Validation losses against the step."""
    figure = Figure()
    axes = figure.subplots()
    for name, run in runs.items():
        lines = run.metrics()
        axes.plot(
            [m["step"] for m in lines], [m["val_loss"] for m in lines], label=name
        )
    axes.legend()
    return {"own": ("One hop among more chains", figure)}


RUNS = Group("own", "two and three chains", runs)
EXPERIMENTS = (
    Experiment(__file__, "own", "one hop among more chains", (RUNS,), measured, drawn),
)
