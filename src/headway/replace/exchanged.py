"""A bench whose heads carry what they carry in corrupted sequences, and the effect of
every cell of attention between the two.

A head reads a sum over keys. Mixed with the corrupted sequence, each cell is partly its
own attention times its own value, and for the rest the corrupted one's. The slope by
that part, averaged on the way from one sequence to the other, tells how much the cell
does (integrated gradients: Sundararajan et al. 2017; of edges: Hanna et al. 2024).
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import reduce

import torch
from jaxtyping import Float
from torch import Tensor

from headway.errors import HeadwayError
from headway.models import Tappable
from headway.models.interception import Read
from headway.replace.ablation import Bench
from headway.replace.exchange import (
    OWN,
    PARTNER,
    WHOLE_HEAD,
    Carried,
    Change,
    Exchange,
    Swap,
    Term,
)
from headway.replace.heads import Head
from headway.replace.mechanism import Exchanged, Mechanism, Paths
from headway.replace.streams import Candidate
from headway.tasks import Batch, Task

Cells = Float[Tensor, "layer sequence head query key"]


class ExchangedBench(Bench):
    """A model on sequences, whose heads may carry what they carry in the corrupted
    ones.

    A head with paths is as it is in rows that have a path; its other rows are
    exchanged.

    Attributes:
        exchange: the model on the sequences and the corrupted ones.

    Raises:
        HeadwayError: if the task lays out no corrupted sequences, or what heads carry
            cannot be seen.
    """

    def __init__(self, model: Tappable, task: Task, batch: Batch):
        super().__init__(model, task, batch, Exchanged.kind, shared=False)
        if batch.corrupted is None:
            raise HeadwayError(
                "ablation = 'exchanged' is not allowed: the task lays out no corrupted"
                " sequences (Batch.corrupted)"
            )
        corrupted = replace(batch, inputs=batch.corrupted)
        self.exchange = Exchange(model, task, batch, {PARTNER: corrupted})
        self.parts = [slice(0, self.sequences)]
        self._kept = dict[frozenset[str], Swap]()

    def _outputs(self, chosen: Sequence[Candidate], part: slice) -> Iterator[Tensor]:
        changes = [self._change(candidate) for candidate in chosen]
        for outputs in self.exchange.outputs(changes):
            self.add_forwards(1.0)
            yield outputs[None]

    def _change(self, candidate: Candidate) -> Change:
        """The change that a candidate is: what is exchanged, and what is replaced."""
        swaps = dict[Head, Swap]()
        mechanisms = dict[Head, Mechanism]()
        for head, mechanism in candidate.items():
            if isinstance(mechanism, Exchanged):
                swaps[head] = WHOLE_HEAD
            elif isinstance(mechanism, Paths) and mechanism.relations:
                swaps[head] = self._rows_kept(mechanism.relations)
            else:
                mechanisms[head] = mechanism
        return Change(swaps, mechanisms)

    def _rows_kept(self, relations: frozenset[str]) -> Swap:
        """Rows with a path are the head's own, all others are exchanged."""
        if relations not in self._kept:
            has_path = self.patterns.one_hot(relations).amax(2, keepdim=True).ceil()
            own = Term(has_path, OWN, OWN)
            other = Term(1 - has_path, PARTNER, PARTNER)
            self._kept[relations] = own, other
        return self._kept[relations]

    def effects(self, shares: Sequence[float]) -> Cells:
        """The loss that each cell of attention takes away where it is the head's own
        and not the corrupted sequence's, to first order; the mean over sequences is
        their sum.

        Args:
            shares: the parts of all cells that are the head's own when slopes are
                taken (at least one); at 1 all else is.
        """
        slopes = (_slopes(self.exchange, share, self._smooth_loss) for share in shares)
        whole = reduce(torch.add, slopes)
        # A backward pass costs two forward passes.
        self.add_forwards(3.0 * len(shares))
        return -whole / len(shares)

    def _smooth_loss(self, outputs: Tensor) -> Tensor:
        """The mean loss, or that by which slopes are taken."""
        smooth = self.task.targets.smooth
        errors = smooth.errors(outputs, self.batch.targets, self._asked)
        return errors[..., self.columns].mean()


@torch.enable_grad()
def _slopes(
    exchange: Exchange, share: float, measured: Callable[[Tensor], Tensor]
) -> Cells:
    """The slopes of something by every cell's own part, where all cells have the same.

    Args:
        exchange: a model on sequences and the corrupted ones.
        share: the part that is the head's own.
        measured: a number of the outputs at the queries.
    """
    mixed = _Mixed(exchange.carried[PARTNER], share)
    n_read = exchange.batch.targets.shape[1]
    outputs = exchange.model(exchange.batch.inputs, mixed.tap, mixed.reads)
    leaves = [mixed.more[layer] for layer in sorted(mixed.more)]
    number = measured(outputs[:, -n_read:])
    slopes = torch.autograd.grad(number, leaves, materialize_grads=True)
    return torch.stack(slopes).detach()


class _Mixed:
    """Heads that partly carry their own, and for the rest what they carry in the
    corrupted sequences.

    Args:
        theirs: what they carry there.
        share: the part that is their own.

    Attributes:
        more: what is added to that part in every cell of a layer: zeros, by which
            slopes are taken.
    """

    def __init__(self, theirs: Carried, share: float):
        self.theirs = theirs
        self.share = share
        self.more = dict[int, Tensor]()
        self._own = dict[int, Tensor]()
        self._products = Counter[int]()

    def tap(self, layer: int, pattern: Tensor) -> Tensor:
        """Keeps the pattern of a layer."""
        self._own[layer] = pattern
        self.more[layer] = torch.zeros_like(pattern).requires_grad_()
        return pattern

    def reads(self, read: Read) -> Tensor:
        """The mixture of what heads read in two runs."""
        layer = read.layer
        number = self._products[layer]
        self._products[layer] += 1
        own_part = self.share + self.more[layer]
        own = read.laid(own_part * self._own[layer])
        other = read.laid((1 - own_part) * self.theirs.patterns[layer])
        other_values = self.theirs.values[layer][number]
        return read.product(own, read.values) + read.product(other, other_values)
