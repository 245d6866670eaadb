"""The loss of a model on sequences, all in all and hop by hop."""

import math
from bisect import bisect_left
from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from headway.errors import HeadwayError, require
from headway.models import Tap, Tappable
from headway.tasks import Batch, Task, Tokens
from headway.text import UNBROKEN, rounded
from headway.userfile import described

Reader = Callable[[Tensor, Tap | None], Tensor]
"""Called with inputs, perhaps a tap; gives [batch, position or query, number]."""

TapOf = Callable[[Batch], Tap | None]
"""Gives the tap that attention passes through while a batch is read, if any."""

CHUNK = 512
"""Sequences that are evaluated at once."""


def evaluate(
    model: Reader, task: Task, batch: Batch, tap: TapOf | None = None
) -> Float[Tensor, " hop"]:
    """The loss of every hop of a batch."""
    predicted = task.targets.at_queries(predictions(model, batch, tap), batch.targets)
    return task.targets.partial_losses(predicted, batch.targets)


def scores(
    model: Reader, task: Task, batch: Batch, tap: TapOf | None = None
) -> dict[str, Any]:
    """The scores of a batch as a line of `metrics.jsonl` has them.

    They are the mean loss `val_loss`, the loss of every hop that the batch has,
    `partial`, and, of tokens, the share of right answers by hop, `accuracy`; a hop that
    no query asks for has none.
    """
    predicted = task.targets.at_queries(predictions(model, batch, tap), batch.targets)
    losses = task.targets.partial_losses(predicted, batch.targets).tolist()
    partial = dict(zip(task.hops, losses, strict=False))
    mean = sum(losses) / len(losses)
    metrics = {"val_loss": mean, "partial": partial}
    if isinstance(task.targets, Tokens):
        right = task.targets.accuracies(predicted, batch.targets).tolist()
        named = zip(task.hops, right, strict=False)
        metrics["accuracy"] = {
            hop: share for hop, share in named if not math.isnan(share)
        }
    return metrics


def mean_accuracy(scores: dict[str, Any]) -> float | None:
    """The share of right answers, the mean of the hops; None if there is none."""
    shares = [*scores.get("accuracy", {}).values()]
    if shares:
        return sum(shares) / len(shares)
    return None


def evaluation_text(evaluation: dict[str, Any], loss_name: str) -> str:
    """An evaluation in words: its loss, hop by hop, and its accuracy."""
    partial = evaluation["partial"].items()
    hops = "  ".join(f"{hop}{UNBROKEN}{rounded(loss)}" for hop, loss in partial)
    loss = rounded(evaluation["val_loss"])
    return f"validation {loss_name} {loss}  ({hops}){accuracy_text(evaluation)}"


def accuracy_text(evaluation: dict[str, Any]) -> str:
    """The accuracy of an evaluation, as it is printed behind a loss.

    With a fixed training set, its accuracy follows, or else its loss.
    """
    accuracy = mean_accuracy(evaluation)
    learnt = evaluation.get("training_set")
    text = "" if accuracy is None else f", accuracy {accuracy:.1%}"
    if learnt is None:
        return text
    trained = mean_accuracy(learnt)
    said = rounded(learnt["loss"]) if trained is None else f"{trained:.1%}"
    return f"{text}, on the training set {said}"


@torch.no_grad()
def predictions(
    model: Reader, batch: Batch, tap: TapOf | None = None
) -> Float[Tensor, "batch query output"]:
    """The outputs of a model at the queries, computed a few sequences at a time.

    Args:
        model: that predicts.
        batch: that it reads.
        tap: that attention passes through.
    """
    n_read = batch.targets.shape[1]
    starts = range(0, len(batch.inputs), CHUNK)
    parts = [batch.part(slice(start, start + CHUNK)) for start in starts]
    said = [model(part.inputs, None if tap is None else tap(part)) for part in parts]
    return torch.cat([outputs[:, -n_read:] for outputs in said])


@torch.no_grad()
def require_answers(model: Tappable, task: Task, batch: Batch) -> None:
    """Makes sure that a model reads a task's sequences, and answers in its size.

    Raises:
        HeadwayError: if not.
    """
    inputs = hardest(batch.inputs)
    try:
        said = model(inputs)
    except Exception as error:  # whatever a model of somebody's may raise
        why = misfit(model, inputs) or described(error)
        raise misread(task, inputs, why) from (error.__cause__ or error)
    fits = (
        said.ndim == 3
        and said.shape[1] >= task.n_read
        and said.shape[2] == task.d_target
    )
    allowed = f"[batch, at least {task.n_read} queries, {task.d_target}]"
    allowed += f", as task {task.kind!r} demands"
    require(fits, "model: its outputs' shape", list(said.shape), allowed)


def misread(task: Task, inputs: Tensor, why: str) -> HeadwayError:
    """The error that says why a model does not read a task's sequences."""
    shape = list(inputs.shape[1:])
    about = f"the model does not read its sequences, {shape} each: {why}"
    return HeadwayError(f"task = {task.kind!r}: {about}")


def hardest(inputs: Tensor) -> Tensor:
    """The sequence with the largest token, too large for some models."""
    if inputs.is_floating_point():
        return inputs[:1]
    row = int(inputs.amax(1).argmax())
    return inputs[row : row + 1]


@torch.no_grad()
def misfit(model: Callable[[Tensor], Any], inputs: Tensor) -> str | None:
    """The reason why a model does not read inputs, found by trying others.

    Args:
        model: that raises something.
        inputs: at which it does, [batch, position] or [batch, position, number].

    Returns:
        The reason; None if it is not known, or if the model does read them.
    """

    def is_read(others: Tensor) -> bool:
        try:
            model(others)
        except Exception:  # whatever a model of somebody's may raise
            return False
        return True

    if is_read(inputs):
        return None
    length = inputs.shape[1]
    if inputs.is_floating_point():
        tokens = torch.zeros(inputs.shape[:2], dtype=torch.long, device=inputs.device)
        return "they are vectors, and it reads tokens" if is_read(tokens) else None
    least = torch.zeros_like(inputs)
    if is_read(least):
        largest = int(inputs.max())
        return f"there are tokens up to {largest}, for which it has no embedding"
    lengths = range(1, length)
    longest = bisect_left(
        lengths, True, key=lambda tried: not is_read(least[:, :tried])
    )
    if longest:
        return f"it reads at most {longest} positions"
    return None
