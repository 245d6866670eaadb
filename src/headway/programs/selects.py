"""Relations as numpy code: the one place that turns expressions into it.

A relation is code over `t i j q k n seen` (`prelude.frame`) and functions of the
prelude, which gives the keys of every query as `Composed.mask` does.
"""

from headway.errors import HeadwayError
from headway.relations import Expression, parse
from headway.relations.expressions import (
    Both,
    Else,
    For,
    If,
    Keys,
    Moved,
    Picked,
    Run,
    Weighed,
)
from headway.relations.primitives import PRIMITIVES, Tokens

VISIBLE = """
own position: (j == i)
previous token: (j == i - 1)
first position: (j == 0)
mirror position: (j == n - 1 - i)
all before: (j < i)
next token: (j == i + 1)
{number} back: (j == i - {0})
{number} ahead: (j == i + {0})
every {period} back: ((i - j) % {0} == 0) & (j < i)
position {number}: (j == {0})
every {period} from position {number}: ((j - {1}) % {0} == 0) & (j >= {1})
start of block of {period}: (j == i - i % {0})
token {number}: (k == {0})
past token {number}: (j > last(t, {0})[..., None])
up to token {number}: (last(t, {0})[..., None, :] < 0)
own run: (runs(t)[..., None, :] == runs(t)[..., :, None])
same token: (j != i) & (k == q)
other token: (j != i) & (k != q)
larger token: (j != i) & (k > q)
smaller token: (j != i) & (k < q)
same or larger token: (j != i) & (k >= q)
same or smaller token: (j != i) & (k <= q)
repeated token: has(seen & (j != i) & (k == q))[:, None]
new token: ~has(seen & (j != i) & (k == q))[:, None]
token unlike its mirror: has(seen & (j == n - 1 - i) & (k != q))[:, None]
token like its mirror: has(seen & (j == n - 1 - i) & (k == q))[:, None]
token like its predecessor: has(seen & (j == i - 1) & (k == q))[:, None]
token unlike its predecessor: has(seen & (j == i - 1) & (k != q))[:, None]
"""
"""The condition on the visible keys of a primitive, by its form."""

CODE = {
    "all so far": "seen",
    "any token": "seen",
    "single token": "once(seen, t)",
    "mirror across token {number}": "past(t, {0}, 2, -1, seen)",
    "aligned past token {number}": "past(t, {0}, -1, 1, seen)",
    "twice past token {number}": "past(t, {0}, -2, 2, seen)",
}
for line in VISIBLE.strip().splitlines():
    form, condition = line.split(": ", 1)
    CODE[form] = f"(seen & {condition})"


class UnreadError(HeadwayError):
    """A relation that no program says."""


def code_of(name: str) -> str:
    """A relation as code.

    Raises:
        UnreadError: if it has words that no program says.
    """
    return _code(_parsed(name))


def _parsed(name: str) -> Expression:
    try:
        return parse(name)
    except HeadwayError as error:
        raise _unread(name) from error


def _code(expression: Expression) -> str:
    match expression:
        case Else(first, other):
            return f"otherwise({_code(first)}, {_code(other)})"
        case Weighed(of):
            # Weights are not of the keys.
            return _code(of)
        case For(of, tokens):
            return f"({_code(of)} & {_among('q', tokens)})"
        case Both(first, second):
            return f"({_code(first)} | {_code(second)})"
        case Moved(of, by):
            return f"beside({_code(of)}, {by}, seen)"
        case If(of, same):
            return f"({_code(of)} & (k {'==' if same else '!='} q))"
        case Picked(which, among, rank):
            return _picked(which, _code(among), rank)
        case Run(among):
            return f"run({_code(among)})"
        case Keys(form, arguments):
            return _keys(expression, form, arguments)
    raise _unread(str(expression))


def _picked(which: str, keys: str, rank: int) -> str:
    """One of some keys, or those of the rank-th value."""
    if which in ("latest", "earliest"):
        if rank == 1:
            return f"{which}({keys})"
        rest = f"({keys} & ~{which}({keys}))"
        return _picked(which, rest, rank - 1)
    if rank == 1:
        return f"{which}({keys}, k)"
    rest = f"({keys} & ~{which}({keys}, k))"
    return _picked(which, rest, rank - 1)


def _keys(expression: Expression, form: str, arguments: tuple) -> str:
    """The keys of a primitive."""
    if form == "token of {tokens}":
        return f"(seen & {_among('k', arguments[0])})"
    code = CODE.get(form) or PRIMITIVES[form].code
    if not code:
        raise _unread(str(expression))
    return code.format(*arguments)


def _among(tokens: str, listed: Tokens) -> str:
    """The condition that tokens are listed."""
    conditions = [
        f"({tokens} == {low})"
        if low == high
        else f"(({low} <= {tokens}) & ({tokens} <= {high}))"
        for low, high in listed.ranges
    ]
    return f"({' | '.join(conditions)})"


def _unread(name: str) -> UnreadError:
    return UnreadError(f"relation = {name!r} is not allowed: no program says it")
