"""In-context bigrams: why it takes two layers, and how an induction head is learnt as three
associative memories (Bietti et al. 2023, arXiv 2306.00802).

The simplified model has two layers of one head, no norms and no MLPs. W_Q is the identity,
embeddings, places, read-out, W_V and the first W_O are random and stay. W_K of both layers and the
second W_O start at zero and are trained. Only in-context outputs are asked for.

The source prints its rates for embeddings of length √d; here they have length 1, which multiplies
rates by d. As printed, a score is divided by √d here too.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace

from headway.errors import require
from headway.models import TransformerConfig
from headway.training import RunConfig, TrainingConfig
from headway_experiments.claims import claims_beside
from headway_experiments.experiment import Configs, Drawn, Experiment, Group, GroupRuns, Runs
from headway_experiments.talk.measures import bigrams as measures
from headway_experiments.talk.measures.probes import draw_probes
from headway_experiments.tasks import Bigrams
from headway_experiments.tasks.corpus import PLAYS, SYNTHETIC, has_plays, sha256_of
from headway_experiments.trained import Trained

_corpus: ContextVar[str | None] = ContextVar("corpus", default=None)

JOINT = "W_K.0 W_K.1 W_O.1"
STAGES = "W_O.1 > W_K.1 > W_K.0"


@contextmanager
def reading(corpus: str | None) -> Iterator[None]:
    """Bigrams are those of a text for the time being, if one is given.

    Args:
        corpus: a file in UTF-8, plays or synthetic.

    Raises:
        HeadwayError: if the name is empty.
    """
    require(corpus != "", "corpus", corpus, "a file, plays or synthetic")
    token = _corpus.set(corpus)
    try:
        yield
    finally:
        _corpus.reset(token)


def bigrams(scale: str) -> Bigrams:
    """Bigrams of the text that is being read (see `reading`), as it is now; else of Shakespeare's
    plays if they are installed and this is no smoke test, else of the synthetic chain."""
    usual = PLAYS if has_plays() and scale != "smoke" else SYNTHETIC
    corpus = _corpus.get() or usual
    return Bigrams(corpus=corpus, sha256=sha256_of(corpus))


def one_layer(scale: str) -> Configs:
    """Ordinary transformers of one layer."""
    return _ordinary(scale, 1)


def two_layers(scale: str) -> Configs:
    """Ordinary transformers of two layers."""
    return _ordinary(scale, 2)


def joint(scale: str) -> Configs:
    """Simplified models, all three weights trained together; checkpoints every few steps."""
    return {f"seed={seed}": _simple(scale, JOINT, seed) for seed in _seeds(scale)}


def stages(scale: str) -> Configs:
    """Simplified models, one weight trained after the other, in the same number of steps."""
    return {f"seed={seed}": _simple(scale, STAGES, seed) for seed in _seeds(scale)}


def _ordinary(scale: str, n_layers: int) -> Configs:
    """As `fast` trains: maps that start orthogonal, Muon.

    Small: sequences of 64, and only in-context outputs are asked for.
    """
    task = replace(bigrams(scale), length=64, asked_at="in-context")
    model = TransformerConfig(
        n_layers=n_layers, d_model=64, n_heads=1, act_fn="relu", init="orthogonal"
    )
    training = TrainingConfig(
        steps=1500,
        batch_size=32,
        train_examples=None,
        optimizer="muon",
        learning_rate=3e-3,
        betas=(0.9, 0.95),
        weight_decay=0.0,
        warmup_steps=20,
        cooldown_steps=750,
        eval_every=50,
        eval_examples=256,
        checkpoint_every=100,
    )
    if scale == "paper":
        task = replace(task, length=256, asked_at="all")
        model = replace(model, d_model=256, n_heads=4)
        training = replace(training, steps=5000, batch_size=128, cooldown_steps=2500)
    if scale == "smoke":
        task = replace(task, length=24, n_tokens=12, n_triggers=2)
        model = replace(model, d_model=32, d_mlp=32)
        short = {"steps": 250, "batch_size": 32, "cooldown_steps": 120, "eval_examples": 128}
        training = replace(training, **short)
    return {f"seed={seed}": RunConfig(task, model, training, seed=seed) for seed in _seeds(scale)}


def _simple(scale: str, trained: str, seed: int) -> RunConfig:
    """Small: T = 32, width 128, batches of 32."""
    task = replace(bigrams(scale), length=32, asked_at="in-context")
    d_model, steps, rate, batch = 128, 300, 20.0, 32
    if scale == "paper":
        task = replace(task, length=256)
        d_model, steps, rate, batch = 256, 1000, 0.03 * 256, 512
    if scale == "smoke":
        task = replace(task, length=16, n_tokens=12, n_triggers=2)
        d_model, steps = 32, 60
    together = trained == JOINT
    return RunConfig(
        task,
        TransformerConfig(
            n_layers=2, d_model=d_model, n_heads=1, d_mlp=0, norm="none", init="associative"
        ),
        TrainingConfig(
            steps=steps,
            batch_size=batch,
            train_examples=None,
            curriculum=Trained(trained, every=max(1, steps // 3)),
            optimizer="sgd",
            learning_rate=rate,
            momentum=0.9,
            weight_decay=0.0,
            eval_every=10,
            eval_examples=256,
            checkpoint_every=4 if together else 0,
        ),
        seed=seed,
    )


def _seeds(scale: str) -> Iterable[int]:
    return {"paper": range(5), "small": range(3)}.get(scale, range(1))


def drawn(runs: GroupRuns) -> Drawn:
    """One layer against two; and the probes of the three memories, trained together."""
    from headway_experiments.figures import Panel, curves, draw_panels

    drawn: Drawn = {}
    ordinary = {
        "one layer": runs["induction-one-layer"],
        "two layers": runs["induction-two-layers"],
    }
    ways = {"together": runs["induction-joint"], "one by one": runs["induction-stages"]}
    panels = [
        Panel(title, curves(_losses(known)), y="loss of in-context outputs, nats")
        for title, known in (("Ordinary transformers", ordinary), ("Three weights", ways))
        if any(known.values())
    ]
    if panels:
        title = "In-context outputs: losses against the step"
        drawn["induction-losses"] = title, draw_panels(panels)
    if runs["induction-joint"]:
        title = "Memory-recall probes of the three trained weights"
        drawn["induction-recall"] = title, draw_probes(runs["induction-joint"], "steps")
    return drawn


def _losses(known: dict[str, Runs]) -> dict[str, list[tuple[list[int], list[float]]]]:
    """The held-out loss of in-context outputs of every run, by what it is called."""
    curves = {}
    for name, runs in known.items():
        curves[name] = [
            (
                [line["step"] for line in run.metrics()],
                [line["partial"]["in-context"] for line in run.metrics()],
            )
            for run in runs.values()
        ]
    return curves


EXPERIMENTS = (
    Experiment(
        "induction",
        "induction heads: two layers against one, and the order in which they are learnt",
        (
            Group("induction-one-layer", "ordinary transformers of one layer", one_layer),
            Group(
                "induction-two-layers",
                "ordinary transformers of two layers",
                two_layers,
                taken_apart=True,
                threshold=0.2,
            ),
            Group("induction-joint", "the simplified model, trained jointly", joint),
            Group("induction-stages", "the simplified model, one weight after the other", stages),
        ),
        measures.induction,
        drawn,
        claims_beside(__file__, "induction"),
    ),
)
