"""The rows of a head's attention that matter, and the keys that expressions give
them.
"""

from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headway.relations.composed import Composed
from headway.relations.expressions import Expression
from headway.relations.vocabulary import blocks

ROWS = 1500
"""Rows at most: those that count most."""


class AttentionRows:
    """Rows of a head's attention.

    Args:
        relations: the sequences on which expressions are evaluated.
        own: the head's attention.
        rows: how much every row counts.

    Attributes:
        sequence: of every row.
        query: of every row.
        counts: how much it counts; all together 1.
        own: its attention.
    """

    def __init__(
        self,
        relations: Composed,
        own: Float[Tensor, "sequence query key"],
        rows: Float[Tensor, "sequence query"],
    ):
        self.relations = relations
        most = rows.flatten().topk(min(ROWS, rows.numel()))
        order = most.indices[most.values > 0].sort().values
        self.sequence = order // rows.shape[1]
        self.query = order % rows.shape[1]
        counts = rows[self.sequence, self.query].float()
        self.counts = counts / counts.sum().clamp(min=torch.finfo(counts.dtype).tiny)
        self.own = own[self.sequence, self.query].float()

    @property
    def matters(self) -> Bool[Tensor, "sequence query one"]:
        """The rows among all of the sequences'."""
        shape = len(self.relations.inputs), self.relations.length, 1
        matters = torch.zeros(shape, dtype=torch.bool, device=self.own.device)
        matters[self.sequence, self.query] = True
        return matters

    @property
    def tokens(self) -> Int[Tensor, "row key"]:
        """The tokens of the keys of every row."""
        return self.relations.tokens[self.sequence]

    @property
    def query_tokens(self) -> Int[Tensor, " row"]:
        """The token of the query of every row."""
        return self.relations.tokens[self.sequence, self.query]

    def keys(self, expression: Expression) -> Float[Tensor, "row key"]:
        """The weights of an expression's keys in every row."""
        none = self.own.new_zeros(0, self.relations.length)
        parts = [keys for _, each in self.evaluated([expression]) for keys in each]
        return torch.cat([none, *parts])

    def masks(self, expressions: Sequence[Expression]) -> Bool[Tensor, "each row key"]:
        """The keys of several expressions in every row."""
        parts = [
            torch.stack([keys > 0 for keys in each])
            for _, each in self.evaluated(expressions)
        ]
        none = torch.zeros(len(expressions), 0, self.relations.length).bool()
        return torch.cat([none.to(self.own.device), *parts], 1)

    def evaluated(
        self, expressions: Sequence[Expression]
    ) -> Iterator[tuple[Bool[Tensor, " row"], Iterator[Tensor]]]:
        """The weights of expressions' keys in some rows at a time: which, and of each
        expression [row, key].
        """
        for block, part in blocks(self.relations):
            within = (self.sequence >= block.start) & (self.sequence < block.stop)
            rows = self.sequence[within] - block.start, self.query[within]
            if within.any():
                yield within, (part.weights(each)[rows] for each in expressions)
