"""What is measured where noise comes in the place of outputs: which part of a model says noise, and
what is left when that part is cut (Chen, Bruna and Bietti 2024, arXiv 2406.03068)."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from headway.models import Transformer
from headway.models.truncation import Cut, Truncation, matrices
from headway.papers.talk.measures.bigrams import unseen
from headway.tasks import UNASKED, Batch, Bigrams
from headway.training import Run
from headway.training.losses import predictions

FRACTIONS = (1.0, 0.2, 0.1, 0.0)
"""Of the full rank, to which the weights of the last MLP are cut."""


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
    *_, before, last = (model.embed(batch.inputs), *model.streams(batch.inputs, _seen))
    block = model.layers[-1]
    pattern, values = block.attn.pattern(block.ln1(before), _mask(model, batch))
    attention = block.attn.mix(pattern, values)
    mlp = last - before - attention
    spread = last.var(-1, correction=0, keepdim=True).add(model.ln_final.eps).sqrt()  # pyright: ignore[reportAttributeAccessIssue, reportArgumentType]
    assert task.noise_token is not None  # the task is one with noise
    noise = model.unembed.weight[task.noise_token]
    towards = noise - model.unembed.weight[wanted.clamp(min=0)]
    asked = wanted != UNASKED

    def raised(added: Tensor) -> float:
        centred = (added - added.mean(-1, keepdim=True)) / spread
        weighed = centred * model.ln_final.weight  # pyright: ignore[reportOperatorIssue]
        return (weighed * towards).sum(-1)[asked].mean().item()

    return raised(mlp), raised(attention)
