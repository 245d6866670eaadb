"""The one error a user can cause, and the checks that raise it."""

import dataclasses
import types
import typing
from typing import Any, Literal


class HeadwayError(Exception):
    """Something the user asked for cannot be done; the message is one clear line.

    The command line prints the message without a traceback and exits with code 2.
    """


def require(holds: bool, field: str, value: Any, allowed: str) -> None:
    """Raises a `HeadwayError` that names the field, its value and what is allowed.

    Args:
        holds: whether the value is acceptable.
        field: dotted name of the field, e.g. `task.depth`.
        value: the offending value.
        allowed: what would be accepted, e.g. "a whole number of at least 1".

    Raises:
        HeadwayError: if `holds` is false.
    """
    if not holds:
        raise HeadwayError(f"{field} = {value!r} is not allowed: it must be {allowed}")


def require_types(config: Any, prefix: str) -> None:
    """Checks every field of a dataclass against its annotation.

    Understands `int`, `float` (which takes an int), `bool`, `str`, `Literal`, optionals and
    tuples of numbers; other annotations are not checked.

    Raises:
        HeadwayError: if a value is of another type, or not one of a `Literal`'s choices.
    """
    hints = typing.get_type_hints(type(config))
    for field in dataclasses.fields(config):
        value, hint = getattr(config, field.name), hints[field.name]
        problem = _mismatch(value, hint)
        require(problem is None, prefix + field.name, value, problem or "")


def _mismatch(value: Any, hint: Any) -> str | None:
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        return None if value in args else "one of " + ", ".join(map(str, args))
    if origin in (types.UnionType, typing.Union):
        problems = [_mismatch(value, arg) for arg in args if arg is not type(None)]
        if (value is None and type(None) in args) or None in problems:
            return None
        return " or ".join(p for p in problems if p) + (" or none" if type(None) in args else "")
    if origin is tuple:
        some = args[1:] == (...,)
        kinds = args[:1] * len(value) if some and isinstance(value, tuple) else args
        fits = isinstance(value, tuple) and len(value) == len(kinds)
        if fits and not any(_mismatch(v, kind) for v, kind in zip(value, kinds, strict=True)):
            return None
        return "numbers" if some else f"{len(args)} numbers"
    if hint is bool:
        return None if isinstance(value, bool) else "true or false"
    if hint is int:
        fits = isinstance(value, int) and not isinstance(value, bool)
        return None if fits else "a whole number"
    if hint is float:
        fits = isinstance(value, int | float) and not isinstance(value, bool)
        return None if fits else "a number"
    if hint is str:
        return None if isinstance(value, str) else "text"
    return None
