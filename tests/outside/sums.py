"""Sums of the last numbers: relations that are no roles of a chain."""

from dataclasses import dataclass

import torch

import headway


@dataclass(frozen=True)
class Sums(headway.Task):
    """Numbers below `modulus`; asks at every place for the sum of the last 2, 3, …
    numbers.
    """

    terms: int = 3
    modulus: int = 4
    places: int = 10

    @property
    def vocabulary(self):
        return self.modulus

    @property
    def hops(self):
        return tuple(f"sum of {n}" for n in range(2, self.terms + 1))

    def draw(self, count, generator):
        size = (count, self.places)
        return (
            torch.randint(
                self.modulus, size, generator=generator, device=generator.device
            ),
        )

    def assemble(self, draws):
        (numbers,) = draws
        sums = numbers.cumsum(1)
        before = torch.nn.functional.pad(sums, (self.terms, 0))
        asked = [
            sums - before[:, self.terms - n : -n] for n in range(2, self.terms + 1)
        ]
        queries = torch.stack(asked, dim=2)[:, self.terms - 1 :] % self.modulus
        return headway.Batch(numbers, queries)

    def relations(self, batch):
        places = torch.arange(self.terms - 1, self.places, device=batch.inputs.device)
        queries = places.expand(len(batch.inputs), -1)
        return {
            f"{n} back": headway.Edges(queries, queries[..., None] - n)
            for n in range(1, self.terms)
        }
