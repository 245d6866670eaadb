"""A folder in which findings are kept line by line, by one process at a time."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock, Timeout

from headway.errors import HeadwayError, require
from headway.training.environment import describe_environment
from headway.training.files import (
    clear_content_errors,
    clear_io_errors,
    is_there,
    read_json,
    write_json,
)


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The lines of a file; one cut off in the middle does not count, and no file is no line.

    Raises:
        HeadwayError: if the file is damaged.
    """
    if not is_there(path):
        return []
    with clear_io_errors(path, "read"):
        text = path.read_text()
    with clear_content_errors(path):
        return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]


@contextmanager
def adding_lines(path: Path) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """Adds lines to a file, each on disk before the next; cuts off what a kill left of a line."""
    with clear_io_errors(path, "write to"):
        if is_there(path):
            with path.open("rb+") as file:
                file.truncate(file.read().rfind(b"\n") + 1)
        with path.open("a") as file:

            def add(line: Mapping[str, Any]) -> None:
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
                file.flush()

            yield add


def require_same(path: Path, about: Mapping[str, Any]) -> None:
    """Checks that a file about what is done in its folder says the same, or is not there.

    Raises:
        HeadwayError: if something else is done there, or the file is damaged.
    """
    if not is_there(path):
        return
    known = read_json(path)
    with clear_content_errors(path):
        for name, value in json.loads(json.dumps(about)).items():
            before = known[name]
            require(value == before, name, value, f"{before!r}, as it is in {path.parent}")


@contextmanager
def holding(path: Path, about: Mapping[str, Any], device: str = "cpu") -> Iterator[None]:
    """Holds the folder of a file for one process; what is done there is noted in the file.

    Args:
        path: of the file.
        about: what is done, as plain data.
        device: that computes.

    Raises:
        HeadwayError: if another process holds it, or something else is done there.
    """
    folder = path.parent
    with clear_io_errors(folder, "make"):
        folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / ".lock", timeout=0.3)
    try:
        with clear_io_errors(folder, "write to"):
            lock.acquire()
    except Timeout:
        raise HeadwayError(f"{folder}: another process is at work here") from None
    try:
        require_same(path, about)
        if not is_there(path):
            environment = describe_environment(device, torch.get_num_threads())
            write_json(path, {**about, "environment": environment})
        yield
    finally:
        lock.release()
