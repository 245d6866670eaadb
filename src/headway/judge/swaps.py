"""Swaps of parts of a circuit's heads: of paths, or of rows without a path."""

from collections.abc import Hashable, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from headway.relations.paths import AttentionPath
from headway.replace.circuit import Circuit
from headway.replace.exchange import (
    ELSEWHERE,
    OWN,
    PARTNER,
    Exchange,
    Source,
    Swap,
    Term,
)
from headway.replace.heads import Head
from headway.replace.mechanism import Mechanism, Paths, is_by_place

Cells = Float[Tensor, "sequence query key"]


class Swaps:
    """The heads of a circuit that have paths, and what each may read instead.

    Attributes:
        exchange: the model on sequences with partners.
        names: the relations of each of these heads.
        rows_by_place: those whose rows without a path are said to be by place
            (`Mechanism.is_by_place` of their fill).
    """

    def __init__(self, exchange: Exchange, circuit: Circuit):
        self.exchange = exchange
        self.names = dict[Head, list[str]]()
        self.rows_by_place = set[Head]()
        for head, mechanism in circuit.mechanisms.items():
            if isinstance(mechanism, Paths) and mechanism.relations:
                self.names[head] = sorted(mechanism.relations)
                if is_by_place(mechanism.rows):
                    self.rows_by_place.add(head)

    def key_of(self, head: Head) -> tuple[Hashable, ...]:
        """The key of what the circuit says of a head."""
        return (head, head in self.rows_by_place, *self.names[head])

    def along(self, head: Head) -> Mechanism:
        """A head attends along its paths alone in rows that have one."""
        return Paths(frozenset(self.names[head]), "own")

    def path_exchanged(self, path: AttentionPath) -> Swap:
        """The partner's values are read along a path, where no other path of the head
        leads.
        """
        own = self.own_cells(path)
        theirs = self.own_cells(path, PARTNER)
        has_theirs = theirs.any(2, keepdim=True)
        beside = Term(1 - own, OWN, OWN)
        # Where the partner has no such path, its values are read along the head's own.
        only_own = Term(own * ~has_theirs, OWN, PARTNER)
        return beside, only_own, Term(theirs, PARTNER, PARTNER)

    def path_cut(self, path: AttentionPath) -> Swap:
        """Nothing is read along a path, where no other path of the head leads."""
        return (Term(1 - self.own_cells(path), OWN, OWN),)

    def path_elsewhere(self, path: AttentionPath) -> Swap:
        """Values read along a path are those of a sequence of another layout."""
        own = self.own_cells(path)
        return Term(1 - own, OWN, OWN), Term(own, OWN, ELSEWHERE)

    def rows_exchanged(self, head: Head) -> Swap:
        """Rows without a path are the partner's.

        If the circuit says that they are by place, they read their own values as rows
        without a path do in a sequence of another layout.
        """
        other, reads = PARTNER, PARTNER
        if head in self.rows_by_place:
            other, reads = ELSEWHERE, OWN
        has_path = self.rows_with_path(head)
        without = 1 - has_path
        theirs = self.rows_with_path(head, other)
        kept = Term(has_path, OWN, OWN)
        # Where the other sequence has a path in this row, only the values are its.
        stays = Term(without * theirs, OWN, reads)
        return kept, stays, Term(without * (1 - theirs), other, reads)

    def with_rows_exchanged(self, path: AttentionPath) -> Swap:
        """A path, and the rows of its head without a path, are the partner's."""
        has_path = self.rows_with_path(path.at)
        terms = list[Term]()
        for share, attends, reads in self.path_exchanged(path):
            terms.append(Term(has_path * share, attends, reads))
        _, *rows = self.rows_exchanged(path.at)
        return [*terms, *rows]

    def own_cells(self, path: AttentionPath, source: Source = OWN) -> Cells:
        """1 at the cells of a path that no other path of its head has."""
        others = [name for name in self.names[path.at] if name != path.relation]
        own = self.cells(path.at, [path.relation], source)
        return own * (1 - self.cells(path.at, others, source))

    def rows_with_path(
        self, head: Head, source: Source = OWN
    ) -> Float[Tensor, "s query 1"]:
        """1 at the rows of a head that have a path, else 0."""
        cells = self.cells(head, self.names[head], source)
        return cells.amax(2, keepdim=True)

    def cells(self, head: Head, names: Sequence[str], source: Source) -> Cells:
        """1 at the cells of some relations, in the sequences of a run; else 0."""
        known = self.exchange.known
        pattern = self.exchange.carried[OWN].patterns[head[0]]
        key = "cells", pattern.shape, *names, source
        if key not in known:
            others = self.exchange.others
            patterns = self.exchange.patterns if source == OWN else others[source]
            length = self.exchange.batch.inputs.shape[1]
            marked = torch.zeros_like(pattern[:, 0], dtype=torch.bool)
            for name in names:
                marked[..., :length] |= patterns.relation(name).mask(length)
            known[key] = marked.to(pattern.dtype)
        return known[key]
