"""A task of tokens: in `c d a b a c`, the answer at the last `a` is b, and at the last
`c` it is d.

headway check token_task.py    # is the task sound?
python token_task.py           # train, circuit, emergence, page
"""

from dataclasses import dataclass, replace

import torch

from headway import Batch, Task, discover, emergence, own, train, write_report


@dataclass(frozen=True)
class Lookup(Task):
    """Reads `c d a b a c`: the value of a is b, and that of c is d."""

    n_pairs: int = 4
    n_symbols: int = 12

    roles = ("query", "key", "value")

    @property
    def vocabulary(self):
        """Tokens are whole numbers from 0."""
        return self.n_symbols

    def draw(self, count, generator):
        """Draw the symbols of the pairs, and the order of the queries: nothing else is
        random.
        """

        def shuffled(n):
            noise = torch.rand(count, n, generator=generator, device=generator.device)
            return noise.argsort(1)

        return shuffled(self.n_symbols)[:, : 2 * self.n_pairs], shuffled(self.n_pairs)

    def assemble(self, draws):
        """Sequences, their answers, and the position of every role."""
        # Key, value, key, value, …; which pair each query asks for.
        pairs, order = draws
        keys = 2 * order
        tokens = torch.cat([pairs, pairs.gather(1, keys)], dim=1)
        queries = torch.arange(2 * self.n_pairs, tokens.shape[1], device=keys.device)
        roles = torch.stack([queries.expand_as(keys), keys, keys + 1], dim=1)
        return Batch(tokens, pairs.gather(1, keys + 1)[:, :, None], roles)


if __name__ == "__main__":
    config = own(Lookup(), layers=2)
    run = train(replace(config, model=replace(config.model, n_heads=1)), "runs/lookup")
    found = discover(run, ablation="mean")
    print(found)
    print(emergence(run, found))
    print(write_report(run))
