"""Grids: what heads that attend by table look at, token by token or place by place.

A table has a number for every pair of what stands at the query and at the key, so it is
long and says little at a glance. A grid is what the head does: its mean attention from
each token to each, or from each position to each, whichever tells more of it.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headway.models import attention_patterns
from headway.replace.heads import Head
from headway.report.curves import short
from headway.report.findings import Findings
from headway.report.labels import typeset
from headway.report.schema import Grid
from headway.tasks import Task

SEQUENCES = 64
"""Held-out sequences over which attention is averaged."""

MOST_KINDS = 40
"""With more tokens or positions, a grid shows those that are attended to most."""

Shares = Float[Tensor, "query_kind key_kind"]


@dataclass(frozen=True)
class Kinds:
    """A way to tell positions apart.

    Attributes:
        by: in a word.
        of: the kind of every position, in every sequence, from 0.
        names: of the kinds.
    """

    by: str
    of: Int[Tensor, "sequence position"]
    names: list[str]

    @property
    def one_hot(self) -> Float[Tensor, "sequence position kind"]:
        """The kind of every position as a vector."""
        return torch.nn.functional.one_hot(self.of, len(self.names)).float()


@torch.no_grad()
def grids(findings: Findings) -> list[Grid]:
    """A grid for every head that attends by table, at the last checkpoint."""
    discovery = findings.discovery
    if discovery is None or findings.no_maps is not None:
        return []
    tabled = discovery.circuit.tabled_heads
    inputs = findings.held_out(SEQUENCES).inputs
    if not tabled or inputs.is_floating_point():
        return []
    every_kind = [_tokens(findings.task, inputs), _positions(inputs)]
    model = findings.run.model(findings.checkpoints[-1])
    attention = attention_patterns(model, inputs).float()[..., : inputs.shape[1]]
    return [_grid(head, attention[:, *head].cpu(), every_kind) for head in tabled]


def _tokens(task: Task, inputs: Int[Tensor, "sequence position"]) -> Kinds:
    """Positions told apart by their tokens."""
    tokens, of = inputs.cpu().unique(return_inverse=True)
    names = [typeset(task.token_name(token)) for token in tokens.tolist()]
    return Kinds("token", of, names)


def _positions(inputs: Int[Tensor, "sequence position"]) -> Kinds:
    """Positions told apart by their number."""
    length = inputs.shape[1]
    of = torch.arange(length).expand(len(inputs), -1)
    return Kinds("position", of, [str(position) for position in range(length)])


def _grid(
    head: Head,
    own: Float[Tensor, "sequence query key"],
    every_kind: list[Kinds],
) -> Grid:
    """The grid of the kinds that tell most of a head's attention."""
    candidates = [_candidate(own, kinds) for kinds in every_kind]
    told, shares, kinds = max(candidates, key=lambda candidate: candidate[0])
    shown = _most_attended(shares)
    rows = shares[shown][:, shown].tolist()
    return Grid(
        layer=head[0],
        head=head[1],
        by=kinds.by,
        names=[kinds.names[kind] for kind in shown],
        left_out=len(kinds.names) - len(shown),
        values=[[short(share) for share in row] for row in rows],
        told=short(told),
    )


def _candidate(
    own: Float[Tensor, "sequence query key"], kinds: Kinds
) -> tuple[float, Shares, Kinds]:
    """The part of a head's attention that kinds tell, and how."""
    shares = _shares(own, kinds)
    return _told(own, kinds, shares), shares, kinds


def _shares(own: Float[Tensor, "sequence query key"], kinds: Kinds) -> Shares:
    """The attention of every kind of query if each kind of key stood there once.

    It is the mean over all pairs of such a query and key, as shares of the row.
    """
    one_hot = kinds.one_hot
    visible = (own > 0).any(0).float().expand_as(own)
    attention = torch.einsum("sqi,sqk,skj->ij", one_hot, own, one_hot)
    pairs = torch.einsum("sqi,sqk,skj->ij", one_hot, visible, one_hot)
    means = attention / pairs.clamp(min=1)
    return means / means.sum(-1, keepdim=True).clamp(min=1e-9)


def _told(
    own: Float[Tensor, "sequence query key"], kinds: Kinds, shares: Shares
) -> float:
    """The part of the attention that the kinds tell, in rows with a choice of key."""
    visible = (own > 0).any(0)
    one_hot = kinds.one_hot
    by_kinds = torch.einsum("sqi,ij,skj->sqk", one_hot, shares, one_hot) * visible
    rows = by_kinds / by_kinds.sum(-1, keepdim=True).clamp(min=1e-9)
    has_choice = visible.sum(-1) > 1
    common = own.minimum(rows).sum(-1)[:, has_choice]
    return float(common.mean()) if common.numel() else 1.0


def _most_attended(shares: Shares) -> list[int]:
    """The kinds that a grid shows, in order."""
    most = min(MOST_KINDS, len(shares))
    return sorted(shares.sum(0).topk(most).indices.tolist())
