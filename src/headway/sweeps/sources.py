"""Where plans come from: a recipe's name, a Python file, the folder of a sweep."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from headway import userfile
from headway.bases import Base, base_of, is_file
from headway.errors import HeadwayError
from headway.reading import is_folder
from headway.sweeps.plan import Axes, Plan, cells, file_name, named_by_what_varies
from headway.training import RECIPES, RunConfig
from headway.training.files import is_there, read_json
from headway.training.finding import PLAN
from headway.words import texts_of


def load_plan(source: str | Path, texts: Sequence[str] = ()) -> Plan:
    """The plan that a user names.

    Args:
        source: a recipe's name; a Python file that defines a task, or `recipe()`, which returns a
            `RunConfig`, or `plan()`, which returns a list of them, or a dict of them by name, or a
            list of pairs (name, `RunConfig`); or the folder of a sweep.
        texts: a grid to cross it with, each `FIELD=VALUES`.

    Raises:
        HeadwayError: if there is no such plan, it is not one, or the grid does not fit.
    """
    axes, path = texts_of(texts), Path(source)
    if path.suffix == ".py" and callable(plan := getattr(userfile.load(path), "plan", None)):
        returned = userfile.called(path, plan)
        try:
            return _planned(path, returned, axes)
        except HeadwayError as error:
            named = str(error).startswith((f"{path}:", f"{path} "))
            raise HeadwayError(str(error) if named else f"{path}: {error}") from None
    if is_file(str(source)) or source in RECIPES:
        base = base_of(str(source))
        if axes:
            return Plan.of_cells(base.name, cells(base, axes))
        return Plan.of(base.name, named_by_what_varies([base.make()]))
    if is_there(path / PLAN):
        if axes:
            raise HeadwayError(f"{path} is a sweep's folder: its plan is not crossed with a grid")
        return read_plan(path)
    if is_folder(path):
        raise HeadwayError(f"{path} is a folder without {PLAN}: no sweep was started in it")
    raise HeadwayError(
        f"plan = {str(source)!r} is not allowed: it must be one of {', '.join(RECIPES)},"
        " a Python file that defines a task or plan(), or a sweep's folder"
    )


def read_plan(folder: Path) -> Plan:
    """The plan of the sweep in a folder.

    Raises:
        HeadwayError: if it cannot be read, or names a file that the user does not trust.
    """
    return Plan.from_json(read_json(folder / PLAN), str(folder / PLAN))


def default_folder(source: str | Path, plan: Plan, texts: Sequence[str] = ()) -> Path:
    """The folder of a sweep for which none is named.

    The one that the plan comes from; else one in `runs/`, named after the plan and the grid.
    """
    if is_there(Path(source) / PLAN):
        return Path(source)
    crossed = ",".join(f"{f.rpartition('.')[2]}={v}" for f, v in texts_of(texts).items())
    return Path("runs") / file_name("-".join(part for part in (plan.name, crossed) if part))


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
        return Plan.of_cells(path.stem, cells(Base.of(configs[0]), axes))
    crossed = [cell for config in configs for cell in cells(Base.of(config), axes)]
    names = [name for name, _ in named_by_what_varies([cell.config for cell in crossed])]
    renamed = [replace(cell, name=name) for cell, name in zip(crossed, names, strict=True)]
    return Plan.of_cells(path.stem, renamed)


def _shown(value: Any) -> str:
    text = repr(value).partition("\n")[0]
    return text if len(text) <= 60 else f"{text[:57]}…"
