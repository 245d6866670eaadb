"""Checks of the arrays that functions take and give, until a test has made enough calls."""

import functools
from collections.abc import Callable

import jaxtyping
from beartype import beartype

ENOUGH = 1_000
"""Calls of a test that are checked. A loop's later turns have the shapes of its first ones, and to
check them all would take half of the time of the core's tests."""

_calls = 0


def check(wanted: bool) -> None:
    """Check arrays from now on, for so many calls; or not."""
    global _calls
    _calls = 0
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
    """Jaxtyping's decorator, as its import hook asks for it, at functions in others only in need.

    They are made anew at every call. Where nothing is checked any more, none is prepared for it.
    """
    decorated = _jaxtyped(**told)

    def outermost(function: Callable) -> Callable:
        spared = jaxtyping.config.jaxtyping_disable and "<locals>" in function.__qualname__
        return function if spared else decorated(function)

    return outermost


jaxtyping.jaxtyped = jaxtyped
