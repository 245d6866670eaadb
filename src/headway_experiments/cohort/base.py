"""The base of the cohorts' tasks, and steps that several of them share."""

from typing import Any

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from headway.tasks import IGNORE_INDEX, Batch, Task

Sequences = Int[Tensor, "sequence position"]
Marked = Bool[Tensor, "sequence position"]


class CohortTask(Task, registered=False):
    """A task that no run names, and that says nothing of what heads may look at."""

    def __init_subclass__(cls, **kwargs: Any):
        super().__init_subclass__(registered=False, **kwargs)


def tokens_below(
    symbols: int, count: int, length: int, generator: torch.Generator
) -> Sequences:
    """Sequences of independent tokens, each as likely as any other."""
    size = (count, length)
    return torch.randint(symbols, size, generator=generator, device=generator.device)


def orders_of(size: int, count: int, generator: torch.Generator) -> Sequences:
    """Random orders of the numbers below a size, one for every sequence."""
    noise = torch.rand(count, size, generator=generator, device=generator.device)
    return noise.argsort(1)


def places_in(tokens: Sequences) -> Sequences:
    """The number of every position, in every sequence."""
    numbers = torch.arange(tokens.shape[1], device=tokens.device)
    return numbers.expand_as(tokens)


def latest_place(marked: Marked) -> Sequences:
    """The latest marked position up to each; -1 where there is none yet."""
    numbers = torch.arange(marked.shape[1], device=marked.device)
    places = torch.where(marked, numbers, -1)
    return places.cummax(1).values


def first_place(marked: Marked) -> Sequences:
    """The first marked position up to each; -1 where there is none yet."""
    length = marked.shape[1]
    numbers = torch.arange(length, device=marked.device)
    places = torch.where(marked, numbers, length).cummin(1).values
    return torch.where(places < length, places, -1)


def answered_at(tokens: Sequences, places: Sequences) -> Batch:
    """Sequences whose answers stand at some of their own positions.

    Args:
        tokens: the sequences.
        places: for every position where its answer stands; negative where nothing is
            asked.
    """
    answers = tokens.gather(1, places.clamp(min=0))
    asked = torch.where(places < 0, IGNORE_INDEX, answers)
    return Batch(tokens, asked[..., None])


def with_last(tokens: Sequences, token: int) -> Sequences:
    """Sequences with one more token, the same in all of them."""
    last = torch.full_like(tokens[:, :1], token)
    return torch.cat([tokens, last], dim=1)
