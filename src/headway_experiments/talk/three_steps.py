"""Three steps of gradient descent towards an induction head (Bietti et al. 2023, arXiv 2306.00802,
section 5): the second layer's W_O, then its W_K, then the first layer's W_K, each from zero.

While attention is uniform a position sees the mean of what came before. So the first step stores
in W_OV of the second layer that a token is more often followed, at a trigger, by itself than by
others: outputs are in the context, other tokens are there by chance. The second step raises the
scores of the positions that say the output, and what these have in common is that the trigger was
before them. The third step should do the same one layer below, for the place before.
"""

from headway.models import TransformerConfig
from headway.training import Run, RunConfig, TrainingConfig
from headway_experiments.claims import Measures
from headway_experiments.experiment import Configs, Drawn, Experiment, Group, Runs
from headway_experiments.figures import draw_panels
from headway_experiments.reading import Row, by_run, task_of
from headway_experiments.talk.probes import PROBES, probes_panel
from headway_experiments.tasks import Bigrams
from headway_experiments.trained import Trained


def three_steps(scale: str) -> Configs:
    """One trigger twice among tokens that are equally frequent; one large batch a step.

    A step's rate makes no difference to its own probe, as its weight starts from zero, only to
    those of later steps: the first must not make the model certain, and the second must make
    attention sharp. So the second has a rate 2000 times as large.
    """
    length, d_model, batch = {"paper": (32, 256, 65536), "small": (12, 128, 8192)}.get(
        scale, (8, 96, 512)
    )
    return {
        f"seed={seed}": RunConfig(
            Bigrams(
                length=length,
                n_tokens=32,
                exponent=0.0,
                concentration=None,
                asked_at="in-context",
                layout="pair",
            ),
            TransformerConfig(
                n_layers=2, d_model=d_model, n_heads=1, d_mlp=0, norm="none", init="orthonormal"
            ),
            TrainingConfig(
                steps=3,
                batch_size=batch,
                train_examples=None,
                curriculum=Trained("W_O.1 > 2e3 W_K.1 > W_K.0", every=1),
                optimizer="sgd",
                learning_rate=100.0,
                momentum=0.0,
                weight_decay=0.0,
                eval_every=1,
                eval_examples=256,
                checkpoint_every=1,
            ),
            seed=seed,
        )
        for seed in range(1 if scale == "smoke" else 5)
    }


def measured(runs: Runs) -> Measures:
    """The three probes after the three steps of every run."""

    def probed(run: Run) -> Row:
        model, task = run.transformer(), task_of(run.config, Bigrams)
        return {f"three_steps_{probe}": recall(model, task) for probe, recall in PROBES.items()}

    return by_run(runs, probed)


def drawn(runs: Runs) -> Drawn:
    """The probes after every step."""
    if not runs:
        return {}
    title = "Memory-recall probes after each of three gradient steps"
    return {"three-gradient-steps": (title, draw_panels([probes_panel(runs)]))}


RUNS = Group("three-gradient-steps", "the simplified model, one step a weight", three_steps)
TITLE = "three steps of gradient descent, one a weight, towards an induction head"
EXPERIMENTS = (Experiment(__file__, "three-gradient-steps", TITLE, (RUNS,), measured, drawn),)
