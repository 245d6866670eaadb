"""The verbs of the command line: a function for each.

Here is what verbs share: runs and configs that words name, and options that go
together.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.errors import HeadwayError, note
from headway.reading import NO_RUN, require_there

if TYPE_CHECKING:
    from headway.training import Run


def require_goes_with(options: Mapping[str, Any], asked: str, *allowed: str) -> None:
    """Makes sure that no option is given that would change nothing.

    Args:
        options: every option by name; None or False if it is not given.
        asked: what is asked for.
        allowed: the names of those that go with it.

    Raises:
        HeadwayError: if one is.
    """
    for name, value in options.items():
        if name not in allowed and value not in (None, False):
            why = f"{_option(name)} does not go with {asked}"
            if allowed:
                why += f": the options are {', '.join(map(_option, allowed))}"
            raise HeadwayError(why)


def _option(name: str) -> str:
    """An option as it is typed."""
    return f"--{name.replace('_', '-')}"


def require_runs(*folders: Path) -> None:
    """Makes sure that folders exist, before torch is imported for what is in them.

    Raises:
        HeadwayError: if one does not.
    """
    for folder in folders:
        require_there(folder, NO_RUN)


def opened(folder: Path, changed_task: bool | None = None) -> "Run":
    """A run, and on standard error a word if the file of its task has changed since.

    Args:
        folder: of the run.
        changed_task: whether that does not matter; None only reports it.

    Raises:
        HeadwayError: if there is no run, or its task has changed and that matters.
    """
    require_runs(folder)
    from headway.training import Run

    run = Run.open(folder)
    if run.changed and changed_task is False:
        ways = (
            "put the file back as it was, or say --changed-task to take the "
            "task as it is"
        )
        raise HeadwayError(f"{folder}: {run.changed}: {ways}")
    if run.changed:
        note(f"{folder}: {run.changed}")
    return run
