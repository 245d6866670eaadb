"""Retrieval of vectors in which every key is assigned twice, and the later assignment
counts.
"""

from dataclasses import dataclass

import torch

import headway


@dataclass(frozen=True)
class Reassigned(headway.Task):
    """Pairs of a key and a value in random order, two pairs a key; then the keys once
    more.
    """

    n_keys: int = 3
    size: int = 4

    @property
    def roles(self):
        return ("query", "old key", "old value", "key", "value")

    @property
    def hops(self):
        return ("value",)

    def draw(self, count, generator):
        def normal(*shape):
            return torch.randn(
                count, *shape, generator=generator, device=generator.device
            )

        n = self.n_keys
        k = self.size
        return normal(n, k), normal(n, 2, k), normal(2 * n).argsort(1)

    def assemble(self, draws):
        keys, values, order = draws
        count, n, k = keys.shape
        # Of every key the earlier, and the later.
        pairs = order.view(count, n, 2).sort(2).values
        queries = (4 * n + torch.arange(n, device=keys.device)).expand(count, n)
        tokens = keys.new_empty(count, 5 * n, k)
        rows = torch.arange(count, device=keys.device)[:, None]
        tokens[rows, queries] = keys
        for which in (0, 1):
            tokens[rows, 2 * pairs[:, :, which]] = keys
            tokens[rows, 2 * pairs[:, :, which] + 1] = values[:, :, which]
        code = headway.tasks.sinusoid(torch.arange(5 * n, device=keys.device), k)
        inputs = torch.cat([tokens, code.expand(count, -1, -1)], dim=2)
        old = 2 * pairs.unbind(2)[0]
        new = 2 * pairs.unbind(2)[1]
        roles = torch.stack([queries, old, old + 1, new, new + 1], dim=1)
        return headway.Batch(inputs, values[:, :, 1, None], roles)
