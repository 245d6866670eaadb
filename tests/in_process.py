"""What else takes a process of its own, in this one: sweeps, and a process that is new."""

import sys
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager

import pytest

from headway import sweeps, userfile
from headway.tasks import KINDS


class InThisProcess(sweeps.Engine):
    """An engine that carries out runs one after another, in no process of their own."""

    def __exit__(self, *error: object) -> None:
        """Has nothing to end."""

    def places(self, work: sweeps.Work) -> int:
        """One at a time."""
        return 1

    def submit(self, work: sweeps.Work) -> Future[str | None]:
        """Carries out work."""
        done = Future[str | None]()
        done.set_result(sweeps.carry_out(work))
        return done


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
