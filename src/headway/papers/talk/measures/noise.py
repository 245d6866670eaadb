"""What is measured where noise comes in the place of outputs: which part of a model says noise, and
what is left when that part is cut (Chen, Bruna and Bietti 2024, arXiv 2406.03068)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from headway.circuits.emergence import crossing
from headway.models import Transformer
from headway.models.truncation import Cut, Truncation, matrices
from headway.papers.claims import Measures
from headway.papers.measures.reading import Runs
from headway.papers.talk.measures.bigrams import unseen
from headway.tasks import UNASKED, Batch, Bigrams
from headway.training import Run
from headway.training.losses import predictions

FRACTIONS = (1.0, 0.2, 0.1, 0.0)
"""Of the full rank, to which the weights of the last MLP are cut."""
DATED = 256
"""Sequences on which the margins of every checkpoint are measured."""


@dataclass(frozen=True)
class Said:
    """What a model says where an in-context output is to come, as shares of these positions.

    Attributes:
        output: says the sequence's output.
        noise: says the noise token.
    """

    output: float
    noise: float


def said(model: Transformer, task: Bigrams, batch: Batch) -> Said:
    """What a model says most surely at clean in-context outputs."""
    wanted = batch.targets[..., task.hop_names.index("in-context")]
    told = predictions(model, batch).argmax(-1)[wanted != UNASKED]
    outputs, noise = wanted[wanted != UNASKED], task.noise_token
    assert noise is not None  # the task is one with noise
    return Said(told.eq(outputs).double().mean().item(), told.eq(noise).double().mean().item())


def by_fraction(run: Run, fractions: Sequence[float] = FRACTIONS) -> dict[float, Said]:
    """What the last weights say, with the last layer's W_in and W_out cut to low rank."""
    task, model = run.task, run.model()
    assert isinstance(task, Bigrams)
    batch, layers = unseen(run), matrices(model)
    truncation = Truncation(layers)
    found = {}
    for fraction in fractions:
        with truncation.applied(Cut((len(layers) - 1,), "mlp", fraction)):
            found[fraction] = said(model, task, batch)
    return found


@torch.no_grad()
def margins(model: Transformer, task: Bigrams, batch: Batch) -> tuple[float, float]:
    """By how much the last layer's MLP, and its attention, raise the noise token's logit over that
    of the output, on average over clean in-context outputs.

    The last norm is taken with the scale that it has on the whole stream, so that what layers add
    to the stream adds up in logits.
    """
    wanted = batch.targets[..., task.hop_names.index("in-context")]
    before = model.embed(batch.inputs)
    *rest, last = model.streams(batch.inputs, lambda _, pattern: pattern)
    before = rest[-1] if rest else before
    block = model.layers[-1]
    length = batch.inputs.shape[1]
    mask = None if model.mask is None else model.mask[:length, :length]
    attention = block.attn.mix(*block.attn.pattern(block.ln1(before), mask))
    mlp = last - before - attention
    norm = model.ln_final
    assert isinstance(norm, torch.nn.LayerNorm)  # as these experiments have it
    spread = last.var(-1, correction=0, keepdim=True).add(norm.eps).sqrt()
    assert task.noise_token is not None  # the task is one with noise
    noise = model.unembed.weight[task.noise_token]
    towards = noise - model.unembed.weight[wanted.clamp(min=0)]
    asked = wanted != UNASKED

    def raised(added: Tensor) -> float:
        centred = (added - added.mean(-1, keepdim=True)) / spread
        return (centred * norm.weight * towards).sum(-1)[asked].mean().item()

    return raised(mlp), raised(attention)


def histories(run: Run) -> tuple[list[int], list[float], list[float]]:
    """The steps of a run's checkpoints, and the margins of the last MLP and attention at each."""
    task, batch = run.task, unseen(run).part(slice(DATED))
    assert isinstance(task, Bigrams)
    steps = run.checkpoint_steps()
    found = [margins(run.model(step), task, batch) for step in steps]
    return steps, [mlp for mlp, _ in found], [attention for _, attention in found]


def noisy_recall(runs: Mapping[str, Runs]) -> Measures:
    """What cutting the last MLP does to clean outputs, and what the two parts learn when.

    The MLP has learnt the noise when its margin for the noise token has passed half of its
    largest; attention has learnt the output when its margin against the noise token has.
    """
    measured: Measures = {
        "noisy_intact": {},
        **{f"noisy_gain_{fraction:g}": {} for fraction in FRACTIONS[1:]},
        "noisy_says_noise": {},
        "noisy_mlp_date": {},
        "noisy_attention_date": {},
        "noisy_mlp_first": {},
    }
    for name, run in runs["noisy-recall"].items():
        found = by_fraction(run)
        intact = found[1.0]
        measured["noisy_intact"][name] = intact.output
        measured["noisy_says_noise"][name] = intact.noise - found[0.0].noise
        for fraction in FRACTIONS[1:]:
            measured[f"noisy_gain_{fraction:g}"][name] = found[fraction].output - intact.output
        steps, mlp, attention = histories(run)
        against = [-margin for margin in attention]
        first = crossing(steps, mlp, max(mlp) / 2)
        second = crossing(steps, against, max(against) / 2)
        if first is not None and second is not None and min(max(mlp), max(against)) > 0:
            measured["noisy_mlp_date"][name] = first
            measured["noisy_attention_date"][name] = second
            measured["noisy_mlp_first"][name] = float(first < second)
    return measured
