"""Calls of the operating system on files of a folder, one by one: each may fail, or be
the last.
"""

import builtins
import contextlib
import errno
import fcntl
import io
import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

from fuzz.runs import CONFIG, kept, require_same
from fuzz.tried import Tried, is_one_line
from headway.errors import HeadwayError
from headway.training import Run, resume, train
from headway.training.files import read_tensors

NAMES = (
    "open",
    "fsync",
    "replace",
    "rename",
    "mkdir",
    "unlink",
    "rmdir",
    "link",
    "truncate",
    "ftruncate",
    "stat",
    "listdir",
    "scandir",
    "close",
)
WRITING = ("open", "mkdir", "write", "fsync")
"""Calls that a full disk or table of files refuses, again and again."""
NEEDED = ("write", "fsync", "replace", "rename")
"""Calls that cannot fail without a word."""
ERRORS = (errno.ENOSPC, errno.EIO, errno.EINTR, errno.EMFILE)

At = Callable[[str, str, Any], None]
"""Told of a call's name, of the moment (`before` or `after` it) and of the file."""


class Calls:
    """Tells of every call that Python makes on files of a folder (safetensors reads by
    itself).

    Args:
        folder: the calls on anything in it are told of.
        at: told of them; what it raises, the call raises.
    """

    def __init__(self, folder: Path, at: At):
        self.folder = str(folder.absolute())
        self.at = at
        self._inside = False

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Within it, calls are told of."""
        with contextlib.ExitStack() as patches:
            for name in NAMES:
                patches.enter_context(
                    patch.object(os, name, self._told(name, getattr(os, name)))
                )
            patches.enter_context(
                patch.object(fcntl, "flock", self._told("flock", fcntl.flock))
            )
            for module in (io, builtins):
                patches.enter_context(
                    patch.object(module, "open", self._opened(io.open))
                )
            yield

    def _told(self, name: str, call: Any) -> Any:
        def told(*given: Any, **more: Any) -> Any:
            if not given or not self._concerns(given[0], more.get("dir_fd")):
                return call(*given, **more)
            self._tell(name, "before", given[0])
            result = call(*given, **more)
            self._tell(name, "after", given[0])
            return result

        return told

    def _opened(self, call: Any) -> Any:
        """`open`, whose files tell of what they write."""
        calls = self

        class Raw(io.FileIO):
            halved = False

            def write(self, content: Any) -> int:
                """Take half of a content, and when it is asked again, the rest."""
                self.halved = not self.halved
                some = bytes(content)[: len(content) // 2] if self.halved else content
                calls._tell("write", "before", self.fileno())
                written = super().write(some)
                calls._tell("write", "after", self.fileno())
                return written

        def opened(file: Any, mode: str = "r", *given: Any, **more: Any) -> Any:
            if (
                not set(mode) & set("wax+")
                or "b" not in mode
                or not self._concerns(file, None)
            ):
                return call(file, mode, *given, **more)
            self._tell("open", "before", file)
            buffered = io.BufferedRandom if "+" in mode else io.BufferedWriter
            raw = buffered(Raw(file, mode.replace("b", "")))
            self._tell("open", "after", file)
            return raw

        return opened

    def _concerns(self, file: Any, folder: int | None) -> bool:
        """Tell whether a path or an open file lies in the folder."""
        if self._inside:
            return False
        if isinstance(file, int):
            with contextlib.suppress(OSError):
                return os.readlink(f"/proc/self/fd/{file}").startswith(self.folder)
            return False
        path = os.fsdecode(file)
        if folder is not None:
            path = os.path.join(os.readlink(f"/proc/self/fd/{folder}"), path)
        return os.path.abspath(path).startswith(self.folder)

    def _tell(self, name: str, moment: str, file: Any) -> None:
        self._inside = True
        try:
            self.at(name, moment, file)
        finally:
            self._inside = False


class Failing:
    """Lets one call fail, or it and all like it that follow.

    Args:
        number: which, counted from 0; none lets all succeed.
        code: of the error.
        on: whether those that follow fail, too, if a full disk would refuse them.
    """

    def __init__(self, number: int | None, code: int = 0, on: bool = False):
        self.number = number
        self.code = code
        self.on = on
        self.told: list[tuple[str, str]] = []

    def __call__(self, name: str, moment: str, file: Any) -> None:
        if moment == "after" or (name == "close" and moment == "before"):
            return
        self.told.append((name, moment))
        at = len(self.told) - 1
        goes_on = (
            self.on and self.number is not None and at > self.number and name in WRITING
        )
        if at == self.number or goes_on:
            raise OSError(self.code, os.strerror(self.code))


def failing_calls(tried: Tried, count: int | None, seed: int, folder: Path) -> None:
    """A run of which a call fails says so in one line, and goes on to the same end.

    Args:
        tried: takes note.
        count: cases, drawn at random; none means all.
        seed: of the draw.
        folder: to work in.
    """
    end = kept(train(CONFIG, folder / "whole"))
    calls = Failing(None)
    with Calls(folder / "a", calls).watched():
        train(CONFIG, folder / "a" / "run")
    cases = [(n, code, False) for n in range(len(calls.told)) for code in ERRORS]
    cases += [
        (n, errno.ENOSPC, True)
        for n, (name, _) in enumerate(calls.told)
        if name in WRITING
    ]
    if count is not None:
        cases = random.Random(seed).sample(cases, count)
    for n, code, on in cases:
        what = " ".join(calls.told[n]) + (" and on" if on else "")
        place = folder / "case" / "run"
        with tried.case("failing calls", f"{n}, {what}: {errno.errorcode[code]}"):
            ended, message = _tried(place, Failing(n, code, on))
            silent = ended and calls.told[n][0] in NEEDED and code != errno.EINTR
            assert not silent, "nobody was told"
            assert ended or code == errno.EINTR or message, "no reason was given"
            again = resume(place) if place.exists() else train(CONFIG, place)
            require_same(kept(again), end)
            left = [path.name for path in place.parent.rglob("*draft*")]
            assert not left, left
        shutil.rmtree(place.parent, ignore_errors=True)


def _tried(place: Path, failing: Failing) -> tuple[bool, str]:
    """Tell whether a run ended although a call failed, and the line that said so if
    not.
    """
    try:
        with Calls(place.parent, failing).watched():
            train(CONFIG, place)
    except HeadwayError as error:
        if not is_one_line(error):
            raise AssertionError(repr(error)) from None
        _require_readable(place)
        return False, str(error)
    return True, ""


def _require_readable(place: Path) -> None:
    """Make sure that no file of a run was left half-written."""
    if place.exists():
        run = Run.open(place)
        for look in (run.metrics, run.outcome, run.sessions):
            look()
        if (state := place / "state.safetensors").exists():
            read_tensors(state)
        for step in run.checkpoint_steps():
            run.model(step)
