"""Does one hop take longer among more chains?"""

from matplotlib.figure import Figure

from headway import Retrieval, RunConfig, TrainingConfig, TransformerConfig
from headway.circuits.emergence import hop_steps
from headway.papers import Configs, Drawn, Experiment, Group, GroupRuns, Measures, claims_beside


def runs(scale: str) -> Configs:
    """A run by number of chains."""
    steps = {"smoke": 8, "small": 400}.get(scale, 2_000)
    model = TransformerConfig(n_layers=2, d_model=16, d_mlp=16, init="orthogonal")
    training = TrainingConfig(steps=steps, batch_size=16, eval_every=4, eval_examples=32)
    return {
        f"chains={n},seed=1": RunConfig(Retrieval(depth=1, n_chains=n), model, training, seed=1)
        for n in (2, 3)
    }


def measured(runs: GroupRuns) -> Measures:
    """The last loss, and the step at which x_1 is learnt, by run."""
    steps = {n: hop_steps(run.metrics(), run.task.hops)["x_1"] for n, run in runs["own"].items()}
    return {
        "own_steps": {name: step for name, step in steps.items() if step is not None},
        "own_loss": {name: run.metrics()[-1]["val_loss"] for name, run in runs["own"].items()},
    }


def drawn(runs: GroupRuns) -> Drawn:
    """Validation losses against the step."""
    figure = Figure()
    axes = figure.subplots()
    for name, run in runs["own"].items():
        lines = run.metrics()
        axes.plot([m["step"] for m in lines], [m["val_loss"] for m in lines], label=name)
    axes.legend()
    return {"own": ("One hop among more chains", figure)}


EXPERIMENTS = (
    Experiment(
        "own",
        "one hop among more chains",
        (Group("own", "two and three chains", runs),),
        measured,
        drawn,
        claims_beside(__file__, "own"),
    ),
)
