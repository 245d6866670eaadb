"""Checks of the arrays that functions take and give, until a test has made enough
calls.
"""

import functools
from collections.abc import Callable

import jaxtyping
from beartype import beartype

ENOUGH = 1_000
"""Calls of a test that are checked. A loop's later turns have the shapes of its first
ones, and to check them all would take half of the time of the core's tests."""

_calls = 0
_prepared = set[tuple[str, str]]()


def check(wanted: bool) -> None:
    """Check arrays from now on, for so many calls; or not."""
    global _calls
    _calls = 0
    _prepared.clear()
    jaxtyping.config.update("jaxtyping_disable", not wanted)


def checked(function: Callable) -> Callable:
    """Beartype, as jaxtyping's import hook asks for it; it counts the calls."""
    told = beartype(function)

    @functools.wraps(function)
    def counted(*args, **kwargs):
        global _calls
        _calls += 1
        if _calls == ENOUGH:
            jaxtyping.config.update("jaxtyping_disable", True)
        return told(*args, **kwargs)

    return counted


_jaxtyped = jaxtyping.jaxtyped


def jaxtyped(**told) -> Callable[[Callable], Callable]:
    """Jaxtyping's decorator, as its import hook asks for it. A function in another is
    made anew at every call; the first of a test is checked, as to prepare them all
    takes half of a test."""
    decorated = _jaxtyped(**told)

    def first(function: Callable) -> Callable:
        name = function.__module__, function.__qualname__
        if "<locals>" in name[1]:
            if jaxtyping.config.jaxtyping_disable or name in _prepared:
                return function
            _prepared.add(name)
        return decorated(function)

    return first


jaxtyping.jaxtyped = jaxtyped
