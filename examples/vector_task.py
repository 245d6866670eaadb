"""A task of vectors: pairs of a key and a value, all drawn afresh; then the keys once
more.
"""

from dataclasses import dataclass, replace

import torch

from headway import Batch, Task, discover, own, train
from headway.tasks import sinusoid


@dataclass(frozen=True)
class VectorLookup(Task):
    """Pairs of a key and a value, all of them random vectors; then the keys in another
    order.
    """

    n_pairs: int = 3
    size: int = 4

    roles = ("query", "key", "value")

    def draw(self, count, generator):
        """Draw keys, values, and the order of the queries: nothing else is random."""

        def normal(*shape):
            return torch.randn(
                count, *shape, generator=generator, device=generator.device
            )

        return normal(2, self.n_pairs, self.size), normal(self.n_pairs).argsort(1)

    def assemble(self, draws):
        """Vectors with a position code behind them, answers, and the position of every
        role.
        """
        (keys, values), order = draws[0].unbind(1), draws[1]
        rows, n = torch.arange(len(keys), device=keys.device)[:, None], self.n_pairs
        pairs = torch.stack([keys, values], dim=2).flatten(1, 2)
        vectors = torch.cat([pairs, keys[rows, order]], dim=1)
        places = torch.arange(3 * n, device=keys.device)
        code = sinusoid(places, self.size).expand(len(keys), -1, -1)
        roles = torch.stack(
            [places[2 * n :].expand_as(order), 2 * order, 2 * order + 1], dim=1
        )
        return Batch(
            torch.cat([vectors, code], 2), values[rows, order][:, :, None], roles
        )


if __name__ == "__main__":
    config = own(VectorLookup(), layers=2)
    run = train(replace(config, model=replace(config.model, n_heads=1)), "runs/vectors")
    found = discover(run, ablation="mean")
    print(found)
