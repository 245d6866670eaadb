"""Clamping: training while heads are kept from attending along some paths.

What depends on a path is seen by training the same seed again with that path blocked (the method of
Singh et al. 2024, arXiv 2404.07129, there for activations). Attention along it is set to zero after
the softmax, and all else is as it is. A clamped model is evaluated with its clamp.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from headway.errors import require
from headway.models import Tap
from headway.relations.paths import AttentionPath
from headway.tasks import Batch, Task


@dataclass(frozen=True)
class Clamp:
    """The paths that are blocked, and when.

    Attributes:
        paths: those along which attention is zero.
        after: the step after which they are blocked.
        until: the last step at which they are; by default, to the end.
    """

    paths: tuple[AttentionPath, ...] = ()
    after: int = 0
    until: int | None = None

    def require(self, task: Task, n_layers: int, n_heads: int) -> None:
        """Checks that a model and its task have the paths.

        Raises:
            HeadwayError: if a layer, a head or a relation is none of theirs.
        """
        names = clampable(task) if self.paths else []
        allowed = f"a path of {n_layers} layers of {n_heads} heads, along one of"
        for path in self.paths:
            fits = path.layer < n_layers and path.head < n_heads and path.relation in names
            require(fits, "training.clamped", str(path), f"{allowed} {', '.join(names[:3])}, …")

    def tap(self, task: Task, batch: Batch, step: int) -> Tap | None:
        """The tap that sets attention along the paths to zero; None if nothing is blocked then.

        Relations that a batch does not have, being of a shallower problem, are left out.

        Args:
            task: that the batch is of.
            batch: that the model reads.
            step: of training, from 1.
        """
        over = self.until is not None and step > self.until
        if not self.paths or step <= self.after or over:
            return None
        relations = task.edges(batch)

        def block(layer: int, pattern: Float[Tensor, "batch head query key"]) -> Tensor:
            here = [p for p in self.paths if p.layer == layer and p.relation in relations]
            if not here:
                return pattern
            off = torch.zeros_like(pattern, dtype=torch.bool)
            for path in here:
                off[:, path.head] |= relations[path.relation].mask(pattern.shape[-1])
            return pattern.masked_fill(off, 0.0)

        return block


def clampable(task: Task) -> list[str]:
    """The relations of a task that a path to be clamped may lead along: all but stays."""
    relations = task.edges(task.sample(2, torch.Generator().manual_seed(0)))
    return [name for name, edges in relations.items() if edges.use == "path"]
