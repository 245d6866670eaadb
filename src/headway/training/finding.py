"""Finding runs: in a folder, in the sweeps that it holds, and in folders of sweeps."""

import os
from collections import deque
from pathlib import Path

from headway.errors import HeadwayError
from headway.fields import natural
from headway.reading import clear_io_errors, require_there

PLAN = "plan.json"
"""The file that a sweep's folder holds beside its runs."""

LEFT_BY_RUNS = ("metrics.jsonl", "checkpoints", "state.safetensors", "outcome.json")
"""Files that mark a run's folder even without its config."""


LEVELS = 3
"""Levels of folders above runs: sweeps, and folders of sweeps."""


def run_folders(
    folder: Path, root: Path | None = None, levels: int = LEVELS
) -> list[Path]:
    """The runs' folders in a folder, in its sweeps and in its folders of sweeps, or
    itself if it is a run's.

    A run that has lost its config is among them: `Run.open` says what is wrong. Other
    folders, such as those of figures, are not. Names are in natural order, in which
    seed=10 comes after seed=9.

    Every folder is entered once, so a run that several paths lead to is listed once: by
    a path without links, if there is one.

    Args:
        folder: that is looked through.
        root: a folder without links in its path, out of which no link is followed; by
            default all links are.
        levels: at which runs may lie below it.

    Raises:
        HeadwayError: if there is no such folder, or it cannot be read.
    """
    runs = list[Path]()
    entered = set[tuple[int, int] | None]()
    plain = deque([(folder, levels)])
    linked = deque[tuple[Path, int]]()
    while plain or linked:
        # What lies behind links comes last, so that a folder is called by its own path.
        behind = not plain
        path, left = linked.popleft() if behind else plain.popleft()
        known = _identity(path)
        is_run = _is_run(path)
        if known in entered or not (is_run or left):
            continue
        entered.add(known)
        if is_run:
            runs.append(path)
            continue
        below = 0 if os.path.exists(path / PLAN) else left - 1
        try:
            inner = [path / name for name in _names_in(path, root)]
        except HeadwayError:
            if path == folder:
                raise
            runs.append(path)  # `Run.open` tells what is wrong
            continue
        for child in inner:
            (linked if behind or child.is_symlink() else plain).append((child, below))
    return sorted(
        runs, key=lambda path: [*map(natural, path.relative_to(folder).parts)]
    )


def _is_run(folder: Path) -> bool:
    """Tell whether a folder is a run's, perhaps one that has lost its config."""
    return any(os.path.exists(folder / name) for name in ("config.json", *LEFT_BY_RUNS))


def _identity(folder: Path) -> tuple[int, int] | None:
    """The identity of a folder, whatever it is called; None if it is not to be had."""
    try:
        about = folder.stat()
    except (OSError, ValueError):
        return None
    return about.st_dev, about.st_ino


def leads_out(path: Path | os.DirEntry[str], root: Path) -> bool:
    """Tell whether a link leads out of a folder without links in its path."""
    return path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(root)


def _names_in(folder: Path, root: Path | None) -> list[str]:
    """The names of folders in a folder, but for hidden ones and those outside."""
    require_there(folder)
    with clear_io_errors(folder, "read"), os.scandir(folder) as entries:
        shown = [entry for entry in entries if not entry.name.startswith(".")]
        inner = [entry for entry in shown if os.path.isdir(entry)]
        return [
            entry.name for entry in inner if root is None or not leads_out(entry, root)
        ]
