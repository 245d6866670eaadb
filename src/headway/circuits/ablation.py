"""Ablation: attention patterns put in the place of those a model computes, at the one tap."""

from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Tensor

from headway.circuits.mechanism import Circuit, Head, Identity, Mechanism, Uniform
from headway.errors import require
from headway.models import Tap, Transformer
from headway.tasks import Batch, Relation, Task
from headway.training.loop import partial_losses

Row = Float[Tensor, "batch query key"]


class Bench:
    """A model, sequences to judge it on, and the patterns of all mechanisms on them.

    Every loss is of the whole batch, with the mechanisms given and all other heads as they are.

    Attributes:
        model: the model under study.
        task: what it was trained on.
        batch: the sequences.
        relations: the paths that mechanisms may use, by name.
        forwards: how many forward passes of the batch were spent so far.
    """

    def __init__(self, model: Transformer, task: Task, batch: Batch):
        n_positions = batch.inputs.shape[1]
        require(
            model.embed.in_features == task.d_input
            and model.unembed.out_features == task.d_target
            and model.n_read == task.n_chains,
            "task",
            type(task).__name__.lower(),
            f"the one the model was built for: it reads {model.embed.in_features} numbers and"
            f" writes {model.unembed.out_features} at {model.n_read} positions",
        )
        self.model, self.task, self.batch = model, task, batch
        self.relations = task.paths(batch)
        self.visible = torch.ones(
            n_positions, n_positions, dtype=torch.bool, device=batch.inputs.device
        )
        if model.config.causal:
            self.visible = self.visible.tril()
        self.forwards = 0

    @property
    def heads(self) -> list[Head]:
        """Every head of the model."""
        config = self.model.config
        return [(layer, h) for layer in range(config.n_layers) for h in range(config.n_heads)]

    def losses(
        self, mechanisms: Circuit | Mapping[Head, Mechanism] | None = None
    ) -> Float[Tensor, " hop"]:
        """The partial losses with these heads replaced."""
        if isinstance(mechanisms, Circuit):
            mechanisms = mechanisms.mechanisms
        self.forwards += 1
        with torch.no_grad():
            predicted = self.model(self.batch.inputs, self.tap(mechanisms or {}))
        return partial_losses(predicted, self.batch.targets)

    def loss(self, mechanisms: Circuit | Mapping[Head, Mechanism] | None = None) -> float:
        """The mean of the partial losses with these heads replaced."""
        return self.losses(mechanisms).mean().item()

    def tap(self, mechanisms: Mapping[Head, Mechanism]) -> Tap:
        """The tap that puts the mechanisms' patterns in place of the heads' own."""
        unknown = [head for head in mechanisms if head not in self.heads]
        require(
            not unknown,
            "circuit: (layer, head)",
            unknown[0] if unknown else None,
            f"a head of this model, which has {self.model.config.n_layers} layers"
            f" of {self.model.config.n_heads}",
        )
        rows = {head: self.pattern(mechanism) for head, mechanism in mechanisms.items()}

        def replace(layer: int, pattern: Tensor) -> Tensor:
            own = list(pattern.unbind(1))
            for (at, head), row in rows.items():
                if at == layer:
                    own[head] = row
            return torch.stack(own, dim=1)

        return replace

    def pattern(self, mechanism: Mechanism) -> Row:
        """The attention pattern that a mechanism stands for, in every sequence of the batch."""
        size, n = self.batch.inputs.shape[:2]
        if isinstance(mechanism, Uniform):
            visible = self.visible.to(self.batch.inputs.dtype)
            return (visible / visible.sum(-1, keepdim=True)).expand(size, n, n)
        if isinstance(mechanism, Identity):
            return torch.eye(n, device=self.batch.inputs.device).expand(size, n, n)
        pattern = self.batch.inputs.new_zeros(size, n, n)
        for name in mechanism.relations:
            require(name in self.relations, "path", name, "a relation of the task, such as s0→s2")
            add_relation(pattern, self.relations[name])
        return pattern / pattern.sum(-1, keepdim=True).clamp(min=1)


def add_relation(pattern: Row, relation: Relation) -> None:
    """Adds 1 / (number of keys) at every pair of a relation, in place."""
    batch = torch.arange(len(pattern), device=pattern.device)[:, None, None]
    weight = pattern.new_full((), 1 / relation.keys.shape[-1])
    pattern.index_put_((batch, relation.queries[..., None], relation.keys), weight, accumulate=True)


def attention_along(
    patterns: Float[Tensor, "batch layer head query key"], relation: Relation
) -> Float[Tensor, "layer head"]:
    """The attention that goes along a relation: summed over keys, averaged over query positions.

    1 means that wherever the relation applies the head attends along it alone.
    """
    batch = torch.arange(len(patterns), device=patterns.device)[:, None, None]
    along = patterns[batch, :, :, relation.queries[..., None], relation.keys]
    return along.sum(2).mean((0, 1))
