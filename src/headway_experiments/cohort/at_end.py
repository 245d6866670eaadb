"""Tasks that ask one question about a sequence, at its last position."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from headway.errors import require
from headway.fields import AtLeastOne
from headway.tasks import Batch, Tokens
from headway_experiments.cohort.base import (
    CohortTask,
    orders_of,
    tokens_below,
    with_last,
)


def asked_last(tokens: Tensor, answers: Tensor) -> Batch:
    """Sequences that are asked one thing, at their last position."""
    return Batch(tokens, answers[:, None, None])


@dataclass(frozen=True)
class MostFrequent(CohortTask):
    """Reads tokens and END: which one is the most frequent?

    One of the other tokens is replaced by it, so that no two are.

    Attributes:
        symbols: how many tokens there are, beside END.
        size: tokens before END.
    """

    symbols: AtLeastOne = 4
    size: AtLeastOne = 9

    @property
    def vocabulary(self) -> int:
        return self.symbols + 1

    def draw(self, count, generator):
        tokens = tokens_below(self.symbols, count, self.size, generator)
        return tokens, orders_of(self.size, count, generator)

    def assemble(self, draws):
        drawn, order = draws
        tokens = drawn.clone()
        kinds = torch.arange(self.symbols, device=tokens.device)
        counts = (tokens[:, :, None] == kinds).sum(1)
        winner = counts.argmax(1)
        others = tokens != winner[:, None]
        replaced = torch.where(others, order, -1).argmax(1, keepdim=True)
        tokens.scatter_(1, replaced, winner[:, None])
        return asked_last(with_last(tokens, self.symbols), winner)


@dataclass(frozen=True)
class Mirrored(CohortTask):
    """Reads two halves and END: is the second half the first one, reversed?

    In half of the sequences it is; in the others one place or more differs.

    Attributes:
        symbols: how many tokens there are, beside END.
        half: tokens in each half.
    """

    symbols: AtLeastOne = 6
    half: AtLeastOne = 4

    @property
    def vocabulary(self) -> int:
        return self.symbols + 1

    @property
    def targets(self) -> Tokens:
        return Tokens(2)

    def draw(self, count, generator):
        first = tokens_below(self.symbols, count, self.half, generator)
        other = tokens_below(self.symbols, count, self.half, generator)
        changed = tokens_below(3, count, self.half, generator)
        alike = tokens_below(2, count, 1, generator)
        return first, other, changed, alike

    def assemble(self, draws):
        first, other, changed, alike = draws
        mirrored = first.flip(1)
        differs = (changed == 0) & (alike == 0)
        second = torch.where(differs, other, mirrored)
        is_mirrored = (second == mirrored).all(1).long()
        tokens = torch.cat([first, second], dim=1)
        return asked_last(with_last(tokens, self.symbols), is_mirrored)


@dataclass(frozen=True)
class Balanced(CohortTask):
    """Reads brackets and END: are they balanced? Models see the whole sequence.

    In half of the sequences they are, unless two of them change places.

    Attributes:
        size: brackets in a sequence, an even number.
    """

    size: AtLeastOne = 8

    @property
    def tokens(self) -> tuple[str, ...]:
        return ("(", ")", "END")

    @property
    def looks_ahead(self) -> bool:
        return True

    @property
    def targets(self) -> Tokens:
        return Tokens(2)

    def __post_init__(self):
        super().__post_init__()
        require(self.size % 2 == 0, "task.size", self.size, "even")

    def draw(self, count, generator):
        orders = orders_of(self.size, count, generator)
        return orders, tokens_below(2, count, 1, generator)

    def assemble(self, draws):
        orders, repaired = draws
        closes = (orders % 2 == 1).long()
        depth = (1 - 2 * closes).cumsum(1)
        # What lies below the ground is turned upside down, so that half are balanced.
        step_is_below = (depth < 0) | ((depth == 0) & (closes == 0))
        turned = torch.where(step_is_below, 1 - closes, closes)
        brackets = torch.where(repaired == 1, turned, closes)
        least = (1 - 2 * brackets).cumsum(1).amin(1)
        return asked_last(with_last(brackets, 2), (least >= 0).long())


@dataclass(frozen=True)
class Occurrence(CohortTask):
    """Reads pairs of a key and a value, and a key that stands in several of them: the
    answer is the value after that occurrence of the key.

    Attributes:
        keys: how many keys there are; there are as many values.
        pairs: in a sequence.
        times: how often the key that is asked for stands there.
        which: occurrence counts, from 1.
    """

    keys: AtLeastOne = 4
    pairs: AtLeastOne = 6
    times: AtLeastOne = 3
    which: AtLeastOne = 2

    def __post_init__(self):
        super().__post_init__()
        require(self.times <= self.pairs, "task.times", self.times, "at most pairs")
        require(self.which <= self.times, "task.which", self.which, "at most times")

    @property
    def vocabulary(self) -> int:
        return 2 * self.keys

    def draw(self, count, generator):
        asked = tokens_below(self.keys, count, 1, generator)
        apart = 1 + tokens_below(self.keys - 1, count, self.pairs, generator)
        values = tokens_below(self.keys, count, self.pairs, generator)
        orders = orders_of(self.pairs, count, generator)
        return asked, apart, values, orders[:, : self.times].sort(1).values

    def assemble(self, draws):
        asked, apart, values, places = draws
        keys = (asked + apart.scatter(1, places, 0)) % self.keys
        told = self.keys + values
        pairs = torch.stack([keys, told], dim=2).flatten(1)
        answers = told.gather(1, places[:, [self.which - 1]])
        return asked_last(torch.cat([pairs, asked], dim=1), answers[:, 0])


@dataclass(frozen=True)
class Beside(CohortTask):
    """Reads different tokens, and one of them again: which stood before or after it?

    Attributes:
        symbols: how many tokens there are.
        size: tokens before the last.
        side: of the token that is asked for.
    """

    symbols: AtLeastOne = 10
    size: AtLeastOne = 8
    side: Literal["before", "after"] = "before"

    def __post_init__(self):
        super().__post_init__()
        require(self.size <= self.symbols, "task.size", self.size, "at most symbols")

    @property
    def vocabulary(self) -> int:
        return self.symbols

    def draw(self, count, generator):
        tokens = orders_of(self.symbols, count, generator)[:, : self.size]
        return tokens, tokens_below(self.size - 1, count, 1, generator)

    def assemble(self, draws):
        tokens, former = draws
        pair = tokens.gather(1, torch.cat([former, former + 1], dim=1))
        answers, asked = pair.unbind(1)
        if self.side == "after":
            answers, asked = asked, answers
        return asked_last(torch.cat([tokens, asked[:, None]], dim=1), answers)


@dataclass(frozen=True)
class SumModulo(CohortTask):
    """Reads numbers and END: what is their sum, modulo a number?

    Attributes:
        modulus: numbers are below it.
        terms: numbers in a sequence.
    """

    modulus: AtLeastOne = 5
    terms: AtLeastOne = 3

    @property
    def vocabulary(self) -> int:
        return self.modulus + 1

    def draw(self, count, generator):
        return (tokens_below(self.modulus, count, self.terms, generator),)

    def assemble(self, draws):
        (tokens,) = draws
        total = tokens.sum(1) % self.modulus
        return asked_last(with_last(tokens, self.modulus), total)


@dataclass(frozen=True)
class FirstOrLast(CohortTask):
    """Reads tokens and a word for which of them is asked for: the first or the last.

    Attributes:
        symbols: how many tokens there are, beside the two words.
        size: tokens before the word.
    """

    symbols: AtLeastOne = 8
    size: AtLeastOne = 8

    @property
    def vocabulary(self) -> int:
        return self.symbols + 2

    def draw(self, count, generator):
        tokens = tokens_below(self.symbols, count, self.size, generator)
        return tokens, tokens_below(2, count, 1, generator)

    def assemble(self, draws):
        tokens, is_last = draws
        words = self.symbols + is_last
        answers = torch.where(is_last[:, 0] == 1, tokens[:, -1], tokens[:, 0])
        return asked_last(torch.cat([tokens, words], dim=1), answers)
