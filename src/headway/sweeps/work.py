"""What one process is given to do: it goes on with a run, or with several at once, to the end."""

import gc
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from headway.errors import HeadwayError
from headway.tasks.registry import task_to_json
from headway.training import RunBusyError, RunConfig, resume_stacked
from headway.userfile import Source, described, lend


@dataclass(frozen=True)
class Work:
    """Runs that one process trains, at once if there are several.

    Attributes:
        folders: of the runs, which are there.
        threads: that they compute with.
        device: that they compute on.
        trusted: the file of their task that the process may execute, if it is a user's own.
    """

    folders: tuple[Path, ...]
    threads: int
    device: str
    trusted: Source | None

    @classmethod
    def of(cls, folders: Sequence[Path], config: RunConfig) -> "Work":
        """The work on runs that have task, threads and device in common."""
        defined = task_to_json(config.task).get("defined")
        trusted = None if defined is None else Source(**defined)
        return cls(tuple(folders), config.threads, config.device, trusted)


def carry_out(work: Work) -> dict[str, str]:
    """Goes on with runs, each from where it is, to their ends.

    A run that is done is left as it is, and one that another process writes to is left to it.

    Returns:
        Why runs failed, by name, where their folders do not tell: one cannot be read, its task has
        changed or breaks, the memory does not suffice, …
    """
    if work.trusted is not None:
        lend(work.trusted)
    return _trained(work.folders)


def _trained(folders: Sequence[Path]) -> dict[str, str]:
    """Trains runs at once; what keeps them from going on so is found by each going on alone."""
    alone, failures = len(folders) == 1, dict[str, str]()
    try:
        resume_stacked(folders)
        return failures
    except RunBusyError:
        pass
    except Exception as error:
        if alone:
            failures[folders[0].name] = reason(error)
    gc.collect()  # of runs that were too large, what the error's frames held
    for folder in () if alone else folders:
        failures |= _trained((folder,))
    return failures


def reason(error: Exception) -> str:
    """Why a run failed, on one line."""
    text = str(error) if isinstance(error, HeadwayError) else described(error)
    text = " ".join(text.split("\n", 1)[0].split())
    return text if len(text) <= 300 else f"{text[:299]}…"
