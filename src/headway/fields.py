"""Fields of configs, held against their annotations here and nowhere else.

A config is a frozen dataclass whose annotations say it all:

    depth: AtLeastOne = 3
    precision: Literal["float32", "bfloat16"] = "float32"

`check` holds a config against its annotations, `to_json` and `from_json` write and read it, and
`described` tells in words what a field may hold. Findings are dataclasses too: `to_json` writes
them, and `found_in` reads them. Values are judged by pydantic.
"""

import dataclasses
import json
import math
import typing
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar

from annotated_types import BaseMetadata, Ge, Gt, Le, Lt, MultipleOf

from headway.errors import HeadwayError, require

T = TypeVar("T")
AtLeastOne = Annotated[int, Ge(1)]
Depth = Annotated[int, Ge(1), Le(1024)]
AtLeastTwo = Annotated[int, Ge(2)]
NotNegative = Annotated[int, Ge(0)]
Positive = Annotated[float, Gt(0), Lt(1e38)]
NotBelowZero = Annotated[float, Ge(0), Lt(1e38)]
Share = Annotated[float, Ge(0), Lt(1)]
Fraction = Annotated[float, Ge(0), Le(1)]


def check(config: Any, section: str = "") -> None:
    """Holds every field of a dataclass against its annotation.

    Args:
        config: the dataclass.
        section: put before the names of its fields, such as `task.`.

    Raises:
        HeadwayError: for the first field whose value its annotation does not allow.
    """
    for name, hint in hints_of(type(config)).items():
        value = getattr(config, name)
        require(allows(hint, value), section + name, value, described(hint))


def allows(hint: Any, value: Any) -> bool:
    """Tell whether a value is of the type that an annotation says, and within its bounds."""
    members = _members(hint)
    if any(map(dataclasses.is_dataclass, members)):
        return isinstance(value, members)
    try:
        held(hint, value)
    except ValueError:
        return False
    return True


def held(hint: Any, value: Any) -> Any:
    """A value as a field of an annotation holds it: a whole number becomes a float if need be.

    Raises:
        ValueError: if the annotation does not allow it.
    """
    return _adapter(hint).validate_python(value, strict=True)


def to_json(value: Any) -> dict[str, Any]:
    """A dataclass as plain JSON data, field by field; tuples become lists (see `Written`)."""
    return _adapter(type(value)).dump_python(value, mode="json")


def found_in(cls: type[T], data: Any, where: str) -> T:
    """The findings that `to_json` wrote; what data has beyond the fields is passed over.

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
    except HeadwayError as error:  # of what is `Written`
        raise HeadwayError(f"{where}: {error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        allowed = first["msg"].removeprefix("Input should be ").replace("'", "")
        if first["type"] == "missing":
            raise HeadwayError(f"{where}: {field} is missing") from None
        require(False, f"{where}: {field}" if field else where, first["input"], allowed)
        raise AssertionError from error


class Written:
    """Marks a field, `Annotated[Path, Written(Path.parse, str)]`, that JSON has in another form.

    Args:
        read: makes a value of that form.
        write: makes that form of a value.
    """

    def __init__(self, read: Callable[[Any], Any], write: Callable[[Any], Any]):
        self.read, self.write = read, write

    def __get_pydantic_core_schema__(self, *_: object) -> Any:
        from pydantic_core import core_schema as schema

        written = schema.plain_serializer_function_ser_schema(self.write)
        return schema.no_info_plain_validator_function(self.read, serialization=written)


def from_json(cls: type, data: Any, section: str = "") -> Any:
    """The config that `to_json` wrote.

    Args:
        cls: the dataclass.
        data: an object with every field of it and no other.
        section: put before the names of its fields.

    Raises:
        HeadwayError: if a field is unknown or missing, or a value is not allowed.
    """
    from pydantic import ValidationError

    require_fields(cls, data, section)
    values = {}
    for name, hint in hints_of(cls).items():
        try:
            values[name] = _adapter(hint).validate_json(json.dumps(data[name]), strict=True)
        except ValidationError:
            require(False, section + name, data[name], described(hint))
    return cls(**values)


def require_fields(cls: type, data: Any, section: str = "") -> None:
    """Checks that JSON data is an object with every field of a dataclass and no other.

    Raises:
        HeadwayError: if it is not; it names the field.
    """
    require(isinstance(data, dict), section.rstrip(".") or "config", data, "an object of fields")
    hints = hints_of(cls)
    for name in (name for name in data if name not in hints):
        raise HeadwayError(f"{section}{name} is not a field: the fields are {', '.join(hints)}")
    for name in (name for name in hints if name not in data):
        raise HeadwayError(f"{section}{name} is missing: every field must be given")


@cache
def hints_of(cls: type) -> dict[str, Any]:
    """The annotations of a dataclass's fields, bounds included."""
    hints = typing.get_type_hints(cls, include_extras=True)
    return {field.name: hints[field.name] for field in dataclasses.fields(cls) if field.init}


def described(hint: Any) -> str:
    """The values that an annotation allows, in words: `a whole number of at least 1`."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        bounds = [_bound(mark) for mark in args[1:] if isinstance(mark, BaseMetadata)]
        return described(args[0]) + (" " + " and ".join(bounds) if bounds else "")
    if origin is Literal:
        return "one of " + ", ".join(map(str, args))
    if origin is tuple:
        one = described(args[0]).replace("a whole number", "numbers").replace("a number", "numbers")
        one = one.replace("text", "texts")
        return one if args[1:] == (...,) else f"{len(args)} {one}"
    if len(members := _members(hint)) > 1:
        return " or ".join("none" if one is NoneType else described(one) for one in members)
    plain = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
    plain |= {Path: "a path"}
    return plain.get(hint, f"a {getattr(hint, '__name__', hint)}")


def _bound(mark: BaseMetadata) -> str:
    match mark:
        case Ge(ge=bound):
            return f"of at least {bound}"
        case Gt(gt=bound):
            return f"above {bound}"
        case Le(le=bound):
            return f"of at most {bound}"
        case Lt(lt=math.inf):
            return "finite"
        case Lt(lt=bound):
            return f"below {bound}"
        case MultipleOf(multiple_of=2):
            return "even"
    return str(mark)


def _members(hint: Any) -> tuple[Any, ...]:
    """Of what a union is; a plain type alone."""
    return (
        typing.get_args(hint) if typing.get_origin(hint) in (UnionType, typing.Union) else (hint,)
    )


@cache
def _adapter(hint: Any) -> Any:
    from pydantic import ConfigDict, TypeAdapter

    arbitrary = ConfigDict(arbitrary_types_allowed=True)
    has_own = dataclasses.is_dataclass(getattr(hint, "__origin__", hint))
    return TypeAdapter(hint, config=None if has_own else arbitrary)
