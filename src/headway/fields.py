"""Fields of configs: held against their annotations, and in JSON and in words.

A config is a frozen dataclass whose annotations say it all:

    depth: AtLeastOne = 3
    precision: Literal["float32", "bfloat16"] = "float32"

`check` holds a config against its annotations, `to_json` and `from_json` write and read
it, and `described` tells in words what a field may hold. Findings are dataclasses too:
`to_json` writes them, and `found_in` reads them. Values are judged by pydantic, in
whose words a field says that
JSON has it in another form: `Annotated[Path, PlainValidator(Path.parse),
PlainSerializer(str)]`.

Wherever a field is named, its value is written and read in the same words:

    depth=4   model.causal=true   training.betas=0.9,0.95   seed=0..7

Where a field has one value, as in `headway train`, `1,2` and `1..8` are tuples. Where
it may have several, as in a grid, they are so many values, and a tuple is written
`1:2`, as it always may be.
"""

import dataclasses
import json
import re
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from annotated_types import Ge, Gt, Le, Lt, MultipleOf

from headway.errors import HeadwayError, require

T = TypeVar("T")
F = TypeVar("F", bound="Finding")
AtLeastOne = Annotated[int, Ge(1)]
Depth = Annotated[int, Ge(1), Le(1024)]
AtLeastTwo = Annotated[int, Ge(2)]
NotNegative = Annotated[int, Ge(0)]
Positive = Annotated[float, Gt(0), Lt(1e38)]
NotBelowZero = Annotated[float, Ge(0), Lt(1e38)]
Share = Annotated[float, Ge(0), Lt(1)]
Fraction = Annotated[float, Ge(0), Le(1)]

MOST = 100_000
"""The longest range that is written out."""

NAMED = {"none": None, "true": True, "false": False}

WORDS = {
    **{int: "a whole number", float: "a number", bool: "true or false", str: "text"},
    **{Path: "a path", NoneType: "none"},
}
"""Types in words."""
BOUNDS = {
    **{Ge: "of at least {}", Gt: "above {}", Le: "of at most {}", Lt: "below {}"},
    MultipleOf: "a multiple of {}",
}
"""Bounds of a number in words."""


def check(config: Any, section: str = "") -> None:
    """Holds every field of a dataclass against its annotation.

    Args:
        config: the dataclass.
        section: put before the names of its fields, such as `task.`.

    Raises:
        HeadwayError: for the first field whose value its annotation does not allow.
    """
    for name, hint in hints_of(type(config)).items():
        require_allowed(section + name, getattr(config, name), hint)


def require_allowed(field: str, value: Any, hint: Any, is_json: bool = False) -> Any:
    """A value, if it is of the type that an annotation says, and within its bounds.

    Raises:
        HeadwayError: if it is not; it names the field.
    """
    try:
        if is_json:
            return _adapter(hint).validate_json(json.dumps(value), strict=True)
        return _adapter(hint).validate_python(value, strict=True)
    except ValueError:
        return require(False, field, value, described(hint))


def to_json(value: Any) -> dict[str, Any]:
    """A dataclass as plain JSON data, field by field; tuples become lists."""
    return _adapter(type(value)).dump_python(value, mode="json")


def found_in(cls: type[T], data: Any, where: str) -> T:
    """The findings that `to_json` wrote; further fields of the data are ignored.

    Args:
        cls: the dataclass.
        data: as JSON holds it.
        where: where it is from, for the error.

    Raises:
        HeadwayError: for the first field that is missing or not what it should be.
    """
    from pydantic import ValidationError
    from pydantic_core import to_json

    try:
        return _adapter(cls).validate_json(to_json(data), strict=True)
    except HeadwayError as error:  # of a validator of ours
        raise HeadwayError(f"{where}: {error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        allowed = first["msg"].removeprefix("Input should be ").replace("'", "")
        if first["type"] == "missing":
            raise HeadwayError(f"{where}: {field} is missing") from None
        require(False, f"{where}: {field}" if field else where, first["input"], allowed)
        raise AssertionError from error


class Finding:
    """A frozen dataclass of findings, kept in one file of a run's folder."""

    FILE: ClassVar[str]

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON data, as in the run's folder."""
        return to_json(self)

    @classmethod
    def from_json(cls: type[F], data: Any) -> F:
        """The finding that `to_json` wrote.

        Raises:
            HeadwayError: if a field is missing or not what it should be.
        """
        return found_in(cls, data, cls.FILE)

    def is_of(self, discovery: Any) -> bool:
        """True if it is about the circuit that was discovered."""
        return False


def from_json(
    cls: type, data: Any, section: str = "", **readers: Callable[[Any], Any]
) -> Any:
    """The config that `to_json` wrote.

    Args:
        cls: the dataclass.
        data: an object with every field of it and no other.
        section: put before the names of its fields.
        readers: what reads a field that is no plain data.

    Raises:
        HeadwayError: if a field is unknown or missing, or a value is not allowed.
    """
    hints = hints_of(cls)
    require(
        isinstance(data, dict),
        section.rstrip(".") or "config",
        data,
        "an object of fields",
    )
    for name in (
        name for name in [*data, *hints] if name not in data or name not in hints
    ):
        why = "is missing" if name in hints else "is not a field"
        raise HeadwayError(
            f"{section}{name} {why}: there must be just {', '.join(hints)}"
        )
    return cls(
        **{
            name: readers[name](data[name])
            if name in readers
            else require_allowed(section + name, data[name], hint, is_json=True)
            for name, hint in hints.items()
        }
    )


@cache
def hints_of(cls: type) -> dict[str, Any]:
    """The annotations of a dataclass's fields, bounds included."""
    hints = typing.get_type_hints(cls, include_extras=True)
    return {
        field.name: hints[field.name] for field in dataclasses.fields(cls) if field.init
    }


def described(hint: Any) -> str:
    """The values that an annotation allows: `a whole number of at least 1`."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        bounds = [
            BOUNDS[type(bound)].format(*astuple(bound))
            for bound in args[1:]
            if type(bound) in BOUNDS
        ]
        return " ".join([described(args[0]), " and ".join(bounds)]).strip()
    if origin is Literal:
        return "one of " + ", ".join(map(str, args))
    if origin in (tuple, Sequence):
        each = re.sub("^a (whole )?number", "numbers", described(args[0])).replace(
            "text", "texts"
        )
        return each if args[1:] in ((), (...,)) else f"{len(args)} {each}"
    if origin in (UnionType, typing.Union):
        return " or ".join(map(described, args))
    return WORDS.get(hint, f"a {getattr(hint, '__name__', hint)}")


@cache
def _adapter(hint: Any) -> Any:
    from pydantic import ConfigDict, TypeAdapter

    arbitrary = ConfigDict(arbitrary_types_allowed=True)
    has_own = dataclasses.is_dataclass(getattr(hint, "__origin__", hint))
    return TypeAdapter(hint, config=None if has_own else arbitrary)


def split(text: str) -> tuple[str, str]:
    """The two sides of `FIELD=VALUE`.

    Raises:
        HeadwayError: if there are no two.
    """
    field, equals, value = text.partition("=")
    if not (field.strip() and equals and value.strip()):
        raise HeadwayError(
            f"{text!r} is not FIELD=VALUE, such as seed=3 or model.n_layers=4"
        )
    return field.strip(), value.strip()


def values_in(
    given: Iterable[tuple[str, T]],
    hints: Mapping[str, Any],
    reader: Callable[[str, T, Any], Any],
) -> dict[str, Any]:
    """The values that are given to fields, by their whole names.

    Args:
        given: names of fields, as `named` takes them, each with what stands for its
            value.
        hints: the annotations of all fields, by whole name.
        reader: makes a value of that, such as `read`.

    Raises:
        HeadwayError: if there is no such field, one is named twice, or a value is not
            allowed.
    """
    value_of: dict[str, Any] = {}
    for name, value in given:
        if (whole := named(name, hints)) in value_of:
            raise HeadwayError(
                f"{whole} is named twice: several values are written 1,2,4 or 1..8"
            )
        value_of[whole] = reader(whole, value, hints[whole])
    return value_of


def named(name: str, fields: Iterable[str]) -> str:
    """The whole name of a field; its last part is enough if no other has it.

    Args:
        name: as it was written.
        fields: the whole names of all that there are.

    Raises:
        HeadwayError: if there is none, with the nearest, or there are several.
    """
    lasts = {field: field.rpartition(".")[2] for field in fields}
    matching = (
        [name]
        if name in lasts
        else [field for field in lasts if field.endswith(f".{name}")]
    )
    if len(matching) != 1:
        near = get_close_matches(name.rpartition(".")[2], lasts.values(), n=1)
        meant = matching or [field for field, last in lasts.items() if last in near]
        inside = [field for field in lasts if field.startswith(f"{name}.")]
        places = {
            field.partition(".")[0] + ".*" * ("." in field): field for field in lasts
        } or ["none"]
        hint = (
            f"did you mean {' or '.join(meant)}?"
            if meant
            else f"there are {', '.join(places)}"
        )
        hint = f"it is a section, of {', '.join(inside[:3])}, …" if inside else hint
        raise HeadwayError(f"{name} is not a field: {hint}")
    return matching[0]


def read(field: str, text: str, hint: Any, allowed: str | None = None) -> Any:
    """The value that a text stands for.

    Args:
        field: whose value it is, for the complaint.
        text: `true`, `false`, `none`, a number, a text, a path, or some of them joined
            as a tuple.
        hint: the field's annotation, which says what is allowed (see `fields`).
        allowed: the same in words, for the complaint; by default the annotation's own.

    Raises:
        HeadwayError: if the annotation does not allow it.
    """
    for meant in _meanings(field, text):
        with suppress(ValueError):
            return _adapter(hint).validate_python(meant, strict=True)
    value = text if text.lower() in NAMED else _plain(text)
    return require(False, field, value, allowed or described(hint))


def values_of(field: str, text: str, hint: Any) -> list[Any]:
    """The values of a text that may hold several: `1..8`, `1,2,4`, `1:2,1:3`.

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


def short_names(fields: Sequence[str]) -> dict[str, str]:
    """The last part of every dotted name, or all of it where two share that part."""
    last = [field.rpartition(".")[2] for field in fields]
    return {
        f: part if last.count(part) == 1 else f
        for f, part in zip(fields, last, strict=True)
    }


def natural(name: str) -> list[Any]:
    """A key by which `seed=10` comes after `seed=9`, and `rate=0.01` after
    `rate=0.003`.
    """
    parts = re.split(r"([0-9]+(?:\.[0-9]+)?)", name)
    return [float(part) if i % 2 else part for i, part in enumerate(parts)]
