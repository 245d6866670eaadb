"""Tasks that ask at many positions of a sequence for something that stood before."""

from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from annotated_types import Ge
from torch import Tensor

from headway.fields import AtLeastOne
from headway.tasks import IGNORE_INDEX, Batch, Tokens
from headway_experiments.cohort.base import (
    CohortTask,
    answered_at,
    first_place,
    latest_place,
    places_in,
    tokens_below,
    with_last,
)


@dataclass(frozen=True)
class Random(CohortTask):
    """Sequences of independent tokens.

    Attributes:
        symbols: how many tokens there are.
        size: tokens in a sequence.
    """

    symbols: AtLeastOne = 8
    size: AtLeastOne = 12

    @property
    def vocabulary(self) -> int:
        return self.symbols

    def draw(self, count, generator):
        return (tokens_below(self.symbols, count, self.size, generator),)


@dataclass(frozen=True)
class Back(Random):
    """The answer is the token some places back."""

    distance: AtLeastOne = 2

    def assemble(self, draws):
        (tokens,) = draws
        return answered_at(tokens, places_in(tokens) - self.distance)


@dataclass(frozen=True)
class Ahead(Random):
    """The answer is the token some places ahead; models see the whole sequence."""

    distance: AtLeastOne = 2

    @property
    def looks_ahead(self) -> bool:
        return True

    def assemble(self, draws):
        (tokens,) = draws
        ahead = places_in(tokens) + self.distance
        places = torch.where(ahead < self.size, ahead, -1)
        return answered_at(tokens, places)


@dataclass(frozen=True)
class Blocks(Random):
    """Sequences fall into blocks of equal size: the answer is the first token of the
    own block, or the last of the block before.
    """

    block: AtLeastOne = 4
    which: Literal["first of own", "last of former"] = "first of own"

    def assemble(self, draws):
        (tokens,) = draws
        numbers = places_in(tokens)
        start = numbers - numbers % self.block
        if self.which == "first of own":
            return answered_at(tokens, start)
        return answered_at(tokens, start - 1)


@dataclass(frozen=True)
class EveryOther(CohortTask):
    """Reads zeros and ones: at p, which of the two is more frequent at p, p - step,
    p - 2 · step, and so on? Asked where that is an odd number of places.

    Attributes:
        step: from one place to the next.
        size: tokens in a sequence.
    """

    step: AtLeastOne = 3
    size: AtLeastOne = 15

    @property
    def vocabulary(self) -> int:
        return 2

    def draw(self, count, generator):
        return (tokens_below(2, count, self.size, generator),)

    def assemble(self, draws):
        (tokens,) = draws
        numbers = torch.arange(self.size, device=tokens.device)
        apart = numbers[:, None] - numbers
        counted = (apart >= 0) & (apart % self.step == 0)
        ones = (tokens[:, None] * counted).sum(2)
        places = counted.sum(1)
        winner = (2 * ones > places).long()
        answers = torch.where(places % 2 == 1, winner, IGNORE_INDEX)
        return Batch(tokens, answers[..., None])


@dataclass(frozen=True)
class Parity(CohortTask):
    """Reads zeros and ones: is the number of ones so far odd?

    Attributes:
        size: tokens in a sequence.
    """

    size: AtLeastOne = 6

    @property
    def vocabulary(self) -> int:
        return 2

    def draw(self, count, generator):
        return (tokens_below(2, count, self.size, generator),)

    def assemble(self, draws):
        (tokens,) = draws
        parity = tokens.cumsum(1) % 2
        return Batch(tokens, parity[..., None])


@dataclass(frozen=True)
class Extreme(Random):
    """The answer is the largest number so far, or the smallest."""

    which: Literal["largest", "smallest"] = "largest"

    def assemble(self, draws):
        (tokens,) = draws
        if self.which == "largest":
            extreme = tokens.cummax(1).values
        else:
            extreme = tokens.cummin(1).values
        return Batch(tokens, extreme[..., None])


@dataclass(frozen=True)
class OfSet(Random):
    """The answer is the first, or the latest, token so far that is below a number."""

    below: AtLeastOne = 3
    which: Literal["first", "latest"] = "latest"

    def assemble(self, draws):
        (tokens,) = draws
        belongs = tokens < self.below
        if self.which == "latest":
            return answered_at(tokens, latest_place(belongs))
        return answered_at(tokens, first_place(belongs))


@dataclass(frozen=True)
class LatestRun(Random):
    """The answer is the latest token so far that stood twice in a row."""

    def assemble(self, draws):
        (tokens,) = draws
        repeated = torch.zeros_like(tokens, dtype=torch.bool)
        repeated[:, 1:] = tokens[:, 1:] == tokens[:, :-1]
        return answered_at(tokens, latest_place(repeated))


def same_before(tokens: Tensor) -> Tensor:
    """[sequence, position, earlier position]: where the same token stood."""
    return (tokens[:, :, None] == tokens[:, None]).tril(-1)


@dataclass(frozen=True)
class Induction(Random):
    """The answer is what followed the latest earlier place of the own token."""

    def assemble(self, draws):
        (tokens,) = draws
        numbers = torch.arange(self.size, device=tokens.device)
        latest = torch.where(same_before(tokens), numbers, -1).amax(2)
        places = torch.where(latest < 0, -1, latest + 1)
        return answered_at(tokens, places)


@dataclass(frozen=True)
class Occurred(Random):
    """The answer is how often the own token stood before, at most so often."""

    most: AtLeastOne = 1

    @property
    def targets(self) -> Tokens:
        return Tokens(self.most + 1)

    @property
    def vocabulary(self) -> int:
        """The last token stands at the start alone."""
        return self.symbols + 1

    def assemble(self, draws):
        (tokens,) = draws
        counts = same_before(tokens).sum(2).clamp(max=self.most)
        start = torch.full_like(tokens[:, :1], self.symbols)
        return Batch(torch.cat([start, tokens], dim=1), counts[..., None])


@dataclass(frozen=True)
class BackIf(Random):
    """The answer is the token some places back if a 0 stood anywhere before or stands
    there, and else the own token.
    """

    distance: AtLeastOne = 1

    def assemble(self, draws):
        (tokens,) = draws
        numbers = places_in(tokens)
        switched = (tokens == 0).cummax(1).values
        places = torch.where(switched, numbers - self.distance, numbers)
        places[:, : self.distance] = -1
        return answered_at(tokens, places)


@dataclass(frozen=True)
class AfterMark(Random):
    """The answer is the token after the latest 0; nothing is asked at a 0."""

    def assemble(self, draws):
        (tokens,) = draws
        is_mark = tokens == 0
        latest = latest_place(is_mark)
        places = torch.where(is_mark | (latest < 0), -1, latest + 1)
        return answered_at(tokens, places)


@dataclass(frozen=True)
class BackBy(Random):
    """The own token says how many places back the answer stands."""

    def assemble(self, draws):
        (tokens,) = draws
        return answered_at(tokens, places_in(tokens) - tokens)


@dataclass(frozen=True)
class Alternating(Random):
    """The answer is the token some places back, at even and at odd positions another
    number of places.

    Attributes:
        even: places back at even positions.
        odd: places back at odd ones.
    """

    even: AtLeastOne = 1
    odd: AtLeastOne = 3

    def assemble(self, draws):
        (tokens,) = draws
        numbers = places_in(tokens)
        back = torch.where(numbers % 2 == 0, self.even, self.odd)
        return answered_at(tokens, numbers - back)


@dataclass(frozen=True)
class Smaller(Random):
    """The answer is how many earlier numbers are smaller than the own one, at most so
    many.
    """

    most: AtLeastOne = 3

    @property
    def targets(self) -> Tokens:
        return Tokens(self.most + 1)

    def assemble(self, draws):
        (tokens,) = draws
        is_smaller = (tokens[:, None] < tokens[:, :, None]).tril(-1)
        counts = is_smaller.sum(2).clamp(max=self.most)
        return Batch(tokens, counts[..., None])


@dataclass(frozen=True)
class Chain(CohortTask):
    """A Markov chain: at each position, the likeliest next token, given two tokens.

    Attributes:
        symbols: how many tokens there are.
        size: tokens in a sequence.
        skip: the two tokens are the own one and the one so many places back.
        likely: so many of a hundred tokens are the likeliest; the others are any.
        table: the seed of the likeliest token by the two.
    """

    symbols: AtLeastOne = 5
    size: AtLeastOne = 12
    skip: AtLeastOne = 1
    likely: AtLeastOne = 60
    table: Annotated[int, Ge(0)] = 0

    @property
    def vocabulary(self) -> int:
        return self.symbols

    @property
    def likeliest(self) -> Tensor:
        """[earlier token, own token]: the likeliest next token."""
        generator = torch.Generator().manual_seed(self.table)
        return tokens_below(self.symbols, self.symbols, self.symbols, generator)

    def draw(self, count, generator):
        free = tokens_below(self.symbols, count, self.size, generator)
        chances = tokens_below(100, count, self.size, generator)
        return free, chances

    def assemble(self, draws):
        free, chances = draws
        likeliest = self.likeliest.to(free.device)
        tokens = free.clone()
        answers = torch.full_like(tokens, IGNORE_INDEX)
        for place in range(self.skip, self.size):
            earlier = tokens[:, place - self.skip]
            answers[:, place] = likeliest[earlier, tokens[:, place]]
            if place + 1 < self.size:
                follows = chances[:, place] < self.likely
                told = answers[:, place]
                tokens[:, place + 1] = torch.where(follows, told, free[:, place + 1])
        return Batch(tokens, answers[..., None])


@dataclass(frozen=True)
class Rewritten(CohortTask):
    """Reads tokens, SEP, and the same tokens in another order; from SEP on, each
    position predicts the next token.

    Attributes:
        symbols: how many tokens there are, beside SEP.
        size: tokens before SEP.
        order: of the tokens after SEP. `as told` is the same order if the first token
            is even, and else reversed; `rotated` begins with the second token.
    """

    symbols: AtLeastOne = 8
    size: AtLeastOne = 6
    order: Literal["same", "reversed", "rising", "falling", "rotated", "as told"] = (
        "same"
    )

    @property
    def vocabulary(self) -> int:
        return self.symbols + 1

    def draw(self, count, generator):
        return (tokens_below(self.symbols, count, self.size, generator),)

    def assemble(self, draws):
        (tokens,) = draws
        answers = self.rewritten(tokens)
        asked = with_last(tokens, self.symbols)
        return Batch(torch.cat([asked, answers[:, :-1]], dim=1), answers[..., None])

    def rewritten(self, tokens: Tensor) -> Tensor:
        """The tokens in the other order."""
        match self.order:
            case "same":
                return tokens
            case "reversed":
                return tokens.flip(1)
            case "rotated":
                return tokens.roll(-1, 1)
            case "as told":
                is_even = tokens[:, :1] % 2 == 0
                return torch.where(is_even, tokens, tokens.flip(1))
        return tokens.sort(1, descending=self.order == "falling").values


@dataclass(frozen=True)
class Addition(CohortTask):
    """Reads the digits of two numbers and of their sum, the least one first; from the
    last digit of the second on, each position predicts the next digit of the sum.

    Attributes:
        base: of the numbers.
        digits: of each number; the sum has one more.
    """

    base: AtLeastOne = 4
    digits: AtLeastOne = 2

    @property
    def vocabulary(self) -> int:
        return self.base

    def draw(self, count, generator):
        return (tokens_below(self.base, count, 2 * self.digits, generator),)

    def assemble(self, draws):
        (tokens,) = draws
        powers = self.base ** torch.arange(self.digits + 1, device=tokens.device)
        first = (tokens[:, : self.digits] * powers[:-1]).sum(1)
        second = (tokens[:, self.digits :] * powers[:-1]).sum(1)
        total = first + second
        answers = total[:, None] // powers % self.base
        return Batch(torch.cat([tokens, answers[:, :-1]], dim=1), answers[..., None])
