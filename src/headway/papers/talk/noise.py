"""In-context bigrams with noise: an MLP keeps what often follows a trigger, attention finds what
only the context tells (Chen, Bruna and Bietti 2024, arXiv 2406.03068)."""

from dataclasses import replace

from headway.models import TransformerConfig
from headway.papers.experiment import Configs, Drawn, Group, Runs, study
from headway.papers.talk.induction import bigrams, texts_of
from headway.papers.talk.measures import noise as measures
from headway.training import RunConfig, TrainingConfig

INNER = "W_Q W_K W_V W_O W_in W_out"
"""Embeddings and read-out stay as they were drawn, and there are no biases that learn: a token's
frequency can then be kept by layers alone."""


def noisy(scale: str) -> Configs:
    """Two layers with MLPs; one trigger, after which the noise token comes half of the time.

    Small: 32 characters, sequences of 32, width 64, Adam, only in-context outputs and the noise in
    their place asked for.
    """
    task = replace(
        bigrams(scale), length=32, n_tokens=32, n_triggers=1, noise=0.5, asked_at="in-context"
    )
    model = TransformerConfig(
        n_layers=2, d_model=64, n_heads=1, d_mlp=64, act_fn="relu", init="orthogonal"
    )
    training = TrainingConfig(
        steps=900,
        batch_size=32,
        train_examples=None,
        trained=INNER,
        learning_rate=5e-3,
        weight_decay=0.0,
        warmup_steps=20,
        cooldown_steps=450,
        eval_every=20,
        eval_examples=256,
        checkpoint_every=30,
    )
    seeds = 3
    if scale == "paper":
        task = replace(task, length=256, n_tokens=65, asked_at="all")
        model = replace(model, d_model=256, d_mlp=1024)
        training = replace(
            training,
            steps=5000,
            batch_size=512,
            optimizer="sgd",
            momentum=0.9,
            learning_rate=0.1,
            warmup_steps=0,
            cooldown_steps=0,
            checkpoint_every=100,
        )
        seeds = 5
    if scale == "smoke":
        training = replace(training, steps=200, cooldown_steps=0)
        seeds = 1
    return {f"seed={seed}": RunConfig(task, model, training, seed=seed) for seed in range(seeds)}


RANKS = (0.0, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0)
"""Fractions of the full rank that are drawn."""


def drawn(runs: Runs) -> Drawn:
    """What the last MLP and attention add for the noise, against the step; and what is said at
    clean outputs with the last MLP cut to low rank."""
    from headway.report.figures.curves_plot import Panel, draw_curves

    found = [measures.histories(run) for run in runs.values()]
    cut = [measures.by_fraction(run, RANKS) for run in runs.values()]
    if not found:
        return {}
    parts = {
        "last MLP": [(steps, mlp) for steps, mlp, _ in found],
        "last attention": [(steps, attention) for steps, _, attention in found],
    }
    says = {
        "the output": [(RANKS, [one[rank].output for rank in RANKS]) for one in cut],
        "the noise token": [(RANKS, [one[rank].noise for rank in RANKS]) for one in cut],
    }
    panels = [
        Panel("For noise, against the output", "margin in logits", parts, {"neither": 0.0}),
        Panel(
            "Clean outputs, last MLP cut",
            "share that says",
            says,
            against="fraction of the full rank",
            top=1.05,
        ),
    ]
    title = "Noise: what the last layer's parts say, and what is said without its MLP"
    return {"noisy-recall": (title, draw_curves(panels))}


RUNS = Group("noisy-recall", "two layers with MLPs, one trigger, half of it noise", noisy)
TITLE = "noise after a trigger: what the last MLP keeps, and what is left without it"
EXPERIMENTS = (
    study(
        *(__file__, "noisy-recall", TITLE, RUNS, measures.noisy_recall, drawn),
        texts=lambda scale: texts_of(noisy(scale)),
    ),
)
