"""Primitives of the language of relations: sets of keys that have a name.

A primitive of your own is a function from sequences to the keys of every query. It may
take numbers, which stand in its name:

    @primitive(
        "token divisible by {number}",
        tried=lambda sequences: [(2,), (3,)],
        needs="tokens",
        picked=True,
    )
    def divisible(at, number):
        return (at.tokens % number == 0)[:, None]

What it gives is [batch, query, key], or broadcasts to that; keys that a query may not
see are taken away. From then on the reader tries `token divisible by 2`, and `latest
token divisible by 2`.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from headway.errors import require
from headway.text import ranges

if TYPE_CHECKING:
    from headway.relations.composed import Composed

FARTHEST = 40
"""The largest offset, and number of a position, among the relations that are tried."""

LONGEST = 6
"""The largest period among them."""

RANGE = r"\d{1,9}(?:[–-]\d{1,9})?"
JOINING = (
    ", else ",
    " and ",
    " for tokens ",
    " for queries of ",
    " if ",
    " by weight (",
)
"""Words between the expressions of a name; no name of a primitive has them."""

PATTERNS = {
    "{number}": r"(\d{1,9})",
    "{period}": r"([1-9]\d{0,8})",
    "{tokens}": f"({RANGE}(?:,{RANGE})*)",
}
"""Patterns of arguments in names, by their placeholders in a form."""

Arguments = tuple[Any, ...]


class Tokens(NamedTuple):
    """Some tokens, by ranges of numbers: 0–3,7."""

    ranges: tuple[tuple[int, int], ...]

    @classmethod
    def parse(cls, text: str) -> "Tokens":
        """The tokens that `str` wrote."""
        ranges_of_tokens = list[tuple[int, int]]()
        for part in text.split(","):
            ends = re.split("[–-]", part)
            ranges_of_tokens.append((int(ends[0]), int(ends[-1])))
        return cls(tuple(ranges_of_tokens))

    @classmethod
    def of(cls, numbers: Iterable[int]) -> "Tokens":
        """These tokens."""
        return cls.parse(",".join(ranges(numbers)))

    def among(self, tokens: Tensor) -> Tensor:
        """True where tokens are among these."""
        each = [(tokens >= first) & (tokens <= last) for first, last in self.ranges]
        return torch.stack(each).any(0)

    def __str__(self):
        written = list[str]()
        for first, last in self.ranges:
            is_single = first == last
            written.append(str(first) if is_single else f"{first}–{last}")
        return ",".join(written)


@dataclass(frozen=True)
class Primitive:
    """A set of keys that has a name.

    Attributes:
        form: its name; `{number}`, `{period}` (from 1) and `{tokens}` stand for
            arguments.
        keys: of every query, given sequences and the arguments.
        tried: the arguments that are worth trying in some sequences.
        needs: what sequences must have (`NEEDS`).
        picked: whether it may have several keys, of which the latest may be picked.
        layer: the first in which a position can hold what tells its keys.
        words: as many as it would take to compose it.
        code: of its keys in a program, with `{0}` for the first argument, such as
            `(seen & (k % {0} == 0))`. (Words that headway has itself have theirs in
            `programs.selects.CODE`.) Without it no program has a head that looks at
            these keys.
    """

    form: str
    keys: "Callable[..., Tensor]"
    tried: "Callable[[Composed], Iterable[Arguments]]"
    needs: str
    picked: bool
    layer: int
    words: int
    code: str

    @property
    def written(self) -> re.Pattern[str]:
        """The names that it has with its arguments."""
        text = re.escape(self.form).replace(r"\{", "{").replace(r"\}", "}")
        for slot, pattern in PATTERNS.items():
            text = text.replace(slot, pattern)
        return re.compile(text)

    def arguments(self, name: str) -> Arguments | None:
        """The arguments in a name; None if it is not this primitive's."""
        match = self.written.fullmatch(name)
        if match is None:
            return None
        kinds = re.findall(r"\{(\w+)\}", self.form)
        arguments = list[int | Tokens]()
        for kind, text in zip(kinds, match.groups(), strict=True):
            is_set = kind == "tokens"
            arguments.append(Tokens.parse(text) if is_set else int(text))
        return tuple(arguments)

    def name(self, arguments: Arguments) -> str:
        """Its name with some arguments."""
        text = self.form
        for argument in arguments:
            text = re.sub(r"\{\w+\}", str(argument), text, count=1)
        return text


NEEDS = ("", "tokens", "order")
"""What sequences must have for a primitive: nothing, tokens, or tokens that have an
order."""

PRIMITIVES: dict[str, Primitive] = {}
"""Every primitive by its form, the simplest first."""


def once(_: "Composed") -> list[Arguments]:
    """Try a primitive without arguments."""
    return [()]


def never(_: "Composed") -> list[Arguments]:
    """Try no arguments: the reader finds them out otherwise."""
    return []


def primitive(
    form: str,
    tried: "Callable[[Composed], Iterable[Arguments]]" = once,
    *,
    needs: str = "",
    picked: bool = False,
    layer: int = 0,
    words: int = 1,
    code: str = "",
) -> Callable[[Callable[..., Tensor]], Callable[..., Tensor]]:
    """Add a primitive to the language (see `Primitive` for the arguments).

    Raises:
        HeadwayError: if its form has a word that joins expressions, or an argument of
            an unknown kind; or if it needs what no sequences have.
    """
    joins = any(word in form for word in JOINING)
    without = ", ".join(map(repr, JOINING))
    require(not joins, "form", form, f"without {without}")
    slots = re.findall(r"\{\w*\}", form)
    are_known = set(slots) <= PATTERNS.keys()
    slots_allowed = ", ".join(PATTERNS)
    require(are_known, "form", form, f"with no argument but {slots_allowed}")
    require(needs in NEEDS, "needs", needs, f"one of {', '.join(map(repr, NEEDS))}")

    def added(keys: Callable[..., Tensor]) -> Callable[..., Tensor]:
        PRIMITIVES[form] = Primitive(
            form, keys, tried, needs, picked, layer, words, code
        )
        return keys

    return added


def offsets(at: "Composed") -> list[Arguments]:
    """Try offsets from 2 on."""
    end = min(FARTHEST + 1, at.length)
    return [(offset,) for offset in range(2, end)]


def offsets_ahead(at: "Composed") -> list[Arguments]:
    """Try offsets from 2 on, where later positions may be read."""
    return offsets(at) if at.ahead else []


def places(at: "Composed") -> list[Arguments]:
    """Try places from 1 on."""
    end = min(FARTHEST + 1, at.length)
    return [(place,) for place in range(1, end)]


def periods(at: "Composed") -> list[Arguments]:
    """Try periods."""
    end = min(LONGEST + 1, at.length)
    return [(period,) for period in range(2, end)]


def periods_and_starts(at: "Composed") -> list[Arguments]:
    """Try periods, and the first places from which they may count."""
    return [(period, start) for (period,) in periods(at) for start in range(period)]


def markers(at: "Composed") -> list[Arguments]:
    """Try tokens that mark a place, or every token of few."""
    return [(token,) for token in at.markers]


def separators(at: "Composed") -> list[Arguments]:
    """Try tokens that stand once in nearly every sequence."""
    return [(token,) for token in at.separators]


def ordinary(at: "Composed") -> list[Arguments]:
    """Try the tokens below those that separate, and those above."""
    marks = at.separators
    known = at.known
    if not marks or known == at.markers:
        return []
    below = [token for token in known if token < min(marks)]
    above = [token for token in known if token > max(marks)]
    tried = list[Arguments]()
    for side in (below, above):
        if side:
            ends = side[0], side[-1]
            tried.append((Tokens((ends,)),))
    return tried


@primitive("own position")
def _own(at: "Composed") -> Tensor:
    return at.offset == 0


@primitive("previous token")
def _previous(at: "Composed") -> Tensor:
    return at.offset == 1


@primitive("first position")
def _first(at: "Composed") -> Tensor:
    return at.places == 0


@primitive("all so far")
def _all(at: "Composed") -> Tensor:
    return at.seen


@primitive("all before")
def _before(at: "Composed") -> Tensor:
    return at.offset > 0


@primitive("mirror position")
def _mirror(at: "Composed") -> Tensor:
    return at.offset.flip(1) == 0


@primitive("next token", lambda at: [()] if at.ahead else [])
def _next(at: "Composed") -> Tensor:
    return at.offset == -1


@primitive("{number} back", offsets)
def _back(at: "Composed", number: int) -> Tensor:
    return at.offset == number


@primitive("{number} ahead", offsets_ahead)
def _ahead(at: "Composed", number: int) -> Tensor:
    return at.offset == -number


@primitive("last {period}", never)
def _last(at: "Composed", period: int) -> Tensor:
    """The query's own position and those before it, so many in all."""
    return (at.offset >= 0) & (at.offset < period)


@primitive("every {period} back", periods)
def _every(at: "Composed", period: int) -> Tensor:
    return (at.offset % period == 0) & (at.offset > 0)


@primitive("position {number}", places)
def _place(at: "Composed", number: int) -> Tensor:
    return at.places == number


@primitive("every {period} from position {number}", periods_and_starts)
def _every_from(at: "Composed", period: int, start: int) -> Tensor:
    past = at.places - start
    return (past % period == 0) & (past >= 0)


@primitive("start of block of {period}", periods)
def _block(at: "Composed", period: int) -> Tensor:
    """The first place of the query's own block, of so many places each."""
    starts = at.places - at.places % period
    return at.places == starts[:, None]


@primitive("same token", needs="tokens", picked=True)
def _same(at: "Composed") -> Tensor:
    return at.compared(torch.eq)


@primitive("other token", needs="tokens", picked=True)
def _other(at: "Composed") -> Tensor:
    return at.compared(torch.ne)


@primitive("larger token", needs="order", picked=True)
def _larger(at: "Composed") -> Tensor:
    return at.compared(torch.lt)


@primitive("smaller token", needs="order", picked=True)
def _smaller(at: "Composed") -> Tensor:
    return at.compared(torch.gt)


@primitive("same or larger token", needs="order", picked=True)
def _same_or_larger(at: "Composed") -> Tensor:
    return at.compared(torch.le)


@primitive("same or smaller token", needs="order", picked=True)
def _same_or_smaller(at: "Composed") -> Tensor:
    return at.compared(torch.ge)


@primitive("any token", needs="order", picked=True)
def _any(at: "Composed") -> Tensor:
    return at.seen


@primitive("token {number}", markers, needs="tokens", picked=True)
def _token(at: "Composed", number: int) -> Tensor:
    return (at.tokens == number)[:, None]


@primitive("token of {tokens}", ordinary, needs="tokens", picked=True)
def _token_of(at: "Composed", tokens: Tokens) -> Tensor:
    return tokens.among(at.tokens)[:, None]


@primitive("own run", needs="tokens", picked=True, layer=1, words=2)
def _run(at: "Composed") -> Tensor:
    """The latest positions in a row that have the query's own token."""
    is_new = at.tokens[:, 1:] != at.tokens[:, :-1]
    first = torch.zeros_like(at.tokens[:, :1])
    run = torch.cat([first, is_new.long().cumsum(1)], 1)
    return run[:, :, None] == run[:, None]


@primitive("past token {number}", markers, needs="tokens", layer=1)
def _past(at: "Composed", number: int) -> Tensor:
    """All behind the latest of a token."""
    return at.places > at.latest(number)[..., None]


@primitive("up to token {number}", separators, needs="tokens", layer=1)
def _up_to(at: "Composed", number: int) -> Tensor:
    """All before the first of a token."""
    times = (at.tokens == number).cumsum(1)
    return (times == 0)[:, None]


@primitive("mirror across token {number}", separators, needs="tokens", words=3)
def _across(at: "Composed", number: int) -> Tensor:
    """As far before the latest of a token as the query is past it."""
    return at.anchored(number, 2, -1)


@primitive("aligned past token {number}", separators, needs="tokens", words=3)
def _aligned(at: "Composed", number: int) -> Tensor:
    """As far from the first position as the query is past the latest of a token."""
    return at.anchored(number, -1, 1)


@primitive("twice past token {number}", separators, needs="tokens", words=3)
def _twice(at: "Composed", number: int) -> Tensor:
    """Twice as far from the first position."""
    return at.anchored(number, -2, 2)


def having_key(relation: str) -> "Callable[[Composed], Tensor]":
    """As keys of every query, the positions that have a key of their own."""
    return lambda at: at.mask(relation).any(2)[:, None]


noted = partial(primitive, needs="tokens", picked=True, layer=1, words=2)
"""Add a primitive of what a layer before can note of a token."""

noted("repeated token")(having_key("same token"))


@noted("new token")
def _new(at: "Composed") -> Tensor:
    return ~having_key("same token")(at)


@noted("single token")
def _single(at: "Composed") -> Tensor:
    """Tokens that stand once so far."""
    is_alike = at.tokens[:, :, None] == at.tokens[:, None]
    times = at.seen.float() @ is_alike.float()
    return times == 1


noted("token unlike its mirror")(having_key("mirror position if another token"))
noted("token like its mirror")(having_key("mirror position if the same token"))
noted("token like its predecessor")(having_key("previous token if the same token"))
noted("token unlike its predecessor")(having_key("previous token if another token"))
