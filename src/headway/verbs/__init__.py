"""The verbs of the command line: a function for each.

Here is what verbs share: runs and configs that words name, and options that go together.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.errors import HeadwayError, note
from headway.text import wrapped

if TYPE_CHECKING:
    from headway.training import Run


def print_fields(words: Sequence[str]) -> None:
    """Prints what can be changed in the recipe or the task that is named among words, if one is:
    its arguments, then all fields."""
    from headway.fields import described, said
    from headway.recipes import annotations, base_of, source_and_fields
    from headway.training.config import SECTIONS, RunConfig, flat
    from headway.training.curriculum import CURRICULA
    from headway.verbs.listing import uses

    source, _ = source_and_fields(words)
    if source is None:
        return
    base = base_of(source)
    config = base.make()
    values, about = flat(config), uses(base.make) | uses(RunConfig)
    for section in SECTIONS:
        about |= uses(type(getattr(config, section)), f"{section}.")
    for kind in CURRICULA.values():
        about |= uses(kind, "training.curriculum.")
    for title, hints in (
        (f"arguments of {base.name}, to which other fields adapt", base.arguments),
        ("\nfields", annotations(config)),
    ):
        print(title)
        for name, hint in hints.items():
            shown = f"{name}={said(values[name])}" if name in values else name
            use = about.get(name) or about.get(f"task.{name}", "")
            print(*wrapped(f"{shown}  ({described(hint)})", "  ", "      "), sep="\n")
            print(*wrapped(use, "      ", "      "), sep="\n")


def require_goes_with(asked: str, options: Mapping[str, Any], allowed: Sequence[str]) -> None:
    """Makes sure that no option is given that would change nothing.

    Args:
        asked: what is asked for.
        options: every option by name; None or False if it is not given.
        allowed: the names of those that go with it.

    Raises:
        HeadwayError: if one is.
    """
    written = {name: f"--{name.replace('_', '-')}" for name in (*options, *allowed)}
    there = ", ".join(written[name] for name in allowed)
    for name, value in options.items():
        if name not in allowed and value not in (None, False):
            rest = f": the options are {there}" if there else ""
            raise HeadwayError(f"{written[name]} does not go with {asked}{rest}")


def opened(folder: Path, changed_task: bool | None = None) -> "Run":
    """A run, and on standard error a word if the file of its task has changed since.

    Args:
        folder: of the run.
        changed_task: whether that does not matter; None only reports it.

    Raises:
        HeadwayError: if there is no run, or its task has changed and that matters.
    """
    from headway.training import Run

    run = Run.open(folder)
    if run.changed and changed_task is False:
        raise HeadwayError(
            f"{folder}: {run.changed}: put the file back as it was, or say --changed-task to take"
            " the task as it is"
        )
    if run.changed:
        note(f"{folder}: {run.changed}")
    return run
