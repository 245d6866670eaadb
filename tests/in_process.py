"""What else takes a process of its own, in this one: sweeps, and a process that is new."""

import sys
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Self

import pytest

from headway import sweeps, userfile
from headway.sweeps.jobs import Event, Stack
from headway.sweeps.work import carry_out
from headway.tasks import KINDS


class InThisProcess:
    """An engine that carries out runs one after another, in no process of their own."""

    options = ""

    def __init__(self, *_: object):
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def places(self, stack: Stack) -> int:
        """One at a time."""
        return 1

    def submit(self, stack: Stack) -> Future[list[Event]]:
        """Carries out a stack."""
        done = Future[list[Event]]()
        done.set_result(carry_out([job.to_json() for job in stack]))
        return done

    def stop(self) -> None:
        """Has nothing to end."""


@contextmanager
def swept_here() -> Iterator[None]:
    """Within it, verbs that sweep start no processes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweeps, "LocalEngine", InThisProcess)
        yield


def forget_files() -> None:
    """Makes this process a new one: it has executed no user's file, and was told of none."""
    for kind, cls in list(KINDS.items()):
        if userfile.is_loaded(cls):
            del KINDS[kind]
    for name in userfile._names:
        sys.modules.pop(name, None)
    for known in (userfile._names, userfile._loaded, userfile._named, userfile._lent):
        known.clear()
