"""Variable assignment in random order: what is the last letter worth, in the end?"""

from dataclasses import dataclass

import torch

import headway


@dataclass(frozen=True)
class Assignments(headway.Task):
    """Reads `b=c q=r a=b p=q a`: a is worth b, which is worth c. Other chains are
    distractors.
    """

    depth: int = 2
    n_chains: int = 2
    n_letters: int = 8

    @property
    def vocabulary(self):
        return self.n_letters + 1  # the letters, and "="

    @property
    def roles(self):
        hops = range(1, self.depth + 1)  # "=" is one, too: heads pass symbols on by it
        return (
            "s0",
            *(role for i in hops for role in (f"s{2 * i - 1}", f"is{i}", f"s{2 * i}")),
        )

    def draw(self, count, generator):
        def shuffled(n):
            noise = torch.rand(count, n, generator=generator, device=generator.device)
            return noise.argsort(1)

        return shuffled(self.n_letters), shuffled(self.n_chains * self.depth)

    def assemble(self, draws):
        letters, places = draws  # places[:, i]: where the assignment i stands
        count = len(letters)
        chains = letters[:, : self.n_chains * (self.depth + 1)]
        chains = chains.view(count, self.n_chains, self.depth + 1)
        equals = torch.full_like(chains[:, :, 1:], self.n_letters)
        assignments = torch.stack([chains[:, :, :-1], equals, chains[:, :, 1:]], dim=3)
        text = torch.empty_like(assignments).flatten(1, 2)
        text[torch.arange(count)[:, None], places] = assignments.flatten(1, 2)
        tokens = torch.cat([text.flatten(1), chains[:, 0, :1]], dim=1)
        own = 3 * places[:, : self.depth]  # the chain that is asked about
        roles = torch.stack([own, own + 1, own + 2], dim=2).flatten(1)
        roles = torch.cat(
            [torch.full_like(own[:, :1], tokens.shape[1] - 1), roles], dim=1
        )
        return headway.Batch(tokens, chains[:, :1, 1:], roles[:, :, None])
