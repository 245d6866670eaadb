"""Token tasks of a user: numbers, and words."""

from dataclasses import dataclass

import torch

from headway.tasks import Batch, Task

NAMES = ("Alexandra", "Christopher", "Eve", "Bob", "Maximiliane")
CITIES = ("São Paulo", "Llanfairpwllgwyngyll", "Rio", "Barcelona", "Ulm")
WORDS = (*NAMES, *CITIES, "lives", "in", ".")


@dataclass(frozen=True)
class TwoPlacesBack(Task):
    """At every position from the third on the token two back."""

    vocabulary = 6

    def draw(self, count, generator):
        return (torch.randint(6, (count, 10), generator=generator),)

    def assemble(self, draws):
        return Batch(draws[0], draws[0][:, :-2, None])


@dataclass(frozen=True)
class Homes(Task):
    """Four times a name lives in a city; then a name: where does she live?"""

    vocabulary = len(WORDS)

    def token_name(self, token):
        return WORDS[token]

    def draw(self, count, generator):
        names, cities = torch.rand(2, count, 5, generator=generator).argsort(-1)
        return names, 5 + cities, torch.randint(4, (count, 1), generator=generator)

    def assemble(self, draws):
        names, cities, asked = draws
        lives, ends = torch.full_like(asked, 10), torch.full_like(asked, 12)
        told = []
        for i in range(4):
            told += [names[:, i : i + 1], lives, lives + 1, cities[:, i : i + 1], ends]
        told.append(names.gather(1, asked))
        return Batch(torch.cat(told, 1), cities.gather(1, asked)[:, :, None])
