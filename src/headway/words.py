"""Fields and their values in words, written and read wherever a field is named.

    depth=4   model.causal=true   task.position_base=none   training.betas=0.9,0.95   seed=0..7

Where a field has one value, as in `headway train`, `1,2` and `1..8` are tuples. Where it may have
several, as in a grid, they are so many values, and a tuple is written `1:2`, as it always may be.
"""

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from headway.errors import HeadwayError, require
from headway.fields import described, held

MOST = 100_000
"""The longest range that is written out."""

MACHINE = ("device", "threads")
"""Fields that say where a run is computed, not what it is."""

NAMED = {"none": None, "true": True, "false": False}


def split(text: str) -> tuple[str, str]:
    """The two sides of `FIELD=VALUE`.

    Raises:
        HeadwayError: if there are no two.
    """
    field, equals, value = text.partition("=")
    if not (field.strip() and equals and value.strip()):
        raise HeadwayError(f"{text!r} is not FIELD=VALUE, such as seed=3 or model.n_layers=4")
    return field.strip(), value.strip()


def texts_of(words: Iterable[str]) -> dict[str, str]:
    """The text of every field in words, each `FIELD=VALUE`.

    Raises:
        HeadwayError: if one is none, or a field is named twice.
    """
    texts: dict[str, str] = {}
    for field, text in map(split, words):
        if field in texts:
            raise HeadwayError(f"{field} is named twice: several values are written 1,2,4 or 1..8")
        texts[field] = text
    return texts


def named(name: str, fields: Iterable[str]) -> str:
    """The whole name of a field, of which the last part may be given alone if no other has it.

    Args:
        name: as it was written.
        fields: the whole names of all that there are.

    Raises:
        HeadwayError: if there is none, with the nearest, or there are several.
    """
    known = list(dict.fromkeys(fields))
    if name in known:
        return name
    found = [field for field in known if field.endswith(f".{name}")]
    if len(found) == 1:
        return found[0]
    if found:
        raise HeadwayError(f"{name} is the name of several fields: write {' or '.join(found)}")
    raise HeadwayError(f"{name} is not a field: {_nearest(name, known)}")


def _nearest(name: str, known: list[str]) -> str:
    """The fields that may be meant by a name that is none; else those that there are."""
    section, dot, last = name.rpartition(".")
    inside = [field for field in known if dot and field.startswith(f"{section}.")]
    lasts = {field.rpartition(".")[2] for field in known}
    same = difflib.get_close_matches(last, lasts, n=2, cutoff=1.0 if last in lasts else 0.6)
    every = dict.fromkeys([*inside, *known])
    if near := [field for part in same for field in every if field.rpartition(".")[2] == part]:
        return f"did you mean {' or '.join(near[:3])}?"
    if inside:
        return f"those of {section} are {', '.join(inside)}"
    places = dict.fromkeys(field.partition(".")[0] + ".*" * ("." in field) for field in known)
    return f"there are {', '.join(sorted(places, key=lambda place: '*' not in place))}"


def read(field: str, text: str, hint: Any, allowed: str | None = None) -> Any:
    """The value that a text stands for.

    Args:
        field: whose value it is, for the complaint.
        text: `true`, `false`, `none`, a number, a text, a path, or some of them joined as a tuple.
        hint: the field's annotation, which says what is allowed (see `fields`).
        allowed: the same in words, for the complaint; by default the annotation's own.

    Raises:
        HeadwayError: if the annotation does not allow it.
    """
    for meant in _meanings(field, text):
        with suppress(ValueError):
            return held(hint, meant)
    number = _plain(text)
    is_number = isinstance(number, int | float) and not isinstance(number, bool)
    return require(False, field, number if is_number else text, allowed or described(hint))


def values_of(field: str, text: str, hint: Any) -> list[Any]:
    """The values that a text stands for where there may be several: `1..8`, `1,2,4`, `1:2,1:3`.

    Raises:
        HeadwayError: if the annotation does not allow one of them.
    """
    allowed = f"{described(hint)}; several are written 1,2,4 or 1..8, a tuple 1:2"
    return [read(field, part, hint, allowed) for part in _parts(field, text, ",")]


def _meanings(field: str, text: str) -> Iterator[Any]:
    """Values that a text may stand for, the likeliest first."""
    yield _plain(text)
    yield text
    yield Path(text)
    parts = _parts(field, text, ",:")
    yield tuple(map(_plain, parts))
    yield tuple(parts)


def _plain(text: str) -> Any:
    """A text as `none`, `true`, `false` or a number, if it is one."""
    if text.lower() in NAMED:
        return NAMED[text.lower()]
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text


def _parts(field: str, text: str, between: str) -> list[str]:
    """The parts that a text joins, ranges written out."""
    parts = []
    for part in map(str.strip, re.split(f"[{between}]", text)):
        if ends := re.fullmatch(r"([+-]?[0-9]{1,20})\.\.([+-]?[0-9]{1,20})", part):
            first, last = int(ends[1]), int(ends[2])
            allowed = f"a range from low to high, of at most {MOST} numbers"
            require(0 <= last - first < MOST, field, part, allowed)
            parts += map(str, range(first, last + 1))
        else:
            parts.append(part)
    return parts


def said(value: Any) -> str:
    """A field's value as the grammar of grids writes it."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return ":".join(map(said, value))
    return str(value)


def varied(configs: Sequence[Mapping[str, Any]]) -> list[str]:
    """The fields that do not have the same value in all configs, or that some do not have.

    Args:
        configs: each as `training.config.flat` gives it.
    """
    every = list(dict.fromkeys(name for one in configs for name in one))
    return [name for name in every if len({said(one.get(name)) for one in configs}) > 1]


def short_names(fields: Sequence[str]) -> dict[str, str]:
    """The last part of every dotted name, or all of it where two have that part in common."""
    last = [field.rpartition(".")[2] for field in fields]
    return {f: part if last.count(part) == 1 else f for f, part in zip(fields, last, strict=True)}


def natural(name: str) -> list[Any]:
    """A key by which `seed=10` comes after `seed=9`."""
    parts = re.split(r"([0-9]+)", name)
    return [int(part) if i % 2 else part for i, part in enumerate(parts)]
