"""Methods that score edges by gradients: the first-order effect of cutting them."""

from dataclasses import dataclass

import torch
from torch import Tensor

from headway_experiments.arena.subject import Answer, Instead, Subject


@dataclass(frozen=True)
class Attribution:
    """Edge attribution patching and what followed it, for attention paths.

    What cutting an edge does, to first order: the derivative by the share of it that is
    kept, summed along the relation. Plain, it is EAP (Syed et al. 2023, arXiv
    2310.10348).

    Attributes:
        instead: what a cut edge carries. EAP's paper has pairs of sequences: the
            `message` of the corrupted one. Of it the `values` alone are for edges by
            position (see `unsigned`).
        steps: points over which derivatives are averaged, on the way from all cut to
            none: EAP-IG (Hanna et al. 2024, arXiv 2403.17806), which goes from
            embeddings to embeddings there.
        gentle: with the gradients of GIM (`gentle.py`).
        unsigned: every pair of positions is an edge, whose effect cannot cancel
            another's: PEAP (Haklay et al. 2025, arXiv 2502.04577), without its edges by
            keys.
    """

    instead: Instead = "nothing"
    steps: int = 1
    gentle: bool = False
    unsigned: bool = False

    def __call__(self, subject: Subject) -> Answer:
        """Scores every path."""
        # The corrupted sequences are read, too.
        subject.passes += self.instead != "nothing"
        values = self._mean_slopes(subject)
        if self.unsigned:
            values = values.abs()
        along = subject.along(values)
        sizes = {path: abs(value) for path, value in along.items()}
        return Answer(sizes)

    def _mean_slopes(self, subject: Subject) -> Tensor:
        """The margin's derivatives by attention, averaged over the way, [sequence,
        layer, head, query, key].
        """
        sums = [torch.zeros(()) for _ in range(subject.model.n_layers)]
        for step in range(1, self.steps + 1):
            slopes = self._slopes(subject, step)
            sums = [
                total + slope / self.steps
                for total, slope in zip(sums, slopes, strict=True)
            ]
        return torch.stack(sums).permute(2, 0, 1, 3, 4)

    def _slopes(self, subject: Subject, step: int) -> list[Tensor]:
        """The margin's derivatives by the attention of every layer, at a step of the
        way.
        """
        keep = []
        for whole in subject.whole():
            share = whole.detach() * step / self.steps
            keep.append(share.requires_grad_())
        outputs = subject.outputs(lambda at: keep[at], self.instead, self.gentle)
        return subject.gradients(subject.margin(outputs), keep)
