"""Relations in words as numpy code: the one place that reads their names.

A relation is code over `t i j q k n seen` (`prelude.frame`) and functions of the
prelude, which gives the keys of every query as `Composed.mask` does.
"""

import re

from headway.errors import HeadwayError
from headway.relations.composed import ANCHORED, AND, BY_WEIGHT, ELSE, FOR, MOVES

KEYS = """
own position: (j == i)
previous token: (j == i - 1)
first position: (j == 0)
mirror position: (j == n - 1 - i)
all before: (j != i)
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
"""
"""What holds of the visible keys of a set, by the set's name."""

SETS = {"all so far": "seen", "any token": "seen", "single token": "once(seen, t)"}
for line in KEYS.strip().splitlines():
    set_name, condition = line.split(": ", 1)
    SETS[set_name] = f"(seen & {condition})"

NUMBERED = {
    r"(\d+) back": "(seen & (j == i - {0}))",
    r"every ([1-9]\d*) back": "(seen & ((i - j) % {0} == 0) & (j != i))",
    r"position (\d+)": "(seen & (j == {0}))",
    r"token (\d+)": "(seen & (k == {0}))",
}
CONDITIONS = {" if the same token": "(k == q)", " if another token": "(k != q)"}
RANGE = r"\d+(?:[–-]\d+)?"
LISTED = rf"{RANGE}(?:,{RANGE})*"


class UnreadError(HeadwayError):
    """A relation's name that is not made of words known here."""


def code_of(name: str) -> str:
    """A relation as code.

    Raises:
        UnreadError: if its name is not made of words known here.
    """
    *firsts, code = map(_part, name.split(ELSE))
    for first in reversed(firsts):
        code = f"otherwise({first}, {code})"
    return code


def parts_of(name: str) -> list[str]:
    """The parts of a relation of which each but the first stands for those before."""
    return [_part(part) for part in name.split(ELSE)]


def _part(name: str) -> str:
    """A relation without an `else`; weights are not of its keys."""
    name = name.split(BY_WEIGHT)[0]
    narrowed = re.fullmatch(rf"(.*){FOR}({LISTED})", name)
    if narrowed:
        return f"({_part(narrowed[1])} & {_among('q', narrowed[2])})"
    first, both, others = name.partition(AND)
    if both:
        return f"({_part(first)} | {_part(others)})"
    for word, by in MOVES.items():
        if name.startswith(word):
            return f"beside({_conditional(name.removeprefix(word))}, {by}, seen)"
    return _conditional(name)


def _conditional(name: str) -> str:
    for words, condition in CONDITIONS.items():
        if name.endswith(words):
            return f"({_picked(name.removesuffix(words))} & {condition})"
    return _picked(name)


def _picked(name: str) -> str:
    """One of the keys of a set, or all of them."""
    which, _, rest = name.partition(" ")
    if which in ("latest", "earliest"):
        return f"{which}({_set(rest)})"
    if which in ("largest", "smallest"):
        return f"{which}({_set(rest)}, k)"
    if which == "second":
        which, _, rest = rest.partition(" ")
        every = _set(rest)
        return f"{which}({every} & ~{which}({every}, k), k)"
    return _set(name)


def _set(name: str) -> str:
    if name in SETS:
        return SETS[name]
    for form, code in NUMBERED.items():
        known = re.fullmatch(form, name)
        if known:
            return code.format(int(known[1]))
    listed = re.fullmatch(f"token of ({LISTED})", name)
    if listed:
        return f"(seen & {_among('k', listed[1])})"
    anchored = re.fullmatch(rf"({'|'.join(ANCHORED)}) token (\d+)", name)
    if anchored:
        token, query = ANCHORED[anchored[1]]
        return f"past(t, {int(anchored[2])}, {token}, {query}, seen)"
    raise UnreadError(f"relation = {name!r} is not allowed: no program says it")


def _among(tokens: str, listed: str) -> str:
    """The condition that tokens are listed, as in 0–3,7."""
    conditions = list[str]()
    for part in listed.split(","):
        ends = [int(end) for end in re.split("[–-]", part)]
        low, high = ends[0], ends[-1]
        is_one = low == high
        within = f"({low} <= {tokens}) & ({tokens} <= {high})"
        conditions.append(f"({tokens} == {low})" if is_one else f"({within})")
    return f"({' | '.join(conditions)})"
