"""ACDC (Conmy et al. 2023, arXiv 2304.14997): cut edge after edge while the loss
stays.
"""

from collections.abc import Callable

import torch

from headway.relations import AttentionPath
from headway_experiments.arena.subject import FEW, Answer, Keep, Subject

THRESHOLDS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
"""The costs that one cut may have, in parts of what ablating everything costs."""

OWN = 0.01
"""The threshold whose circuit is taken for the method's own choice."""


@torch.no_grad()
def acdc(subject: Subject, corrupted: bool = False) -> Answer:
    """From the last layer down every edge is cut for good if that costs less than a
    threshold.

    An edge that is cut is zero, and costs loss of the task; or, as in the paper, it
    carries what it carries in the corrupted sequence, and costs divergence from the
    model.

    A pair of positions is cut when the last of its relations is; within a head the
    largest relations are tried first, so that small ones stay. An edge's score is the
    largest threshold that it survives. A threshold goes on from what the one below
    left, where the paper starts anew.
    """
    subject.passes += FEW.stop / len(subject.batch.inputs) * corrupted
    cut = _Cut(subject, corrupted)
    current = cut.cost(lambda at: torch.ones(1, 1, 1, 1))
    scale = cut.cost(lambda at: torch.zeros(1, 1, 1, 1)) - current
    order = sorted(subject.paths, key=_in_turn(subject))
    scores = dict.fromkeys(order, 0.0)
    kept = set(order)
    chosen = None
    for threshold in THRESHOLDS:
        for path in [path for path in order if path in kept]:
            cut.count(path, -1)
            after = cut.cost(lambda at: cut.keep[at][:, FEW])
            if after - current < threshold * scale:
                current = after
                kept.remove(path)
            else:
                cut.count(path, 1)
        scores |= dict.fromkeys(kept, threshold)
        if threshold == OWN:
            chosen = frozenset(kept)
    return Answer(scores, chosen)


def _in_turn(subject: Subject) -> Callable[[AttentionPath], tuple[int, int, float]]:
    """The key by which paths are tried: from the last layer down, large relations
    first.
    """
    sizes = subject.sizes
    return lambda path: (-path.layer, path.head, -sizes[path.relation])


class _Cut:
    """Paths that are cut, and what that costs.

    A pair of positions stays while a relation that is not cut relates it.
    """

    def __init__(self, subject: Subject, corrupted: bool):
        self.subject = subject
        self.corrupted = corrupted
        self.keep = subject.whole()
        nowhere = subject.covered == 0
        self.counts = dict.fromkeys(subject.heads, subject.covered + nowhere)
        self.cells = dict(zip(subject.relations, subject.cells, strict=True))

    def cost(self, keep: Keep) -> float:
        if self.corrupted:
            return float(self.subject.divergence(keep, FEW, "message"))
        return float(self.subject.loss(keep, FEW))

    def count(self, path: AttentionPath, change: int) -> None:
        """Cuts a path (-1) or puts it back (1)."""
        left = self.counts[path.at] + change * self.cells[path.relation]
        self.counts[path.at] = left
        self.keep[path.layer][path.head] = (left > 0.5).float()
