"""Reading files that anyone may have written: regular, bounded, strict JSON.

Whoever opens a file for its content does it here, so that a pipe is not waited for, a
device is not read without end, and what is too deep, too long or no finite number is
refused in one line.
"""

import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from os.path import isdir as is_folder  # noqa: F401
from os.path import isfile as is_file  # noqa: F401
from pathlib import Path
from typing import Any

from headway.errors import HeadwayError

MOST = 256 * 2**20
"""Bytes of a file of text or JSON. (What it may hold is bounded by its parser: 200
levels of nesting, numbers of 4,300 digits.)"""


@contextmanager
def clear_io_errors(path: Path, doing: str) -> Iterator[None]:
    """Turns errors of a failing disk (full, no permission, …) into one line."""
    try:
        yield
    except OSError as error:
        raise HeadwayError(
            f"cannot {doing} {path}: {error.strerror or error}"
        ) from error


def is_there(path: Path) -> bool:
    """Tell whether there is a file or folder.

    Raises:
        HeadwayError: if that cannot be told, for want of permission or as no file can
            be called so.
    """
    with clear_io_errors(path, "read"):
        try:
            path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return False
        except ValueError as error:
            raise HeadwayError(
                f"{str(path)!r}: no file can have this name ({error})"
            ) from None
        return True


NO_RUN = "there is no run folder here"
NO_FOLDER = "there is no such folder"


def require_there(folder: Path, missing: str = NO_FOLDER) -> None:
    """Makes sure that a folder exists.

    Args:
        folder: that is looked for.
        missing: the end of the line if it does not exist.

    Raises:
        HeadwayError: if it does not.
    """
    if not is_there(folder):
        raise HeadwayError(f"{folder}: {missing}")


def read_bytes(path: str | Path) -> bytes:
    """The content of a regular file.

    Raises:
        HeadwayError: if there is none, it cannot be read, is no regular file or too
            large.
    """
    try:
        file = opened(path)
        with os.fdopen(file, "rb") as content:
            size = os.fstat(file).st_size
            whole = (content.read(MOST + 1) if size <= MOST else None) or b""
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise HeadwayError(f"cannot read {path}: {reason}") from None
    if max(size, len(whole)) > MOST:
        raise HeadwayError(
            f"{path} has {size} bytes: of such a file at most {MOST} are read"
        )
    return whole


def opened(path: str | Path) -> int:
    """A file descriptor of a regular file; whoever asks for it closes it.

    Raises:
        HeadwayError: if it is something else, such as a pipe.
        OSError: if it cannot be opened.
    """
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise HeadwayError(f"{path} is not a file")
    return file


def parsed(content: bytes, where: object) -> Any:
    """The data in strict JSON: no NaN, infinity or lone surrogate, not too deep.

    Args:
        content: the JSON.
        where: where it is from, for the error.

    Raises:
        HeadwayError: if it is not valid.
    """
    from pydantic_core import from_json

    try:
        data = from_json(content.decode(), allow_inf_nan=False)
        json.dumps(data, allow_nan=False)  # a number such as 1e999 is read as infinity
    except ValueError as error:
        raise HeadwayError(f"{where} is not valid JSON: {error}") from None
    return data
