"""ACDC (Conmy et al. 2023, arXiv 2304.14997): cut edge after edge while the loss stays."""

import torch

from headway.relations import AttentionPath
from headway_experiments.arena.subject import FEW, Answer, Keep, Subject

THRESHOLDS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
"""The costs that one cut may have, in parts of what ablating everything costs."""

OWN = 0.01
"""The threshold whose circuit is taken for the method's own choice."""


@torch.no_grad()
def acdc(subject: Subject, corrupted: bool = False) -> Answer:
    """From the last layer down every edge is cut for good if that costs less than a threshold.

    An edge that is cut is zero, and costs loss of the task; or, as in the paper, it carries what it
    carries in the corrupted sequence, and costs divergence from the model.

    A pair of positions is cut when the last of its relations is; within a head the largest
    relations are tried first, so that small ones stay. An edge's score is the largest threshold
    that it survives. A threshold goes on from what the one below left, where the paper starts anew.
    """

    def cost(keep: Keep) -> float:
        if corrupted:
            return float(subject.divergence(keep, FEW, "message"))
        return float(subject.loss(keep, FEW))

    subject.passes += FEW.stop / len(subject.batch.inputs) * corrupted
    covered = subject.covered
    counts = dict.fromkeys(subject.heads, covered + (covered == 0))
    keep = subject.whole()
    number = {name: i for i, name in enumerate(subject.relations)}

    def count(path: AttentionPath, change: int) -> None:
        """Cuts a path (-1) or puts it back (1)."""
        counts[path.at] = counts[path.at] + change * subject.cells[number[path.relation]]
        keep[path.layer][path.head] = (counts[path.at] > 0.5).float()

    current = cost(lambda at: torch.ones(1, 1, 1, 1))
    scale = cost(lambda at: torch.zeros(1, 1, 1, 1)) - current
    order = sorted(
        subject.paths, key=lambda path: (-path.layer, path.head, -subject.sizes[path.relation])
    )
    scores, kept = dict.fromkeys(order, 0.0), set(order)
    chosen = None
    for threshold in THRESHOLDS:
        for path in [one for one in order if one in kept]:
            count(path, -1)
            after = cost(lambda at: keep[at][:, FEW])
            if after - current < threshold * scale:
                current = after
                kept.remove(path)
            else:
                count(path, 1)
        scores |= dict.fromkeys(kept, threshold)
        if threshold == OWN:
            chosen = frozenset(kept)
    return Answer(scores, chosen)
