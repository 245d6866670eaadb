"""Where runs lie: in a folder, and in the sweeps that it holds."""

import os
import re
from pathlib import Path
from typing import Any

from headway.errors import HeadwayError
from headway.training.files import clear_io_errors, is_there

PLAN = "plan.json"
"""What a sweep's folder holds beside its runs."""


def run_folders(folder: Path) -> list[Path]:
    """The runs' folders in a folder and in the sweeps one level down, or itself if it is a run's.

    What is neither a run's folder nor a sweep's is among them: `Run.open` says what is wrong. Names
    are in natural order, in which seed=10 comes after seed=9.

    Raises:
        HeadwayError: if there is no such folder, or it cannot be read.
    """
    if not is_there(folder):
        raise HeadwayError(f"{folder}: there is no such folder")
    if is_there(folder / "config.json"):
        return [folder]
    with clear_io_errors(folder, "read"):
        paths = _folders_in(folder)
    found = []
    for path in paths:
        found += _runs_of_sweep(path) if not _is_run(path) else [path]
    return found


def _runs_of_sweep(folder: Path) -> list[Path]:
    """The runs of a sweep; the folder itself if it holds neither a run nor a plan."""
    try:
        inside = _folders_in(folder)
    except OSError:
        return [folder]
    if any(_is_run(path) for path in inside) or os.path.exists(folder / PLAN):
        return inside
    return [folder]


def _is_run(folder: Path) -> bool:
    return os.path.exists(f"{folder}/config.json")


def _folders_in(folder: Path) -> list[Path]:
    with os.scandir(folder) as entries:
        names = [one.name for one in entries if not one.name.startswith(".") and _is_folder(one)]
    return [folder / name for name in sorted(names, key=natural)]


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def natural(name: str) -> list[Any]:
    """A key by which seed=10 comes after seed=9."""
    parts = re.split(r"([0-9]+)", name)
    return [int(part) if i % 2 else part for i, part in enumerate(parts)]
