"""The logit lens: the stream after every layer, read out as if it were last."""

import torch
from jaxtyping import Float
from torch import Tensor

from headway.models.transformer import Inputs, Transformer
from headway.tasks import Batch, Task


def logit_lens(
    model: Transformer, inputs: Inputs
) -> Float[Tensor, "layer batch query output"]:
    """The outputs of the model if it ended after every layer: logits, or vectors.

    The residual stream goes through the last norm and the read-out; after the last
    layer that is what the model does say. (nostalgebraist 2020, "interpreting GPT: the
    logit lens")
    """
    outputs = [model.read(stream) for stream in model.streams(inputs)]
    return torch.stack(outputs)


def loss_lens(
    model: Transformer, task: Task, batch: Batch
) -> Float[Tensor, "layer hop"]:
    """The loss of every hop if the model ended after every layer."""
    outputs = logit_lens(model, batch.inputs)
    losses = [task.targets.partial_losses(each, batch.targets) for each in outputs]
    return torch.stack(losses)


def accuracy_lens(
    model: Transformer, task: Task, batch: Batch
) -> Float[Tensor, "layer hop"]:
    """The share of right answers by hop if the model ended after every layer."""
    outputs = logit_lens(model, batch.inputs)
    shares = [task.targets.accuracies(each, batch.targets) for each in outputs]
    return torch.stack(shares)
