"""A rough check of sizes: a run that is plainly too large for the machine is refused at once."""

import os

import torch

from headway.errors import HeadwayError
from headway.models import TransformerConfig
from headway.tasks import Task
from headway.tasks.checking import require_sound
from headway.training.config import RunConfig
from headway.userfile import described

FLOAT = 4
"""Bytes of a number in single precision."""


def require_size(config: RunConfig) -> None:
    """Refuses runs that cannot fit into the memory of their device, empty as it may be.

    Counted are the weights with gradients and optimiser, what a batch leaves in every layer, and
    the sequences that are held.

    Args:
        config: of a run.

    Raises:
        HeadwayError: if they are larger.
    """
    model, training, task = config.model, config.training, config.task
    if not isinstance(model, TransformerConfig):
        return
    weights = n_weights(model, task)
    inner = 4 * model.n_heads * model.head_width + 2 * model.mlp_width
    layer = task.length * (4 * model.d_model + inner + model.n_heads * task.length)
    step = 4 * weights + training.batch_size * layer * model.n_layers
    examples = training.eval_examples + (training.train_examples or 0)
    held = examples * (task.length + task.n_read * task.d_target)
    fields = "model.*, task.*, training.batch_size, training.train_examples, training.eval_examples"
    require_bytes(FLOAT * (step + held), f"training ({fields})", config.device)


def require_bytes(needed: int, what: str, device: str) -> None:
    """Refuses what takes more bytes than a device has; where that is unknown, nothing.

    Raises:
        HeadwayError: what is too large, and by which fields.
    """
    has = _memory(device)
    if has is not None and needed > has:
        raise HeadwayError(
            f"{what} would take about {needed >> 20:,} MiB, and {device} has {has >> 20:,} MiB:"
            " make it smaller"
        )


def n_weights(model: TransformerConfig, task: Task) -> int:
    """The number of weights of a transformer, without building it.

    Raises:
        HeadwayError: if the task is a user's and cannot be used, or lays out no sequence, as one of
            its sizes is beyond what there can be.
    """
    require_sound(task)
    try:
        task.sample(2, torch.Generator().manual_seed(0))
    except (MemoryError, RuntimeError, TypeError) as error:
        raise HeadwayError(f"task.*: no sequence can be laid out: {described(error)}") from None
    width, heads, inner = model.d_model, model.n_heads * model.head_width, model.mlp_width
    norm = 2 * width if model.norm == "pre" else 0
    block = norm + 3 * heads * (width + 1) + (heads + 1) * width
    if not model.attn_only:
        block += norm + (width + 1) * inner + (inner + 1) * width
    learned = task.length if model.positions == "learned" else 0
    read = task.d_input + 1 if task.vocabulary is None else task.vocabulary + learned
    ends = read * width + norm + (width + 1) * task.d_target
    return ends + model.n_layers * block


def _memory(device: str) -> int | None:
    """The bytes that a device has in all."""
    if device.startswith("cuda") and torch.cuda.is_available():
        return torch.cuda.mem_get_info(device)[1]
    if device == "cpu" and "SC_PHYS_PAGES" in os.sysconf_names:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None
