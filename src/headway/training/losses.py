"""The loss, and what it is made of: one partial loss a hop."""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from headway.models import Transformer
from headway.tasks import UNASKED, Batch

CHUNK = 512
"""Sequences that are evaluated at once."""


def errors(
    predicted: Tensor, targets: Tensor, asked: Tensor | None = None
) -> Float[Tensor, "sequence hop"]:
    """What every sequence contributes to every partial loss: their mean over sequences.

    Args:
        predicted: [sequence, query, number]: what is said of all hops side by side, or logits.
        targets: vectors [sequence, query, hop, number], whose squared error counts; or tokens (as
            `surprise` takes them), whose cross-entropy counts wherever they are asked. Sequences
            may be asked for a hop more or less often; then all that are asked weigh the same.
        asked: how often a sequence is asked for every hop on average, if these are some of many
            sequences (see `how_often`).
    """
    if targets.is_floating_point():
        return (predicted.unflatten(-1, targets.shape[2:]) - targets).square().mean((1, 3))
    if asked is None:
        asked = how_often(targets)
    return surprise(predicted, targets).sum(1) / asked


def how_often(targets: Tensor) -> Float[Tensor, " hop"]:
    """How often a sequence is asked for every hop, on average; 1 for vectors, or if it never is."""
    if targets.is_floating_point():
        return torch.ones(targets.shape[2], device=targets.device)
    counts = (targets != UNASKED).flatten(2).float().sum(1).mean(0)
    return torch.where(counts > 0, counts, 1.0)


def surprise(predicted: Tensor, targets: Tensor) -> Float[Tensor, "sequence query hop"]:
    """The cross-entropy of every token that is asked, in nats; 0 where none is.

    Args:
        predicted: logits that all hops share [sequence, query, token], or of every hop its own,
            side by side [sequence, query, hop · token].
        targets: tokens [sequence, query, hop], or [sequence, query, hop, 1] in the second case:
            the number of dimensions tells which.
    """
    logits, tokens = by_logits(predicted, targets)
    told = logits.float().log_softmax(-1).gather(-1, tokens.clamp(min=0))
    return -(told * (tokens != UNASKED)).flatten(-2)


def by_logits(
    predicted: Tensor, targets: Tensor
) -> tuple[Float[Tensor, "sequence query said token"], Int[Tensor, "sequence query said asked"]]:
    """Logits, and the hops that are read off the same ones (see `surprise`).

    Either all hops are read off one set of logits, or of as many sets each tells one.
    """
    if targets.ndim == predicted.ndim:
        return predicted[..., None, :], targets[..., None, :]
    return predicted.unflatten(-1, (targets.shape[-2], -1)), targets


def accuracies(predicted: Tensor, targets: Tensor) -> Float[Tensor, " hop"]:
    """The share of the tokens that are asked for which the likeliest is the right one, by hop.

    Args:
        predicted: logits, as for `surprise`.
        targets: tokens, likewise; a hop that is never asked has no number (nan).
    """
    logits, tokens = by_logits(predicted, targets)
    asked = (tokens != UNASKED).flatten(-2)
    right = (logits.argmax(-1, keepdim=True) == tokens).flatten(-2) & asked
    return right.sum((0, 1)) / asked.sum((0, 1))


def partial_losses(predicted: Tensor, targets: Tensor) -> Float[Tensor, " hop"]:
    """The mean squared error, or cross-entropy, of every hop alone (see `errors`)."""
    return errors(predicted, targets).mean(0)


def loss(predicted: Tensor, targets: Tensor) -> Float[Tensor, ""]:
    """What training lowers: the mean over all that is asked.

    Of vectors that is the mean of the partial losses; tokens weigh the same whatever their hop.
    """
    if targets.is_floating_point():
        return F.mse_loss(predicted.float(), targets.flatten(2))
    return surprise(predicted, targets).sum() / (targets != UNASKED).sum().clamp(min=1)


@torch.no_grad()
def evaluate(model: Transformer, batch: Batch, chunk: int = CHUNK) -> Float[Tensor, " hop"]:
    """The partial losses on a batch, computed so many sequences at a time."""
    return partial_losses(predictions(model, batch, chunk), batch.targets)


@torch.no_grad()
def predictions(
    model: Transformer, batch: Batch, chunk: int = CHUNK
) -> Float[Tensor, "batch query target"]:
    """What a model says on a batch, computed so many sequences at a time."""
    return torch.cat([model(inputs) for inputs in batch.inputs.split(chunk)])
