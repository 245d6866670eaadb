"""Finding runs: in a folder, in the sweeps that it holds, and in folders of sweeps."""

import os
from pathlib import Path

from headway.errors import HeadwayError
from headway.fields import natural
from headway.training.files import clear_io_errors, is_there

PLAN = "plan.json"
"""The file that a sweep's folder holds beside its runs."""

LEFT_BY_RUNS = ("metrics.jsonl", "checkpoints", "state.safetensors", "outcome.json")
"""Files that tell a run's folder that has lost its config from folders of other things."""


def run_folders(folder: Path, root: Path | None = None, levels: int = 3) -> list[Path]:
    """The runs' folders in a folder, in its sweeps and in its folders of sweeps, or itself if it is
    a run's.

    A run that has lost its config is among them: `Run.open` says what is wrong. Other folders, such
    as those of figures, are not. Names are in natural order, in which seed=10 comes after seed=9.

    Args:
        folder: that is looked through.
        root: a folder without links in its path, out of which no link is followed; by default all
            links are.
        levels: at which runs may lie below it; 3 with runs in a sweep in a folder of sweeps.

    Raises:
        HeadwayError: if there is no such folder, or it cannot be read.
    """
    if any(os.path.exists(folder / name) for name in ("config.json", *LEFT_BY_RUNS)):
        return [folder]
    found, below = list[Path](), 0 if os.path.exists(folder / PLAN) else levels - 1
    for name in sorted(_names_in(folder, root) if levels else [], key=natural):
        try:
            found += run_folders(folder / name, root, below)
        except HeadwayError:  # of which `Run.open` tells
            found.append(folder / name)
    return found


def leads_out(path: Path | os.DirEntry[str], root: Path) -> bool:
    """Tell whether something is a link that leads out of a folder without links in its path."""
    return path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(root)


def _names_in(folder: Path, root: Path | None) -> list[str]:
    """The names of the folders in a folder, but for hidden ones and those out of a root."""
    if not is_there(folder):
        raise HeadwayError(f"{folder}: there is no such folder")
    with clear_io_errors(folder, "read"), os.scandir(folder) as entries:
        shown = [one for one in entries if not one.name.startswith(".") and os.path.isdir(one)]
        return [one.name for one in shown if root is None or not leads_out(one, root)]
