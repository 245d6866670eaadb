"""Crash points: a process that dies before, within or after any call on a file."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from fuzz.calls import Calls
from fuzz.runs import CONFIG, kept, require_same
from fuzz.tried import Tried
from headway.report.page import write_report
from headway.sweeps import Plan, sweep
from headway.training import Run, resume, train
from in_process import InThisProcess

Files = dict[str, bytes | None]
"""Files in a folder by name: contents, and none for folders."""
Act = Callable[[Path], dict[str, Any]]
"""Work in a folder, and all that it leaves, by name; done again, it goes on."""


def files_in(folder: Path) -> Files:
    """The files in a folder at this moment."""
    paths = sorted(folder.rglob("*"))
    return {
        str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None
        for p in paths
    }


def put(folder: Path, files: Files) -> None:
    """Make a folder of what lay in another one."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, content in files.items():
        if content is None:
            (folder / name).mkdir()
        else:
            (folder / name).write_bytes(content)


def crashes_of(act: Act, start: Files, folder: Path) -> tuple[Any, int, list[Files]]:
    """Do some work in a folder, every call watched.

    A process that dies leaves what the folder holds at that moment: the content that it
    has not handed over yet is lost with it.

    Returns:
        All that it leaves, how many crash points there are, and the folders that they
        leave.
    """
    put(folder, start)
    left: list[Files] = [start]
    points = 0

    def at(name: str, moment: str, file: Any) -> None:
        nonlocal points
        points += 1
        now = files_in(folder)
        if now != left[-1]:
            left.append(now)

    with Calls(folder, at).watched():
        end = act(folder)
    return end, points, left


def crash_points(tried: Tried, every: int, folder: Path, finished: Run) -> None:
    """A run, a sweep and a page that were ended anywhere come to the same end.

    Args:
        tried: takes note.
        every: how many of the folders that are left are passed over for one that is
            tried.
        folder: to work in.
        finished: a run to make a page of.
    """
    page = {
        f"run/{name}": content for name, content in files_in(finished.folder).items()
    }
    acts: dict[str, tuple[Act, Files]] = {
        "a run": (carried_on, {}),
        "a sweep": (_sweep, {}),
        "a page": (_page, {"run": None, **page}),
    }
    for name, (act, start) in acts.items():
        end, points, left = crashes_of(act, start, folder / "watched")
        tried.note(
            f"{name}: {points:,} crash points leave {len(left):,} different folders"
        )
        for number, files in enumerate(left[::every]):
            with tried.case(
                "crash points", f"{name}, folder {number * every} of {len(left)}"
            ):
                put(folder / "case", files)
                found = act(folder / "case")
                require_same(found, end)
                drafts = [path.name for path in (folder / "case").rglob("*draft*")]
                assert not drafts, drafts


def carried_on(folder: Path) -> dict[str, Any]:
    """Train a run in a folder, from where it is."""
    place = folder / "run"
    return kept(resume(place) if place.exists() else train(CONFIG, place))


def _sweep(folder: Path) -> dict[str, Any]:
    short = replace(CONFIG, training=replace(CONFIG.training, steps=6))
    runs = [(f"seed {seed}", replace(short, seed=seed)) for seed in (0, 1)]
    sweep(Plan("two", dict(runs)), folder / "sweep", InThisProcess())
    return {name: kept(Run.open(folder / "sweep" / name)) for name, _ in runs}


def _page(folder: Path) -> dict[str, Any]:
    return {"report.html": write_report(Run.open(folder / "run")).read_bytes()}
