"""The user's own list: which files may be executed because a run's folder names them.

It lies with the user's data, in no run's folder, so that what comes with a folder is not on it. It
only grows, by a line an entry.
"""

import os
import sys
from collections.abc import Iterable
from pathlib import Path

from headway.errors import HeadwayError
from headway.reading import is_file, read_bytes

Entry = tuple[str, str]
"""A file's whole path, and what of it is trusted: `sha256:…`, a content that it may have, or
`builder:…`, a function or class of it that may be called to build a model."""

_unwritten = set[Path | None]()


def place() -> Path | None:
    """The list's file, which need not be there; None if the user has no home folder."""
    data = os.environ.get("XDG_DATA_HOME", "")
    if not os.path.isabs(data):
        data = os.path.expanduser("~/.local/share")
    return Path(data, "headway", "trusted.txt") if os.path.isabs(data) else None


def entries() -> set[Entry]:
    """The entries of the list.

    Raises:
        HeadwayError: if there is a list that cannot be read.
    """
    path = place()
    if path is None or not is_file(path):
        return set()
    lines = read_bytes(path).decode(errors="replace").splitlines()
    return {(file, mark) for mark, _, file in (line.partition(" ") for line in lines) if file}


def add(new: Iterable[Entry]) -> None:
    """Puts entries on the list; where it cannot be written, one line on standard error says so."""
    path = place()
    try:
        if path is None:
            raise HeadwayError("there is no home folder")
        if missing := sorted(set(new) - entries()):
            path.parent.mkdir(parents=True, exist_ok=True)
            lines = [f"{mark} {file}" for file, mark in missing]
            whole = "\n".join(["", *filter(str.isprintable, lines), ""])
            with open(path, "ab", buffering=0) as file:  # at once, whoever else writes
                file.write(whole.encode())
    except (OSError, HeadwayError) as error:
        if path not in _unwritten:
            print(f"headway: cannot note which files you trust: {error}", file=sys.stderr)
        _unwritten.add(path)
