"""The verb that tries a task, or checks that a run is whole."""

import sys
from pathlib import Path

from headway.arguments import Fields, config_asked_for, fields_in, sources_in
from headway.errors import HeadwayError, require
from headway.reading import is_folder


def check(words: Fields = ()) -> None:
    """Try a task of your own, and say what is wrong with it: headway check my_task.py depth=2

    Everything that training and the search for circuits use is tried. A doubt may be intended; with
    an error, the task cannot be used. For a run's folder, every file is read, and checked to agree
    with the others: headway check runs/fast. The exit code is 0 if there is no error, 1 if there is
    one, 2 if nothing could be tried.

    Args:
        words: a Python file that defines a task, which is executed, with :NAME behind it if it
            defines several; then values of the task's fields, each FIELD=VALUE. Or the folder of
            a run.
    """
    from headway import terminal
    from headway.bases import is_file, recipe_in
    from headway.tasks import check_task, task_in
    from headway.tasks.checking import undeclared
    from headway.training import RECIPES

    sources = sources_in(words)
    if not sources:
        raise HeadwayError("Missing from headway check: FILE, that defines a task")
    if is_folder(sources[0]):
        _check_run(Path(sources[0]), [word for word in words if word != sources[0]])
        return
    allowed = f"the folder of a run, a Python file, NAME.py, or one of {', '.join(RECIPES)}"
    require(is_file(sources[0]) or sources[0] in RECIPES, "what to check", sources[0], allowed)
    if not is_file(sources[0]) or recipe_in(sources[0]):
        task = config_asked_for(words).task
    else:
        cls = task_in(sources[0])
        task = cls if undeclared(cls) else cls(**fields_in(words, cls))
    findings = check_task(task)
    terminal.print_findings(findings, sources[0])
    if not all(finding.doubt for finding in findings):
        sys.exit(1)
    terminal.print_task(task if not isinstance(task, type) else task())


def _check_run(folder: Path, words: list[str]) -> None:
    """Says whether a run's folder is whole."""
    from headway import terminal
    from headway.circuits.whole import faults_of

    if words:
        raise HeadwayError(f"a run has no fields to change: {' '.join(words)}")
    faults = faults_of(folder)
    for fault in faults:
        terminal.say(f"error  {fault}")
    if faults:
        sys.exit(1)
    terminal.say(f"{folder}: whole")
