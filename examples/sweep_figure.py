"""Many runs of a task of one's own, side by side, and a figure of what came of them.

python sweep_figure.py    # call it again after Ctrl-C or a kill: it goes on
"""

from dataclasses import replace

from matplotlib.figure import Figure

from headway import Run, own, sweep
from headway.sweeps import grid, table
from token_task import Lookup


def recipe(n_pairs: int = 4, seed: int = 0):
    """A config by the number of pairs: what the grid varies."""
    config = own(Lookup(n_pairs=n_pairs), layers=2)
    training = replace(
        config.training, steps=400, cooldown_steps=200, checkpoint_every=0
    )
    model = replace(config.model, n_heads=1)
    return replace(config, model=model, training=training, seed=seed)


if __name__ == "__main__":
    sweep(grid(recipe, {"n_pairs": "2,4", "seed": "0"}), "runs/pairs")
    rows = table("runs/pairs", where=["status=done"])
    figure = Figure(figsize=(4, 3))
    axes = figure.subplots()
    for row in rows:
        lines = Run.open(row["folder"]).metrics()
        steps, losses = [m["step"] for m in lines], [m["val_loss"] for m in lines]
        axes.plot(steps, losses, label=f"{row['task.n_pairs']} pairs")
    axes.set(xlabel="step", ylabel="validation loss (nats)", yscale="log")
    axes.legend()
    figure.savefig("pairs.png", dpi=150, bbox_inches="tight")
    print(len(rows), "runs, drawn in pairs.png")
