"""In-context bigrams with noise: an MLP keeps what often follows a trigger, attention
finds what only the context tells (Chen, Bruna and Bietti 2024, arXiv 2406.03068).

Measured is which part of a model says noise, and what is left when that part is cut.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from headway.dynamics import crossing
from headway.models import Transformer, TransformerConfig
from headway.tasks import IGNORE_INDEX, Batch
from headway.training import Run, RunConfig, predictions
from headway_experiments.experiment import Configs, Drawn, Experiment, Group, Runs
from headway_experiments.figures import Panel, curves, draw_panels
from headway_experiments.reading import Row, by_run, task_of
from headway_experiments.recipes import by_seed, moving
from headway_experiments.talk.induction import unseen
from headway_experiments.tasks import Bigrams
from headway_experiments.trained import Trained
from headway_experiments.truncation.cuts import Cut, Truncation
from headway_experiments.truncation.weights import matrices

INNER = "W_Q W_K W_V W_O W_in W_out"
"""Embeddings and read-out stay as they were drawn, and there are no biases that learn:
a token's frequency can then be kept by layers alone."""


def noisy(scale: str) -> Configs:
    """Two layers with MLPs; one trigger, after which the noise token comes half of the
    time.

    Small: 32 characters, sequences of 32, width 64, Adam, only in-context outputs and
    the noise in their place asked for.
    """
    task = Bigrams(
        length=32, n_tokens=32, n_triggers=1, noise=0.5, asked_at="in-context"
    )
    model = TransformerConfig(
        n_layers=2, d_model=64, n_heads=1, d_mlp=64, act_fn="relu", init="orthogonal"
    )
    every = {"eval_every": 20, "checkpoint_every": 30}
    training = moving(
        Trained(INNER), 900, 5e-3, 32, warmup_steps=20, cooldown_steps=450, **every
    )
    seeds = 10
    if scale == "paper":
        task = replace(task, length=256, n_tokens=65, asked_at="all")
        model = replace(model, d_model=256, d_mlp=1024)
        plain = {
            "optimizer": "sgd",
            "momentum": 0.9,
            "learning_rate": 0.1,
            "warmup_steps": 0,
        }
        longer = {
            "steps": 5000,
            "batch_size": 512,
            "cooldown_steps": 0,
            "checkpoint_every": 100,
        }
        training = replace(training, **plain, **longer)
        seeds = 5
    if scale == "smoke":
        training = replace(training, steps=200, cooldown_steps=0)
        seeds = 1
    return by_seed(RunConfig(task, model, training), range(seeds))


FRACTIONS = (1.0, 0.2, 0.1, 0.0)
"""The fraction of the full rank to which the weights of the last MLP are cut."""
RESAMPLES = 1000
DATED = 256
"""Sequences on which the margins of every checkpoint are measured."""


@dataclass(frozen=True)
class Said:
    """A model's likeliest tokens where an in-context output follows.

    Attributes:
        outputs: how often it says the sequence's output, by sequence.
        noises: how often it says the noise token.
        asked: at how many positions.
    """

    outputs: Float[Tensor, " sequence"]
    noises: Float[Tensor, " sequence"]
    asked: Float[Tensor, " sequence"]

    @property
    def output(self) -> float:
        """The share of these positions at which it says the output."""
        return (self.outputs.sum() / self.asked.sum()).item()

    @property
    def noise(self) -> float:
        """The share at which it says the noise token."""
        return (self.noises.sum() / self.asked.sum()).item()


def said(model: Transformer, task: Bigrams, batch: Batch) -> Said:
    """The likeliest tokens of a model at clean in-context outputs."""
    assert task.noise_token is not None  # the task is one with noise
    wanted = batch.targets[..., task.hops.index("in-context")]
    asked = wanted != IGNORE_INDEX
    told = predictions(model, batch).argmax(-1)
    output = (told == wanted) & asked
    noise = (told == task.noise_token) & asked
    return Said(_counted(output), _counted(noise), _counted(asked))


def _counted(which: Tensor) -> Tensor:
    """The number of positions in every sequence."""
    return which.sum(1).double().cpu()


def gain_interval(cut: Said, intact: Said) -> tuple[float, float]:
    """The 95 % interval of by how much a cut raises the share of outputs said, by the
    bootstrap over the sequences that both were asked; the same draws every time."""
    generator = torch.Generator().manual_seed(0)
    count = len(intact.asked)
    drawn = torch.randint(count, (RESAMPLES, count), generator=generator)
    gained = (cut.outputs - intact.outputs)[drawn].sum(1)
    shares = gained / intact.asked[drawn].sum(1)
    ends = torch.tensor([0.025, 0.975]).double()
    low, high = shares.quantile(ends).tolist()
    return low, high


def by_fraction(run: Run, fractions: Sequence[float] = FRACTIONS) -> dict[float, Said]:
    """The likeliest tokens of the last weights, with the last layer's W_in and W_out
    cut.
    """
    task = task_of(run.config, Bigrams)
    model = run.transformer()
    batch = unseen(run)
    layers = matrices(model)
    truncation = Truncation(layers)
    probabilities = {}
    for fraction in fractions:
        with truncation.applied(Cut((len(layers) - 1,), "mlp", fraction)):
            probabilities[fraction] = said(model, task, batch)
    return probabilities


@torch.no_grad()
def margins(model: Transformer, task: Bigrams, batch: Batch) -> tuple[float, float]:
    """The margins by which the last layer's MLP, and its attention, raise the noise
    token's logit over that of the output, on average over clean in-context outputs.

    The last norm is taken with the scale that it has on the whole stream, so that what
    layers add to the stream adds up in logits.
    """
    assert task.noise_token is not None  # the task is one with noise
    _, cache = model.run_with_cache(
        batch.inputs, names=[("attn_out", -1), ("mlp_out", -1), ("resid_post", -1)]
    )
    attention, mlp, last = cache.values()
    norm = model.ln_final
    assert isinstance(norm, torch.nn.LayerNorm)  # as these experiments have it
    variance = last.var(-1, correction=0, keepdim=True)
    spread = variance.add(norm.eps).sqrt()
    wanted = batch.targets[..., task.hops.index("in-context")]
    asked = wanted != IGNORE_INDEX
    noise = model.unembed.weight[task.noise_token]
    towards = noise - model.unembed.weight[wanted.clamp(min=0)]

    def raised(added: Tensor) -> float:
        centred = (added - added.mean(-1, keepdim=True)) / spread
        margins = (centred * norm.weight * towards).sum(-1)
        return margins[asked].mean().item()

    return raised(mlp), raised(attention)


def histories(run: Run) -> tuple[list[int], list[float], list[float]]:
    """The steps of a run's checkpoints, and the margins of the last MLP and attention
    at each.
    """
    task = task_of(run.config, Bigrams)
    batch = unseen(run).part(slice(DATED))
    steps = run.checkpoint_steps()
    of_mlp = []
    of_attention = []
    for step in steps:
        mlp, attention = margins(run.transformer(step), task, batch)
        of_mlp.append(mlp)
        of_attention.append(attention)
    return steps, of_mlp, of_attention


def learning(run: Run) -> Row:
    """The effect of cutting the last MLP of a run, and the dates of its parts.

    The MLP has learnt the noise when its margin for the noise token is halfway from
    where it began to its largest; attention has learnt the output when its margin
    against the noise token is. If one of the two is not learnt, or not kept, the MLP
    does not count as first.
    """
    cut = by_fraction(run)
    intact = cut[1.0]
    gains: dict[str, float] = {}
    lows: dict[str, float] = {}
    highs: dict[str, float] = {}
    for fraction in FRACTIONS[1:]:
        name = f"fraction={fraction:g}"
        gains[f"noisy_gain_{fraction:g}"] = cut[fraction].output - intact.output
        lows[name], highs[name] = gain_interval(cut[fraction], intact)
    mlp, attention = _dates(*histories(run))
    return {
        "noisy_intact": intact.output,
        **gains,
        "noisy_gain_low": lows,
        "noisy_gain_high": highs,
        "noisy_says_noise": intact.noise - cut[0.0].noise,
        "noisy_mlp_date": mlp,
        "noisy_attention_date": attention,
        "noisy_mlp_first": mlp is not None
        and attention is not None
        and mlp < attention,
    }


def _dates(
    steps: list[int], mlp: list[float], attention: list[float]
) -> tuple[float | None, float | None]:
    """The steps at which the MLP is for noise by half, and attention against it; None
    of both if one is not in the end."""
    against = [-margin for margin in attention]
    first = crossing(steps, mlp, (mlp[0] + max(mlp)) / 2)
    second = crossing(steps, against, (against[0] + max(against)) / 2)
    if first is None or second is None or min(mlp[-1], against[-1]) <= 0:
        return None, None
    return first, second


RANKS = (0.0, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0)
"""Fractions of the full rank that are drawn."""


def drawn(runs: Runs) -> Drawn:
    """The margins of the last MLP and attention for the noise, against the step; and
    the shares of tokens at clean outputs with the last MLP cut to low rank."""
    parts: dict[str, list[Any]] = {"last MLP": [], "last attention": []}
    says: dict[str, list[Any]] = {"the output": [], "the noise token": []}
    for run in runs.values():
        steps, mlp, attention = histories(run)
        parts["last MLP"].append((steps, mlp))
        parts["last attention"].append((steps, attention))
        cut = by_fraction(run, RANKS)
        says["the output"].append((RANKS, [cut[rank].output for rank in RANKS]))
        says["the noise token"].append((RANKS, [cut[rank].noise for rank in RANKS]))
    margin = {"y": "margin", "levels": {"neither": 0.0}}
    rank = {"x": "fraction of the full rank", "limits": {"ylim": (0, 1.05)}}
    for_noise = Panel("For noise, against the output", curves(parts), **margin)
    cut_clean = Panel(
        "Clean outputs, last MLP cut", curves(says), y="share that says", **rank
    )
    title = "Noise: what the last layer's parts say, and what is said without its MLP"
    return {"noisy-recall": (title, draw_panels([for_noise, cut_clean]))}


RUNS = Group(
    "noisy-recall", "two layers with MLPs, one trigger, half of it noise", noisy
)
TITLE = "noise after a trigger: what the last MLP keeps, and what is left without it"
EXPERIMENTS = (
    Experiment(
        __file__, "noisy-recall", TITLE, (RUNS,), partial(by_run, row=learning), drawn
    ),
)
