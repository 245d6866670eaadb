"""The fields of a config by dotted name, and the grammar in which their values are written.

`1..8` is every whole number from 1 to 8, `1,2,4` a list, anything else a single value. Values are
read as the field's type says: `none` for an optional, `true` and `false`, one of the choices.
"""

import re
import types
import typing
from typing import Any, Literal

from headway.errors import HeadwayError, require
from headway.models import TransformerConfig
from headway.tasks import TASKS
from headway.training import RunConfig, TrainingConfig
from headway.training.config import SECTIONS

MOST = 100_000
"""The longest range that is written out."""


def types_of(config: RunConfig) -> dict[str, Any]:
    """The type of every field of a config that can be changed, by dotted name."""
    found = {
        f"{section}.{name}": hint
        for section in SECTIONS
        for name, hint in typing.get_type_hints(type(getattr(config, section))).items()
    }
    own = typing.get_type_hints(RunConfig).items()
    return found | {name: hint for name, hint in own if name not in SECTIONS}


def types_of_all() -> dict[str, Any]:
    """The type of every field that the config of any task has, and of its task's kind."""
    found: dict[str, Any] = {"task.kind": Literal[tuple(TASKS)]}
    for kind, _ in TASKS.values():
        # Composition is for models that see both ways; the others take either.
        model = TransformerConfig(causal=False)
        found |= types_of(RunConfig(kind(), model, TrainingConfig()))
    return found


def values_of(field: str, text: str, hint: Any) -> list[Any]:
    """The values that a text stands for.

    Args:
        field: whose values they are, for the complaint.
        text: a range, a list or a single value.
        hint: the field's type.

    Raises:
        HeadwayError: if there is none, or one is not of the type.
    """
    values: list[Any] = []
    for part in (part.strip() for part in text.split(",")):
        ends = re.fullmatch(r"([+-]?[0-9]+)\.\.([+-]?[0-9]+)", part)
        if ends and _takes_numbers(hint):
            first, last = int(ends[1]), int(ends[2])
            allowed = f"a range from low to high, of at most {MOST} numbers"
            require(0 <= last - first < MOST, field, part, allowed)
            whole = _takes_whole_numbers(hint)
            values += [n if whole else float(n) for n in range(first, last + 1)]
            continue
        try:
            values.append(_read(part, hint))
        except ValueError as error:
            allowed = f"{error}, or a list (1,2,4)"
            if _takes_numbers(hint):
                allowed = f"{error}, a range (1..8) or a list (1,2,4)"
            require(False, field, part, allowed)
    return values


def split(text: str) -> tuple[str, str]:
    """The two sides of `FIELD=VALUES`.

    Raises:
        HeadwayError: if there are no two.
    """
    field, equals, values = text.partition("=")
    if not (field.strip() and equals and values.strip()):
        raise HeadwayError(f"{text!r} is not FIELD=VALUES, such as seed=0..7 or model.n_layers=2,4")
    return field.strip(), values.strip()


def _read(text: str, hint: Any) -> Any:
    """One value.

    Raises:
        ValueError: if it is not of the type; says what is.
    """
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        chosen = [choice for choice in args if str(choice) == text]
        if not chosen:
            raise ValueError("one of " + ", ".join(map(str, args)))
        return chosen[0]
    if origin in (types.UnionType, typing.Union):
        if text.lower() == "none" and type(None) in args:
            return None
        problems = []
        for arg in (arg for arg in args if arg is not type(None)):
            try:
                return _read(text, arg)
            except ValueError as error:
                problems.append(str(error))
        raise ValueError(" or ".join([*problems, *(["none"] if type(None) in args else [])]))
    if origin is tuple:
        parts, some = text.split(":"), args[1:] == (...,)
        kinds = args[:1] * len(parts) if some else args
        if len(parts) != len(kinds):
            raise ValueError(f"{len(args)} numbers joined by colons")
        try:
            return tuple(_read(part, kind) for part, kind in zip(parts, kinds, strict=True))
        except ValueError as error:
            if not some:
                raise
            raise ValueError("numbers joined by colons (1:3)") from error
    kinds = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
    if hint not in kinds:
        raise ValueError("left as it is: it cannot be written as one word")
    try:
        return {"true": True, "false": False}[text.lower()] if hint is bool else hint(text)
    except (ValueError, KeyError):
        raise ValueError(kinds[hint]) from None


def _takes_numbers(hint: Any) -> bool:
    return hint in (int, float) or any(arg in (int, float) for arg in _choices(hint))


def _takes_whole_numbers(hint: Any) -> bool:
    return hint is int or int in _choices(hint)


def _choices(hint: Any) -> tuple[Any, ...]:
    """What an optional or a union lets one choose between."""
    among = typing.get_origin(hint) in (types.UnionType, typing.Union)
    return typing.get_args(hint) if among else ()
