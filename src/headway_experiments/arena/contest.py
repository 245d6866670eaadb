"""The contest: every method on every model, a line of JSON each; it goes on after a
kill.
"""

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from itertools import chain
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import Any, NamedTuple

import torch

from headway.errors import require
from headway.fields import to_json
from headway.training.files import clear_content_errors
from headway_experiments.arena.case import LeftOutError
from headway_experiments.arena.families import Family, known_of
from headway_experiments.arena.methods import METHODS
from headway_experiments.arena.scoring import score
from headway_experiments.arena.subject import Subject
from headway_experiments.language import Ledger

FILE = "scores.jsonl"
"""The file of a contest's folder that keeps its scores."""

Row = dict[str, Any]
"""One method on one model, or a model that was left out, as JSON data."""


class Job(NamedTuple):
    """Methods that a model of a family is still to be given to."""

    family: str
    its: Family
    model: str
    methods: tuple[str, ...]
    folder: Path


def contest(
    folder: Path,
    known: Mapping[str, Family],
    methods: Sequence[str] = (),
    first: int | None = None,
    workers: int = 1,
    watch: Callable[[Row], None] = lambda row: None,
) -> list[Row]:
    """Gives every model to every method, but for what the folder has already.

    Args:
        folder: of the scores, and of the models that are trained.
        known: families by name.
        methods: by name; by default all.
        first: so many models of every family alone.
        workers: processes, each on one core.
        watch: called with every new row.

    Returns:
        All rows that were asked for, new and old.

    Raises:
        HeadwayError: if there is no such method, a family is not here, a number is out
            of range, or the folder is in use or holds something else.
    """
    _require_possible(known, methods, workers, first)
    asked = tuple(dict.fromkeys(methods or METHODS))
    ledger = ledger_of(folder)
    with ledger.writing("cpu"):
        jobs = _jobs_left(folder, known, asked, first)
        with ExitStack() as stack:
            done = map(compete, jobs)
            if workers > 1 and len(jobs) > 1:
                # None imports what lies where it starts.
                os.environ["PYTHONSAFEPATH"] = "1"
                stack.callback(os.environ.pop, "PYTHONSAFEPATH")
                pool = stack.enter_context(
                    get_context("spawn").Pool(workers, _in_worker)
                )
                done = pool.imap_unordered(compete, jobs)
            for row in chain.from_iterable(done):
                ledger.add(row)
                watch(row)
    models = {model for family in known.values() for model in family.names[:first]}
    of_models = [row for row in read(folder) if row["model"] in models]
    return [row for row in of_models if row["method"] in (None, *asked)]


def _require_possible(
    known: Mapping[str, Family], methods: Sequence[str], workers: int, first: int | None
) -> None:
    for name, family in known.items():
        require(
            family.missing is None,
            "family",
            name,
            f"one that is here; {family.missing}",
        )
    for name in methods:
        require(name in METHODS, "method", name, f"one of {', '.join(METHODS)}")
    for name, number in (("workers", workers), ("first", first)):
        require(
            number is None or number >= 1, name, number, "a whole number of at least 1"
        )


def _jobs_left(
    folder: Path, known: Mapping[str, Family], asked: Sequence[str], first: int | None
) -> list[Job]:
    """The jobs that a folder lacks; a model that was left out stays left out."""
    done = {(row["model"], row["method"]) for row in read(folder)}
    jobs: list[Job] = []
    for name, family in known.items():
        for model in family.names[:first]:
            left = tuple(method for method in asked if (model, method) not in done)
            if left and (model, None) not in done:
                jobs.append(Job(name, family, model, left, folder))
    return jobs


def ledger_of(folder: Path) -> Ledger:
    """The folder of a contest as a ledger."""
    return Ledger(folder, "arena", {"format": 1}, "scores")


def read(folder: Path) -> list[Row]:
    """All rows that a folder has; a line that a kill cut off is not one.

    Raises:
        HeadwayError: if a line is something else.
    """
    ledger = ledger_of(folder)
    rows: dict[tuple[Any, ...], Row] = {}
    with clear_content_errors(ledger.path):
        for row in ledger.lines():
            key = row["family"], row["model"], row["method"]
            rows[key] = row
    return list(rows.values())


def _in_worker() -> None:
    """One core for every worker, which ends when its parent does."""
    torch.set_num_threads(1)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    if (parent := parent_process()) is not None:
        parent.join()
        os._exit(1)


def compete(job: Job) -> list[Row]:
    """Gives one model to some methods."""
    about = {"family": job.family, "model": job.model}
    try:
        subject = Subject(known_of(job.its, job.model, job.folder))
    except LeftOutError as reason:
        return [{**about, "method": None, "left_out": str(reason)}]
    about["kind"] = subject.known.kind
    rows: list[Row] = []
    for name in job.methods:
        subject.passes = 0.0
        started = time.process_time()
        answer = METHODS[name](subject)
        seconds = time.process_time() - started
        result = score(subject, answer, seconds)
        rows.append({**about, "method": name, **_short(to_json(result))})
    return rows


def _short(value: Any) -> Any:
    """Numbers to four digits after the point."""
    if isinstance(value, dict):
        return {name: _short(part) for name, part in value.items()}
    return round(value, 4) if isinstance(value, float) else value
