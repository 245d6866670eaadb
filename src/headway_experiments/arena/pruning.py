"""Edge pruning (Bhaskar et al. 2024, arXiv 2406.16778): learn which edges can be switched off."""

import torch
from torch import Tensor

from headway_experiments.arena.subject import Answer, Subject

STEPS, BATCH, RATE = 150, 16, 0.1
PENALTY = 3.0
"""The cost of keeping every edge, in parts of what ablating everything costs."""

TEMPERATURE, LOW, HIGH = 2 / 3, -0.1, 1.1
"""Of the hard concrete distribution (Louizos et al. 2018, arXiv 1712.01312)."""


def edge_pruning(subject: Subject, budget: int) -> Answer:
    """Trains a gate for every edge, and one a head for all pairs of positions in no relation.

    Gates are drawn from hard concrete distributions; how many are open is penalised. A pair of
    positions is kept unless the gates of all its relations are shut. Scores are the logits.
    """
    cells = subject.cells
    cells = torch.cat([cells, 1 - cells.amax(0, keepdim=True)])
    layers, heads = subject.model.n_layers, subject.model.n_heads
    logits = torch.full((layers, heads, len(cells)), 2.0, requires_grad=True)
    optimiser = torch.optim.Adam([logits], lr=RATE)
    rng = torch.Generator().manual_seed(0)
    with torch.no_grad():
        ablated = subject.loss(lambda at: torch.zeros(1, 1, 1, 1)).item()

    def kept(gates: Tensor, part: slice) -> Tensor:
        shut = torch.einsum("hr,rbqk->hbqk", torch.log1p(-0.999 * gates), cells[:, part])
        return 1 - shut.exp()

    count = len(subject.batch.inputs)
    for step in range(max(1, min(STEPS, (budget - 1) * count // (2 * BATCH)))):
        part = slice(start := step * BATCH % count, start + BATCH)
        noise = torch.rand(logits.shape, generator=rng).clamp(1e-6, 1 - 1e-6)
        soft = torch.sigmoid((noise.logit() + logits) / TEMPERATURE)
        gates = (soft * (HIGH - LOW) + LOW).clamp(0, 1)
        open_ = torch.sigmoid(logits - TEMPERATURE * torch.log(torch.tensor(-LOW / HIGH)))
        loss = subject.loss(lambda at, gates=gates, part=part: kept(gates[at], part), part)
        total = loss / ablated + PENALTY * open_.mean()
        (logits.grad,) = subject.gradients(total, [logits], BATCH / count)
        optimiser.step()
    scores = logits.detach()[..., :-1].flatten().tolist()
    paths = dict(zip(subject.paths, scores, strict=True))
    chosen = frozenset(path for path, score in paths.items() if score > 0)
    return Answer(subject.best_of(paths), paths, chosen)
