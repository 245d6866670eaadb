"""Where plans come from: a recipe's name, a Python file, the folder of a sweep."""

import runpy
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headway.errors import HeadwayError
from headway.sweeps.plan import Axes, Plan, axes_of, cells, file_name, grid, named_by_what_varies
from headway.training import RECIPES, RunConfig
from headway.training.files import first_line, is_there, read_json
from headway.training.finding import PLAN


def load_plan(source: str | Path, texts: Sequence[str] = ()) -> Plan:
    """The plan that a user names.

    Args:
        source: a recipe's name; a Python file that defines `plan()`, which returns a list of
            `RunConfig`, or a dict of them by name, or a list of pairs (name, `RunConfig`); or the
            folder of a sweep.
        texts: a grid to cross it with, each `FIELD=VALUES`.

    Raises:
        HeadwayError: if there is no such plan, it is not one, or the grid does not fit.
    """
    axes, path = axes_of(texts), Path(source)
    if isinstance(source, str) and source in RECIPES:
        if axes:
            return grid(source, axes)
        return Plan.of(source, named_by_what_varies([RECIPES[source]()]))
    if is_there(path / PLAN):
        if axes:
            raise HeadwayError(f"{path} is a sweep's folder: its plan is not crossed with a grid")
        return read_plan(path)
    if path.is_dir():
        raise HeadwayError(f"{path} is a folder without {PLAN}: no sweep was started in it")
    if not is_there(path):
        if path.suffix == ".py":
            raise HeadwayError(f"{path}: there is no such file")
        raise HeadwayError(
            f"plan = {str(source)!r} is not allowed: it must be one of {', '.join(RECIPES)},"
            " a Python file that defines plan(), or a sweep's folder"
        )
    try:
        return _planned(path, _returned(path), axes)
    except HeadwayError as error:
        named = str(error).startswith((f"{path}:", f"{path} ", f"{path},"))
        raise HeadwayError(str(error) if named else f"{path}: {error}") from None


def read_plan(folder: Path) -> Plan:
    """The plan of the sweep in a folder.

    Raises:
        HeadwayError: if it cannot be read.
    """
    return Plan.from_json(read_json(folder / PLAN), str(folder / PLAN))


def default_folder(source: str | Path, plan: Plan, texts: Sequence[str] = ()) -> Path:
    """The folder of a sweep for which none is named.

    The one that the plan comes from; else one in `runs/`, named after the plan and the grid.
    """
    if is_there(Path(source) / PLAN):
        return Path(source)
    crossed = ",".join(f"{f.rpartition('.')[2]}={v}" for f, v in axes_of(texts).items())
    return Path("runs") / file_name("-".join(part for part in (plan.name, crossed) if part))


def _returned(path: Path) -> Any:
    """What a file's `plan()` returns."""
    before = list(sys.path)
    sys.path.insert(0, str(path.resolve().parent))
    try:
        function = runpy.run_path(str(path), run_name=path.stem).get("plan")
        if not callable(function):
            raise HeadwayError(f"{path} defines no function plan()")
        return function()
    except HeadwayError:
        raise
    except (Exception, SystemExit) as error:
        raise HeadwayError(f"{path}{_line(error, path)}: {described(error)}") from None
    finally:
        sys.path[:] = before


def _planned(path: Path, returned: Any, axes: Axes) -> Plan:
    """The plan that the result of `plan()` stands for."""
    pairs = list(returned.items()) if isinstance(returned, dict) else returned
    what = "a list of RunConfig, a dict of them by name, or a list of pairs (name, RunConfig)"
    if not isinstance(pairs, list | tuple):
        raise HeadwayError(f"{path}: plan() returned {type(returned).__name__}: it must be {what}")
    if not pairs:
        raise HeadwayError(f"{path}: plan() returned no configs: a plan has at least one")
    configs = [one for one in pairs if isinstance(one, RunConfig)]
    if len(configs) == len(pairs):
        return _of_list(path, configs, axes)
    for one in pairs:
        if not (isinstance(one, tuple | list) and len(one) == 2 and isinstance(one[1], RunConfig)):
            raise HeadwayError(f"{path}: plan() returned {_shown(one)} in it: it must be {what}")
    plan = Plan.of(path.stem, [(name, config) for name, config in pairs])
    return plan.crossed(axes) if axes else plan


def _of_list(path: Path, configs: list[RunConfig], axes: Axes) -> Plan:
    """The plan of configs without names, crossed with a grid."""
    if not axes:
        return Plan.of(path.stem, named_by_what_varies(configs))
    if len(configs) == 1:
        return Plan.of(path.stem, [(cell.name, c) for cell, c in cells(configs[0], axes)])
    crossed = [config for base in configs for _, config in cells(base, axes)]
    return Plan.of(path.stem, named_by_what_varies(crossed))


def _shown(value: Any) -> str:
    text = repr(value).partition("\n")[0]
    return text if len(text) <= 60 else f"{text[:57]}…"


def _line(error: BaseException, path: Path) -> str:
    """At which line of a file an error arose, in words."""
    if isinstance(error, SyntaxError):
        return f", line {error.lineno}" if error.lineno else ""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename) == path]
    return f", line {lines[-1]}" if lines else ""


def described(error: BaseException) -> str:
    """An error on one line: its kind and what it says."""
    message = first_line(error) if isinstance(error, Exception) else str(error)
    return f"{type(error).__name__}: {message}" if message else type(error).__name__
