"""Clamping: training while heads are kept from attending along some paths.

What depends on a path is seen by training the same seed again with that path blocked
(the method of Singh et al. 2024, arXiv 2404.07129, there for activations). Attention
along it is set to zero after the softmax, and all else is as it is. A clamped model is
evaluated with its clamp.
"""

from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from torch import Tensor

from headway.errors import require
from headway.models import Tap, TransformerConfig
from headway.relations.paths import AttentionPath
from headway.tasks import Batch, Task

if TYPE_CHECKING:
    from headway.training.config import RunConfig, TrainingConfig


def require_clampable(
    training: "TrainingConfig", task: Task, model: TransformerConfig
) -> None:
    """Checks that a model and its task have the paths that are blocked.

    Raises:
        HeadwayError: if a layer, a head or a relation is none of theirs.
    """
    names = clampable(task) if training.clamped else []
    allowed = (
        f"a path of {model.n_layers} layers of {model.n_heads} heads, along one of"
    )
    for path in map(AttentionPath.parse, training.clamped):
        is_there = path.layer < model.n_layers and path.head < model.n_heads
        fits = is_there and path.relation in names
        require(
            fits, "training.clamped", str(path), f"{allowed} {', '.join(names[:3])}, …"
        )


def blocked(config: "RunConfig", task: Task, batch: Batch, step: int) -> Tap | None:
    """The tap that zeroes attention along blocked paths; None without any.

    Relations that a batch does not have, being of a shallower problem, are left out.

    Args:
        config: of a run, which says which paths are blocked, and when.
        task: that the batch is of.
        batch: that the model reads.
        step: of training, from 1.
    """
    training = config.training
    over = training.clamped_until is not None and step > training.clamped_until
    if not training.clamped or step <= training.clamped_after or over:
        return None
    relations = task.edges(batch, ahead=not config.model.causal)
    clamped = map(AttentionPath.parse, training.clamped)
    paths = [path for path in clamped if path.relation in relations]

    def block(layer: int, pattern: Float[Tensor, "batch head query key"]) -> Tensor:
        off = torch.zeros_like(pattern, dtype=torch.bool)
        for path in paths:
            if path.layer == layer:
                off[:, path.head] |= relations[path.relation].mask(pattern.shape[-1])
        return pattern.masked_fill(off, 0.0)

    return block


def clampable(task: Task) -> list[str]:
    """The relations that a clamped path may lead along: all but stays."""
    batch = task.sample(2, torch.Generator().manual_seed(0))
    relations = task.edges(batch)
    return [name for name, edges in relations.items() if edges.use == "path"]
