"""ACDC (Conmy et al. 2023, arXiv 2304.14997): cut edge after edge while the loss stays."""

from collections.abc import Callable

import torch
from torch import Tensor

from headway.circuits import AttentionPath
from headway_experiments.arena.subject import Answer, Keep, Subject

THRESHOLDS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
"""The costs that one cut may have, in parts of what ablating everything costs."""

FEW = 32
"""Sequences that edges are tried on, as there are so many edges; the first of all."""
FEWER = slice(FEW)

OWN = 0.01
"""The threshold whose circuit is taken for the method's own choice."""


def acdc(subject: Subject, budget: int) -> Answer:
    """ACDC by the task's loss; attention that is cut is zero."""
    return _cut(subject, budget, lambda keep: subject.loss(keep, FEWER))


def acdc_corrupted(subject: Subject, budget: int) -> Answer:
    """ACDC as in the paper: by the divergence from the model, and what is cut is as in the
    corrupted sequence."""
    subject.passes += FEW / len(subject.batch.inputs)
    return _cut(subject, budget, lambda keep: subject.divergence(keep, FEWER, "message"))


@torch.no_grad()
def _cut(subject: Subject, budget: int, cost: Callable[[Keep], Tensor]) -> Answer:
    """From the last layer down every edge is cut for good if that costs less than a threshold.

    A pair of positions is cut when the last of its relations is; within a head the largest
    relations are tried first, so that small ones stay. An edge's score is the largest threshold
    that it survives; once the budget is spent, edges that were not tried survive all that are
    left. A threshold goes on from what the one below left, where the paper starts anew.
    """
    covered = subject.covered
    counts = dict.fromkeys(subject.heads, covered + (covered == 0))
    keep = subject.whole()
    number = {name: i for i, name in enumerate(subject.relations)}

    def count(path: AttentionPath, change: int) -> None:
        """Cuts a path (-1) or puts it back (1)."""
        counts[path.at] = counts[path.at] + change * subject.cells[number[path.relation]]
        keep[path.layer][path.head] = (counts[path.at] > 0.5).float()

    current = cost(lambda at: torch.ones(1, 1, 1, 1)).item()
    scale = cost(lambda at: torch.zeros(1, 1, 1, 1)).item() - current
    order = sorted(
        subject.paths, key=lambda path: (-path.layer, path.head, -subject.sizes[path.relation])
    )
    scores, kept = dict.fromkeys(order, 0.0), set(order)
    chosen = None
    for threshold in THRESHOLDS:
        for path in [one for one in order if one in kept]:
            if subject.passes >= budget:
                break
            count(path, -1)
            after = cost(lambda at: keep[at][:, :FEW]).item()
            if after - current < threshold * scale:
                current = after
                kept.remove(path)
            else:
                count(path, 1)
        scores |= dict.fromkeys(kept, threshold)
        if threshold == OWN:
            chosen = frozenset(kept)
    return Answer(subject.best_of(scores), scores, chosen)
