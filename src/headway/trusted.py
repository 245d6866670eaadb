"""The user's own list: which files may be executed because a run's folder names them.

It lies with the user's data, in no run's folder, so that what comes with a folder is not on it.
"""

import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from headway.errors import HeadwayError, require
from headway.reading import is_file, parsed, read_bytes

Entry = tuple[str, str]
"""A file's whole path, and what of it is trusted: `sha256:…`, a content that it may have, or
`builder:…`, a function or class of it that may be called to build a model."""

PATIENCE = 5.0
"""Seconds that another process may take to write the list."""

_unwritten = set[Path]()


def place() -> Path | None:
    """The list's file, which need not be there; None if the user has no home folder."""
    data = os.environ.get("XDG_DATA_HOME", "")
    if not os.path.isabs(data):
        data = os.path.expanduser("~/.local/share")
    return Path(data, "headway", "trusted.json") if os.path.isabs(data) else None


def entries() -> set[Entry]:
    """All that is on the list.

    Raises:
        HeadwayError: if there is a list that cannot be read.
    """
    path = place()
    if path is None or not is_file(path):
        return set()
    data = parsed(read_bytes(path), path)
    fits = isinstance(data, dict) and all(_are_texts(marks) for marks in data.values())
    require(fits, str(path), data, "an object of lists of texts, by file")
    return {(file, mark) for file, marks in data.items() for mark in marks}


def _are_texts(marks: Any) -> bool:
    return isinstance(marks, list) and all(isinstance(mark, str) for mark in marks)


def add(new: Iterable[Entry]) -> None:
    """Puts entries on the list; where it cannot be written, one line on standard error says so."""
    path = place()
    try:
        if path is None:
            raise HeadwayError("there is no home folder")
        if not set(new) <= entries():
            _write(path, set(new))
    except (OSError, HeadwayError) as error:
        if path not in _unwritten:
            print(f"headway: cannot note which files you trust: {error}", file=sys.stderr)
        _unwritten.add(path or Path())


def _write(path: Path, new: set[Entry]) -> None:
    from filelock import FileLock

    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.draft-{os.getpid()}")
    with FileLock(path.with_suffix(".lock"), timeout=PATIENCE):
        data: dict[str, list[str]] = {}
        for file, mark in sorted(entries() | new):
            data.setdefault(file, []).append(mark)
        try:
            with open(draft, "w", encoding="utf-8") as file:
                json.dump(data, file, indent=1)
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, path)
        finally:
            draft.unlink(missing_ok=True)
