"""The size of a run: refused, by a rough check, if plainly too large."""

import os

import torch

from headway.errors import HeadwayError
from headway.models import TransformerConfig
from headway.tasks import Task
from headway.tasks.base import cost_of
from headway.tasks.checking import require_sound
from headway.training.config import RunConfig
from headway.training.files import clear_errors


def require_size(config: RunConfig) -> None:
    """Refuses runs that cannot fit into the memory of their device, empty as it may be.

    Counted are the weights with gradients and optimiser, what a batch leaves in every
    layer, and the sequences that are held.

    Args:
        config: of a run.

    Raises:
        HeadwayError: if they are larger, or the model is none of headway's.
    """
    model = config.transformer
    training = config.training
    task = config.task
    weights = n_weights(model, task)
    inner = 4 * model.n_heads * model.head_width + 2 * model.mlp_width
    layer = task.length * (4 * model.d_model + inner + model.n_heads * task.length)
    step = 4 * weights + training.batch_size * layer * model.n_layers
    examples = training.eval_examples + (training.train_examples or 0)
    held = examples * (task.length + task.n_read * task.d_target)
    fields = (
        "model.*, task.*, training.batch_size, training.train_examples,"
        " training.eval_examples"
    )
    require_room(step + held, f"training ({fields})", config.device)


def require_room(numbers: int, what: str, device: str) -> None:
    """Refuses more single-precision numbers than a device has known room for.

    Raises:
        HeadwayError: what is too large, and by which fields.
    """
    needed = 4 * numbers
    has = None
    if device.startswith("cuda") and torch.cuda.is_available():
        has = torch.cuda.mem_get_info(device)[1]
    elif device == "cpu" and "SC_PHYS_PAGES" in os.sysconf_names:
        has = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if has is not None and needed > has:
        raise HeadwayError(
            f"{what} would take about {needed >> 20:,} MiB,"
            f" and {device} has {has >> 20:,} MiB: make it smaller"
        )


def n_weights(model: TransformerConfig, task: Task) -> int:
    """The numbers in a transformer's matrices, without building it.

    Raises:
        HeadwayError: if the task is a user's and cannot be used, or lays out no
            sequence, as one of its sizes is beyond what there can be.
    """
    require_sound(task)
    with clear_errors("task.*: no sequence can be laid out:"):
        cost_of(task)
    block = 4 * model.n_heads * model.head_width + 2 * model.mlp_width
    placed = task.vocabulary is not None and model.positions == "learned"
    ends = (task.vocabulary or task.d_input) + placed * task.length + task.d_target
    return model.d_model * (ends + model.n_layers * block)
