"""Work that takes processes of its own, in this one: sweeps, and a process that is
new.
"""

import sys
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path

import pytest

from headway import sweeps, userfile
from headway.tasks import KINDS
from headway.training import RunConfig


class InThisProcess(sweeps.Engine):
    """An engine that carries out runs one after another, in no process of their own."""

    def __exit__(self, *error: object) -> None:
        """Have nothing to end."""

    def places(self, config: RunConfig) -> int:
        """One at a time."""
        return 1

    def submit(self, folder: Path, config: RunConfig) -> Future[str | None]:
        """Carry out a run."""
        done = Future[str | None]()
        done.set_result(sweeps.carry_out(folder, None))
        return done


@contextmanager
def swept_here() -> Iterator[None]:
    """Within it, verbs that sweep start no processes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweeps, "Engine", InThisProcess)
        yield


def forget_files() -> None:
    """Make this process a new one: it has executed no user's file, and was told of
    none.
    """
    for kind, cls in list(KINDS.items()):
        if userfile.is_loaded(cls):
            del KINDS[kind]
    for name in userfile._loaded:
        del sys.modules[name]
    userfile._loaded.clear()
    userfile._known.clear()
