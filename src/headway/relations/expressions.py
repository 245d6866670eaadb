"""Expressions, for what heads look at: small trees that are written in English.

    relation   a part `, else` another: for queries that the first gives no key
    part       keys `for tokens 0–3`: for queries that are among these;
               keys `by weight (token 0 0.5)`: these tokens count so much, others 1
               part `for queries of NAME`: at positions that the task's relation NAME
               has among its keys
    keys       some `and` others: the keys of both
    moved      `after`, `before`: the position next to each of these; `since`: the
               latest of these and all behind it
    if         `if the same token`, `if another token` than the query's
    of them    `latest`, `earliest`, `largest`, `smallest`; `second`, `third` or
               `fourth` of these; `latest run of`: those in a row; by default all
    primitive  see `headway.relations.primitives`

Without an order tokens are not larger or smaller; vectors have places alone.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from headway.errors import HeadwayError
from headway.relations.primitives import (
    PATTERNS,
    PRIMITIVES,
    Arguments,
    Primitive,
    Tokens,
)

if TYPE_CHECKING:
    from headway.relations.composed import Composed

Mask = Bool[Tensor, "batch query key"]
Weights = Float[Tensor, "batch query key"]

ELSE, AND, FOR, BY_WEIGHT = ", else ", " and ", " for tokens ", " by weight ("
QUERIES, SINCE = " for queries of ", "since "
MOVES = {"after ": 1, "before ": -1}
CONDITIONS = {" if the same token": True, " if another token": False}
RANKS = ("", "second ", "third ", "fourth ")
ENDS = ("latest", "earliest")
RUN = "latest run of "

WORD = 5.0
"""The price of a primitive in bits, without its numbers."""

MORE = 2.0
"""The price of every other word."""

SET = 3.0
"""The price of a range of tokens."""

WEIGHT = 8.0
"""The price of a weight."""


class Expression:
    """Something to look at."""

    own_price = MORE
    """The price of its own words and numbers in bits."""

    @property
    def inner(self) -> "list[Expression]":
        """The expressions that it is made of."""
        return [value for value in vars(self).values() if isinstance(value, Expression)]

    @property
    def price(self) -> float:
        """The length of its description in bits."""
        return sum(each.price for each in self.inner) + self.own_price

    @property
    def parts(self) -> int:
        """The number of its parts, as a reader counts them."""
        return sum(each.parts for each in self.inner) or 1

    def mask(self, at: "Composed") -> Mask:
        """The keys of every query in some sequences."""
        raise NotImplementedError

    def weights(self, at: "Composed") -> Weights:
        """The weight of every key, in proportion; 0 for what is no key."""
        return at.mask(self).float()


@dataclass(frozen=True)
class Given(Expression):
    """A relation that a task gives."""

    name: str

    own_price = WORD

    def mask(self, at: "Composed") -> Mask:
        """Its keys, of these sequences."""
        return at.of_given(self.name)

    def __str__(self):
        return self.name


@dataclass(frozen=True)
class Keys(Expression):
    """A primitive, by its form, with its arguments."""

    form: str
    arguments: Arguments = ()

    @property
    def primitive(self) -> Primitive:
        """The primitive; another one if it was defined again."""
        return PRIMITIVES[self.form]

    @property
    def own_price(self) -> float:
        """A word, and its numbers."""
        numbers = sum(self._of(argument) for argument in self.arguments)
        return WORD * self.primitive.words + numbers

    def _of(self, argument: int | Tokens) -> float:
        if isinstance(argument, Tokens):
            return SET * len(argument.ranges)
        # A token's number is one of few that are tried, however large it is.
        is_token = "token {number}" in self.form
        return SET if is_token else math.log2(1 + argument)

    def mask(self, at: "Composed") -> Mask:
        """The keys that queries may see."""
        at.require(self.primitive.needs, str(self))
        return at.seen & self.primitive.keys(at, *self.arguments)

    def __str__(self):
        return self.primitive.name(self.arguments)


@dataclass(frozen=True)
class Picked(Expression):
    """The latest, earliest, largest or smallest of some keys, or one of rank 2 to 4."""

    which: str
    among: Expression
    rank: int = 1

    @property
    def own_price(self) -> float:
        """A word, and one more for a rank."""
        return MORE * self.rank

    def mask(self, at: "Composed") -> Mask:
        """One key if picked by place; by value, all keys that are alike."""
        mask = at.mask(self.among)
        if self.which in ENDS:
            number = mask.cumsum(2) if self.which == "earliest" else _from_end(mask)
            return mask & (number == self.rank)
        at.require("order", str(self))
        sign = 1 if self.which == "largest" else -1
        values = sign * at.tokens
        value = values[:, None].expand(mask.shape)
        worst = value.min() - 1
        best = mask
        for _ in range(self.rank):
            most = value.where(mask, worst).amax(2, keepdim=True)
            best = mask & (value == most)
            mask = mask & ~best
        return best

    def __str__(self):
        return f"{RANKS[self.rank - 1]}{self.which} {self.among}"


@dataclass(frozen=True)
class Run(Expression):
    """The latest of some keys, and those in a row before it."""

    among: Expression

    own_price = 2 * MORE

    def mask(self, at: "Composed") -> Mask:
        """The keys behind which no position is left out."""
        mask = at.mask(self.among)
        is_behind_all = _from_end(mask) == 0
        gaps = _from_end(~mask & ~is_behind_all)
        return mask & (gaps == 0)

    def __str__(self):
        return f"{RUN}{self.among}"


@dataclass(frozen=True)
class If(Expression):
    """Those of some keys that have the query's token; or those that have not."""

    of: Expression
    same: bool

    def mask(self, at: "Composed") -> Mask:
        """The keys for which the condition holds."""
        alike = at.tokens[:, :, None] == at.tokens[:, None]
        return at.mask(self.of) & (alike == self.same)

    def __str__(self):
        return f"{self.of}{_word(CONDITIONS, self.same)}"


@dataclass(frozen=True)
class Moved(Expression):
    """The positions next to some keys."""

    of: Expression
    by: int

    def mask(self, at: "Composed") -> Mask:
        """The keys, so many places on."""
        moved = F.pad(at.mask(self.of), (self.by, -self.by))
        return moved & at.seen

    def __str__(self):
        return f"{_word(MOVES, self.by)}{self.of}"


@dataclass(frozen=True)
class Since(Expression):
    """The latest of some keys, and all positions behind it."""

    of: Expression

    def mask(self, at: "Composed") -> Mask:
        """The keys behind which there is none of these."""
        mask = at.mask(self.of)
        at_or_behind = mask.flip(2).cumsum(2).flip(2)
        behind = at_or_behind - mask.int()
        return (behind == 0) & mask.any(2, keepdim=True) & at.seen

    def __str__(self):
        return f"{SINCE}{self.of}"


@dataclass(frozen=True)
class Both(Expression):
    """The keys of two expressions, one as much as the other."""

    first: Expression
    second: Expression

    def mask(self, at: "Composed") -> Mask:
        """The keys of either."""
        return at.mask(self.first) | at.mask(self.second)

    def __str__(self):
        return f"{self.first}{AND}{self.second}"


@dataclass(frozen=True)
class For(Expression):
    """An expression for queries of some tokens; the others have no key."""

    of: Expression
    tokens: Tokens

    @property
    def own_price(self) -> float:
        """The tokens count."""
        return SET * len(self.tokens.ranges)

    @property
    def parts(self) -> int:
        """One more."""
        return self.of.parts + 1

    def mask(self, at: "Composed") -> Mask:
        """The rows of queries of these tokens."""
        is_row = self.tokens.among(at.tokens)
        return at.mask(self.of) & is_row[..., None]

    def weights(self, at: "Composed") -> Weights:
        """The weights of these rows."""
        is_row = self.tokens.among(at.tokens)
        return self.of.weights(at) * is_row[..., None]

    def __str__(self):
        return f"{self.of}{FOR}{self.tokens}"


@dataclass(frozen=True)
class OfQueries(Expression):
    """An expression for queries that a given relation has among their own keys."""

    of: Expression
    named: Given

    own_price = 0.0

    def mask(self, at: "Composed") -> Mask:
        """The rows of these queries."""
        is_one = at.mask(self.named).diagonal(dim1=1, dim2=2)
        return at.mask(self.of) & is_one[..., None]

    def __str__(self):
        return f"{self.of}{QUERIES}{self.named}"


@dataclass(frozen=True)
class Weighed(Expression):
    """Keys of which some tokens count less than others in an average."""

    of: Expression
    by_token: tuple[tuple[int, float], ...]

    @property
    def own_price(self) -> float:
        """Every weight counts."""
        return WEIGHT * len(self.by_token)

    def mask(self, at: "Composed") -> Mask:
        """All keys, whatever they weigh."""
        return at.mask(self.of)

    def weights(self, at: "Composed") -> Weights:
        """The weights of tokens, 1 of those that have none."""
        counts = torch.ones_like(at.tokens, dtype=torch.float32)
        for token, weight in self.by_token:
            counts[at.tokens == token] = weight
        return self.of.weights(at) * counts[:, None]

    def __str__(self):
        listed = ", ".join(f"token {token} {x:.3g}" for token, x in self.by_token)
        return f"{self.of}{BY_WEIGHT}{listed})"


@dataclass(frozen=True)
class Else(Expression):
    """The first of two expressions that gives a query a key."""

    first: Expression
    other: Expression

    def mask(self, at: "Composed") -> Mask:
        """The keys of the first, or of the other in rows where it has none."""
        first = at.mask(self.first)
        other = at.mask(self.other)
        has_key = first.any(2, keepdim=True)
        return torch.where(has_key, first, other)

    def weights(self, at: "Composed") -> Weights:
        """The weights of the first, or of the other in rows where it has no key."""
        first = self.first.weights(at)
        other = self.other.weights(at)
        has_key = first.any(2, keepdim=True)
        return torch.where(has_key, first, other)

    def __str__(self):
        return f"{self.first}{ELSE}{self.other}"


@lru_cache(maxsize=100_000)
def parse(name: str, given: frozenset[str] = frozenset()) -> Expression:
    """The expression that a name stands for, such as `after same token, else 2 back`.

    Args:
        name: as `str` writes an expression.
        given: names of a task's own relations.

    Raises:
        HeadwayError: if it is not made of the words of the language.
    """
    if name in given:
        return Given(name)
    for rule in RULES:
        expression = rule(name, given)
        if expression is not None:
            return expression
    raise HeadwayError(
        f"relation = {name!r} is not allowed: it must be one of the task's,"
        " or composed as smallest larger token, after latest same token,"
        " mirror position if the same token"
    )


Names = frozenset[str]


def _else(name: str, given: Names) -> Expression | None:
    first, word, other = name.partition(ELSE)
    if not word:
        return None
    return Else(parse(first, given), parse(other, given))


def _weighed(name: str, given: Names) -> Expression | None:
    base, word, listed = name.partition(BY_WEIGHT)
    if not word:
        return None
    form = r"token (\d{1,9}) (\d{1,6}(?:\.\d{1,6})?)"
    if re.fullmatch(rf"{form}(, {form})*\)", listed) is None:
        raise HeadwayError(
            f"relation = {name!r} is not allowed: weights come last,"
            f" written as in {base}{BY_WEIGHT}token 0 0.92, token 3 0.5)"
        )
    by_token = list[tuple[int, float]]()
    for token, weight in re.findall(form, listed):
        by_token.append((int(token), float(weight)))
    return Weighed(parse(base, given), tuple(by_token))


def _for(name: str, given: Names) -> Expression | None:
    base, word, listed = name.rpartition(FOR)
    if not word or re.fullmatch(PATTERNS["{tokens}"], listed) is None:
        return None
    tokens = Tokens.parse(listed)
    return For(parse(base, given), tokens)


def _of_queries(name: str, given: Names) -> Expression | None:
    base, word, named = name.rpartition(QUERIES)
    if not word or named not in given:
        return None
    return OfQueries(parse(base, given), Given(named))


def _since(name: str, given: Names) -> Expression | None:
    if not name.startswith(SINCE):
        return None
    return Since(parse(name.removeprefix(SINCE), given))


def _and(name: str, given: Names) -> Expression | None:
    first, word, second = name.partition(AND)
    if not word:
        return None
    return Both(parse(first, given), parse(second, given))


def _moved(name: str, given: Names) -> Expression | None:
    for word, by in MOVES.items():
        if name.startswith(word):
            base = name.removeprefix(word)
            return Moved(parse(base, given), by)
    return None


def _conditional(name: str, given: Names) -> Expression | None:
    for word, same in CONDITIONS.items():
        if name.endswith(word):
            base = name.removesuffix(word)
            return If(parse(base, given), same)
    return None


def _picked(name: str, given: Names) -> Expression | None:
    if name.startswith(RUN):
        base = name.removeprefix(RUN)
        return Run(parse(base, given))
    ranks = "|".join(RANKS)
    form = rf"({ranks})(latest|earliest|largest|smallest) (.+)"
    match = re.fullmatch(form, name)
    if match is None:
        return None
    rank_word, which, base = match.groups()
    rank = 1 + RANKS.index(rank_word)
    return Picked(which, parse(base, given), rank)


def _primitive(name: str, _: Names) -> Expression | None:
    for primitive in PRIMITIVES.values():
        arguments = primitive.arguments(name)
        if arguments is not None:
            return Keys(primitive.form, arguments)
    return None


Rule = Callable[[str, Names], Expression | None]

RULES: Sequence[Rule] = (
    *(_else, _weighed, _for, _of_queries, _and, _since),
    *(_primitive, _moved, _conditional, _picked),
)
"""The ways to take a name apart, the loosest first. (A primitive's name may begin as a
move does.)"""


def _from_end(mask: Mask) -> Tensor:
    """The number of cells that hold from each to the end of its row."""
    return mask.flip(2).cumsum(2).flip(2)


def _word(words: dict[str, int] | dict[str, bool], value: int) -> str:
    return next(word for word, meaning in words.items() if meaning == value)
