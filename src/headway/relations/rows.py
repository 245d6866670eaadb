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

HALF = 0.4999
"""The attention of a row that words must share to tell it; less than half by a rounding
error.
"""


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
        counting = most.indices[most.values > 0]
        order = counting.sort().values
        self.sequence = order // rows.shape[1]
        self.query = order % rows.shape[1]
        counts = rows[self.sequence, self.query].float()
        total = counts.sum().clamp(min=torch.finfo(counts.dtype).tiny)
        self.counts = counts / total
        self.own = own[self.sequence, self.query].float()

    def share_told(self, common: Float[Tensor, " row"]) -> float:
        """The share of the rows that words tell: those of which they share at least
        half of the attention.

        Rows count by what can be told in them, too: one with two keys counts nothing.

        Args:
            common: the attention of every row that lies where words would have it.
        """
        seen = self.relations.seen[self.sequence, self.query]
        n_keys = seen.sum(1).clamp(min=2)
        counts = self.counts * (n_keys / 2).log2()
        total = counts.sum()
        # Where no row has more than two keys, all count alike.
        counts = counts / total if total > 0 else self.counts
        is_told = common >= HALF
        return (is_told.to(counts.dtype) @ counts).item()

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
        parts = [self.own.new_zeros(0, self.relations.length)]
        for _, weights in self.evaluated([expression]):
            parts += weights
        return torch.cat(parts)

    def masks(self, expressions: Sequence[Expression]) -> Bool[Tensor, "each row key"]:
        """The keys of several expressions in every row."""
        none = torch.zeros(len(expressions), 0, self.relations.length).bool()
        parts = [none.to(self.own.device)]
        for _, weights in self.evaluated(expressions):
            is_key = [keys > 0 for keys in weights]
            parts.append(torch.stack(is_key))
        return torch.cat(parts, 1)

    def evaluated(
        self, expressions: Sequence[Expression]
    ) -> Iterator[tuple[Bool[Tensor, " row"], Iterator[Tensor]]]:
        """The weights of expressions' keys in some rows at a time: which, and of each
        expression [row, key].
        """
        for block, part in blocks(self.relations):
            within = (self.sequence >= block.start) & (self.sequence < block.stop)
            if within.any():
                sequence = self.sequence[within] - block.start
                rows = sequence, self.query[within]
                yield within, (part.weights(each)[rows] for each in expressions)
