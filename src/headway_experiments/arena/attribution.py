"""Methods that score edges by gradients: the first-order effect of cutting them."""

import torch
from torch import Tensor

from headway_experiments.arena.subject import Answer, Instead, Subject

STEPS = 5
"""Points that gradients are integrated over, as in Hanna et al."""


def eap(subject: Subject, budget: int) -> Answer:
    """Edge attribution patching (Syed et al. 2023, arXiv 2310.10348).

    What cutting an edge does, to first order: the derivative by the pattern, times the pattern less
    the ablated one, which is zero, summed along the relation.
    """
    return _attributed(subject, _slopes(subject))


def eap_corrupted(subject: Subject, budget: int) -> Answer:
    """EAP with pairs of sequences, as in the paper: a cut edge carries what it carries there."""
    subject.passes += 1
    return _attributed(subject, _slopes(subject, instead="message"))


def eap_ig(subject: Subject, budget: int) -> Answer:
    """EAP with integrated gradients (Hanna et al. 2024, arXiv 2403.17806).

    Derivatives are averaged on the way from all attention ablated to all kept.
    """
    return _integrated(subject, budget, "nothing")


def eap_ig_corrupted(subject: Subject, budget: int) -> Answer:
    """EAP-IG with pairs of sequences, on the way from one's messages to the other's.

    The paper goes from one's embeddings to the other's.
    """
    subject.passes += 1
    return _integrated(subject, budget, "message")


def gim(subject: Subject, budget: int) -> Answer:
    """EAP with the gradients of GIM (Edin et al. 2025, arXiv 2505.17630), see `messages.Gentle`."""
    return _attributed(subject, _slopes(subject, gentle=True))


def peap(subject: Subject, budget: int) -> Answer:
    """Position-aware EAP (Haklay et al. 2025, arXiv 2502.04577).

    At every pair of positions, the effect of the corrupted sequence's value there. What pairs of
    the same relation do is summed without signs, so that it cannot cancel. The paper has edges by
    keys beside those by values.
    """
    subject.passes += 1
    return _attributed(subject, [one.abs() for one in _slopes(subject, instead="values")])


def _slopes(
    subject: Subject, share: float = 1.0, instead: Instead = "nothing", gentle: bool = False
) -> list[Tensor]:
    """Derivatives of the margin by the shares of attention that are kept, where all are alike."""
    keep = [(one.detach() * share).requires_grad_() for one in subject.whole()]
    return subject.gradients(subject.margin(lambda at: keep[at], instead, gentle), keep)


def _integrated(subject: Subject, budget: int, instead: Instead) -> Answer:
    steps = max(1, min(STEPS, budget // 2))
    sums = [torch.zeros(()) for _ in range(subject.model.n_layers)]
    for step in range(1, steps + 1):
        slopes = _slopes(subject, step / steps, instead)
        sums = [one + slope / steps for one, slope in zip(sums, slopes, strict=True)]
    return _attributed(subject, sums)


def _attributed(subject: Subject, slopes: list[Tensor]) -> Answer:
    """Scores from derivatives by the shares that are kept, layer by layer."""
    values = torch.stack(slopes).permute(2, 0, 1, 3, 4)  # [sequence, layer, head, query, key]
    heads = values.sum((0, 3, 4)).flatten().abs().tolist()
    paths = {path: abs(value) for path, value in subject.along(values).items()}
    return Answer(dict(zip(subject.heads, heads, strict=True)), paths)
