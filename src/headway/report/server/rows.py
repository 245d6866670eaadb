"""A run as a row of the page of all runs, as data."""

import math
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from headway.circuits import THRESHOLD
from headway.report.server.catalogue import Entry, Name
from headway.report.server.summary import Summary

WIDTH, HEIGHT = 96.0, 26.0
LOSSES = (0.002, 2.0)
"""The logarithmic range of all small curves, from bottom to top, so that they can be compared."""

LATEST = 250e9
"""The last time that a calendar has, in seconds since 1970; a file's can be beyond."""


def link(kind: str, name: Name) -> str:
    """The address of a page on the server: of a run, or of a sweep."""
    return f"/{kind}/" + "".join(f"{_quoted(part)}/" for part in name)


def _quoted(text: str) -> str:
    return quote(os.fsencode(text), safe="")


def row_of(entry: Entry, told: Summary | str) -> dict[str, Any]:
    """What the template shows of a run, with the words that the filter looks at.

    Args:
        entry: the run's folder.
        told: its summary, or why it cannot be read.
    """
    full = "/".join(entry.name)
    row = {"entry": entry, "told": told, "link": link("run", entry.name), "key": _quoted(full)}
    row["times"] = _times(entry.changed)
    if isinstance(told, str):
        return {**row, "state": "unreadable", "words": f"{full} unreadable {told}", "why": ""}
    why = told.message or "" if told.status == "failed" else ""
    for folder in (entry.folder.absolute(), entry.folder):
        why = why.replace(f" in {folder}", "")
    words = [full, told.task, told.model, f"seed {told.seed}", told.status, told.message or ""]
    course = _course(told.curve)
    return {**row, "state": told.status, "words": " ".join(words), "why": why, "course": course}


def _course(curve: Sequence[tuple[int, float]]) -> dict[str, Any] | None:
    """The validation loss over training, and the level below which the task is solved."""
    if len(curve) < 2:
        return None
    first, last = curve[0][0], curve[-1][0]
    across = [(step - first) / max(1, last - first) * WIDTH for step, _ in curve]
    down = [_height(loss) for _, loss in curve]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(across, down, strict=True))
    level, end = f"{_height(THRESHOLD):.1f}", f"{down[-1]:.1f}"
    return {"width": WIDTH, "height": HEIGHT, "points": points, "level": level, "last": end}


def _height(loss: float) -> float:
    low, high = map(math.log, LOSSES)
    return HEIGHT * (high - math.log(min(LOSSES[1], max(LOSSES[0], loss)))) / (high - low)


def _times(seconds: float | None) -> tuple[str, str] | None:
    """A time for machines and, in this place, for people; None if it is not known."""
    if seconds is None:
        return None
    exact = datetime.fromtimestamp(min(max(seconds, 0.0), LATEST), UTC)
    return f"{exact:%Y-%m-%dT%H:%M:%SZ}", f"{exact.astimezone():%Y-%m-%d %H:%M}"
