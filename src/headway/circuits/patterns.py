"""The attention patterns that mechanisms stand for, on some sequences."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headway.circuits.mechanism import Head, Identity, KnockOut, Mechanism, Paths, Uniform
from headway.errors import require
from headway.models import Transformer, attention_patterns
from headway.tasks import Batch, Relation

ABLATIONS: dict[str, str] = {
    "zero": "one-hot paths; rows without a path are zero",
    "uniform": "one-hot paths; rows without a path are uniform",
    "own": "one-hot paths; rows without a path keep the head's own attention",
    "mean": "one-hot paths; rows without a path are the head's mean pattern",
}
"""What stands in rows without a path, of a head that has paths, by name. (Of a head that has none
all rows are zero.)"""


class Patterns:
    """The patterns of all mechanisms on a batch.

    Attributes:
        relations: the paths that mechanisms may use, by name: those of the relations given whose
            keys the mask never hides.
        rows: what stands in rows without a path.
        visible: which key every query may see.
    """

    def __init__(
        self, model: Transformer, batch: Batch, relations: dict[str, Relation], rows: str = "zero"
    ):
        require(rows in ABLATIONS, "ablation", rows, "one of " + ", ".join(ABLATIONS))
        self.model, self.batch, self.rows = model, batch, rows
        self.dtype = model.unembed.weight.dtype
        size, n = batch.inputs.shape[:2]
        self.visible = torch.ones(n, n, dtype=torch.bool, device=batch.inputs.device)
        if model.config.causal:
            self.visible = self.visible.tril()
        self.relations = {
            name: relation
            for name, relation in relations.items()
            if not model.config.causal or bool((relation.keys <= relation.queries[..., None]).all())
        }
        self._shape = (size, n, n)
        self._counts: dict[Paths, Tensor] = {}
        self._dense: dict[tuple[Mechanism, Head | None], Tensor] = {}
        self._mean: Tensor | None = None

    def rows_of(
        self, mechanism: Paths, name: str, part: slice = slice(None)
    ) -> tuple[
        Int[Tensor, "sequence row"],
        Int[Tensor, "sequence row key"],
        Float[Tensor, "sequence row key"],
    ]:
        """One path of a mechanism as queries, their keys, and the attention each key gets.

        A query that several paths leave from shares its attention evenly among them. What a
        sequence does not have stands at position 0 and gets no attention.
        """
        relation = self.relation(name)
        queries, keys = relation.queries[part].clamp(min=0), relation.keys[part].clamp(min=0)
        there = relation.there[part].to(self.dtype)
        share = 1 / self._leaving(mechanism)[part].clamp(min=1).gather(1, queries)
        return queries, keys, share[..., None] * there / there.sum(-1, keepdim=True).clamp(min=1)

    def relation(self, name: str) -> Relation:
        """A relation by its name."""
        allowed = "a relation of the task that the model's mask lets it see, such as "
        require(name in self.relations, "path", name, allowed + ", ".join([*self.relations][:3]))
        return self.relations[name]

    def zeros(self, *shape: int) -> Tensor:
        """Zeros of the model's type, where the sequences are."""
        return torch.zeros(shape, dtype=self.dtype, device=self.batch.inputs.device)

    def _leaving(self, mechanism: Paths) -> Float[Tensor, "sequence position"]:
        """How many paths of a mechanism leave from every position."""
        if mechanism not in self._counts:
            count = self.zeros(*self._shape[:2])
            for name in mechanism.relations:
                relation = self.relation(name)
                leaves = relation.there.any(-1).to(self.dtype)
                count.scatter_add_(1, relation.queries.clamp(min=0), leaves)
            self._counts[mechanism] = count
        return self._counts[mechanism]

    def fill(self, mechanism: Paths) -> str:
        """What stands in the rows that have no path; zeros if none has one."""
        return self.rows if mechanism.relations else "zero"

    def dense(self, mechanism: Mechanism, head: Head) -> Float[Tensor, "sequence query key"]:
        """The whole pattern of a mechanism that does not depend on the head's own attention."""
        if isinstance(mechanism, Paths) and self.fill(mechanism) == "zero":
            return self._one_hot(mechanism)
        if (mechanism, head) not in self._dense:
            self._dense[mechanism, head] = self._make(mechanism, head)
        return self._dense[mechanism, head]

    def _make(self, mechanism: Mechanism, head: Head) -> Tensor:
        size, n = self._shape[:2]
        inputs = self.batch.inputs
        if isinstance(mechanism, Identity):
            return torch.eye(n, device=inputs.device).expand(size, n, n)
        visible = self.visible.to(self.dtype)
        uniform = (visible / visible.sum(-1, keepdim=True)).expand(size, n, n)
        if isinstance(mechanism, Uniform):
            return uniform
        require(
            isinstance(mechanism, Paths),
            "mechanism",
            str(mechanism),
            "uniform, identity or paths, for a pattern of its own",
        )
        assert isinstance(mechanism, Paths)
        fill = uniform if self.rows == "uniform" else self.mean_pattern(head)
        return torch.where(self.has_path(mechanism)[..., None], self._one_hot(mechanism), fill)

    def has_path(self, mechanism: Paths) -> Tensor:
        """Which positions of every sequence a path leaves from, [sequence, position]."""
        return self._leaving(mechanism) > 0

    def mean_pattern(self, head: Head) -> Float[Tensor, "query key"]:
        """The head's own attention, averaged over the sequences."""
        if self._mean is None:
            with torch.no_grad():
                self._mean = attention_patterns(self.model, self.batch.inputs).mean(0)
        return self._mean[head]

    def edit(
        self,
        head: Head,
        mechanism: Mechanism,
        own: Float[Tensor, "sequence query key"],
        window: tuple[int, int] | None = None,
        part: slice = slice(None),
    ) -> Float[Tensor, "sequence query key"]:
        """The pattern that a head has under a mechanism, given the one it would have on its own.

        Args:
            head: layer and head.
            mechanism: what replaces it.
            own: what it does without.
            window: the queries that `own` is about, from and up to; none means all.
            part: the sequences that it is about.
        """
        start, end = window or (0, self._shape[1])
        width = own.shape[-1]
        if isinstance(mechanism, KnockOut):
            cut = self.zeros(len(own), *self._shape[1:])
            batch = torch.arange(len(own), device=own.device)[:, None, None]
            for name in mechanism.relations:
                queries, keys, weight = self.rows_of(Paths(mechanism.relations), name, part)
                cut.index_put_((batch, queries[..., None], keys), weight, accumulate=True)
            return own.masked_fill(cut[:, start:end, :width] > 0, 0.0)
        if isinstance(mechanism, Paths) and self.fill(mechanism) == "own":
            pattern = self._one_hot(mechanism)[part, start:end, :width]
            leaves = self.has_path(mechanism)[part, start:end, None]
            return torch.where(leaves, pattern, own)
        return self.dense(mechanism, head)[part, start:end, :width]

    def _one_hot(self, mechanism: Paths) -> Float[Tensor, "sequence query key"]:
        if (mechanism, None) not in self._dense:
            pattern = self.zeros(*self._shape)
            batch = torch.arange(len(pattern), device=pattern.device)[:, None, None]
            for name in mechanism.relations:
                queries, keys, weight = self.rows_of(mechanism, name)
                pattern.index_put_((batch, queries[..., None], keys), weight, accumulate=True)
            self._dense[mechanism, None] = pattern
        return self._dense[mechanism, None]


def attention_along(
    patterns: Float[Tensor, "batch layer head query key"], relation: Relation
) -> Float[Tensor, "layer head"]:
    """The attention that goes along a relation: summed over keys, averaged over query positions.

    1 means that wherever the relation applies the head attends along it alone. Zero if it applies
    nowhere.
    """
    batch = torch.arange(len(patterns), device=patterns.device)[:, None, None]
    along = patterns[batch, :, :, relation.queries[..., None], relation.keys]
    there = relation.there
    if bool(there.all()):
        return along.sum(2).mean((0, 1))
    rows = there.any(-1).sum().clamp(min=1)
    return (along * there[..., None, None]).sum((0, 1, 2)) / rows
