"""Sweeps in no process of their own, for tests of what is computed and not of how."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Self

import pytest

from headway import sweeps
from headway.sweeps.jobs import Event, Stack
from headway.sweeps.work import carry_out


class InThisProcess:
    """An engine that carries out runs one after another, in no process of their own."""

    options = ""

    def __init__(self, *_: object):
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def events(self, stacks: Sequence[Stack]) -> Iterator[Event | None]:
        """Carries out all jobs; what happened is told after each."""
        for stack in stacks:
            told = list[Event]()
            carry_out(stack, told.append)
            yield from told


@contextmanager
def swept_here() -> Iterator[None]:
    """Within it, verbs that sweep start no processes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweeps, "LocalEngine", InThisProcess)
        yield
