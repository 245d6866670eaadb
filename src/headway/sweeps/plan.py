"""A plan: the runs of a sweep by name, and where they come from."""

import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator

from headway import fields, userfile
from headway.errors import HeadwayError, require
from headway.reading import is_folder
from headway.training import RECIPES, RunConfig, from_dict
from headway.training.files import is_there, read_json
from headway.training.finding import PLAN
from headway.training.recipes import Base, base_of, configured, hints_in

NAME = re.compile(rf"(?!\.|{re.escape(PLAN)}$)[^/\\]{{1,200}}")
"""Names that a run's folder can have."""


@dataclass(frozen=True)
class Plan:
    """The runs of a sweep.

    Attributes:
        name: of the whole; the sweep's folder is called after it unless another is
            given.
        runs: the config of every run, by the name of its folder.
        format: of its file.
    """

    name: str
    runs: dict[str, Annotated[RunConfig, BeforeValidator(from_dict)]]
    format: Literal[1] = 1

    def __post_init__(self):
        if not self.runs:
            raise HeadwayError(
                f"{self.name}: the plan is empty: it must have at least one run"
            )
        for name, config in self.runs.items():
            is_name = (
                isinstance(name, str) and name.isprintable() and NAME.fullmatch(name)
            )
            allowed = (
                "a folder's name: no slash, no dot in front, at most 200 characters"
            )
            require(bool(is_name), "a run's name", name, allowed)
            require(
                isinstance(config, RunConfig), f"run {name!r}", config, "a RunConfig"
            )


def grid(
    base: str | RunConfig | Callable[..., RunConfig], axes: Mapping[str, Any]
) -> Plan:
    """A plan of every combination of some fields' values.

        grid("fast", {"model.n_layers": "1..8", "seed": range(8)})

    Args:
        base: a config, the name of a recipe or of a Python file with a task, or a
            function that returns a config. A field that is one of the function's
            arguments is passed to it.
        axes: the values of every field by its name: written in the grammar, or as they
            are.

    Raises:
        HeadwayError: if a field is unknown, has no values or one that is not allowed.
    """
    made = base_of(base) if isinstance(base, str) else Base.of(base)
    return crossed(made.name, {"": made}, [*axes.items()])


def crossed(
    name: str, bases: Mapping[str, Base], axes: Sequence[tuple[str, Any]]
) -> Plan:
    """A plan of every base with every combination of some fields' values (see `grid`).

    A run is named by its base, if that has a name, and by what varies, or by all if
    nothing does.

    Raises:
        HeadwayError: if the values do not fit (see `grid`), or two runs have one name.
    """
    runs = dict[str, RunConfig]()
    for of_base, base in bases.items():
        values = fields.values_in(axes, hints_in(base), _axis)
        count = math.prod(map(len, values.values()))
        require(
            count <= fields.MOST,
            "the grid's number of runs",
            count,
            f"at most {fields.MOST}",
        )
        varied = [field for field in values if len(values[field]) > 1] or list(values)
        short = fields.short_names(varied)
        for combination in itertools.product(*values.values()):
            given = dict(zip(values, combination, strict=True))
            said = [f"{short[field]}={fields.said(given[field])}" for field in varied]
            cell = file_name(",".join(said))
            config = _configured(base, given, cell)
            run = ",".join(filter(None, (of_base, cell))) or f"seed={config.seed}"
            if run in runs:
                raise HeadwayError(
                    f"{name}: two configs are called {run}:"
                    " every run needs a name of its own"
                )
            runs[run] = config
    return Plan(name, runs)


def _configured(base: Base, given: Mapping[str, Any], cell: str) -> RunConfig:
    """The config of a cell of a grid, which an error names."""
    try:
        return configured(base, given)
    except HeadwayError as error:
        where = f"in the grid's cell {cell}: " if cell else ""
        raise HeadwayError(f"{where}{error}") from None


def _axis(name: str, given: Any, hint: Any) -> list[Any]:
    """The values of a field of a grid."""
    values = (
        fields.values_of(name, given, hint) if isinstance(given, str) else list(given)
    )
    require(bool(values), name, values, "at least one value")
    return values


def file_name(text: str) -> str:
    """A text as the name of a folder that is safe on any disk."""
    return re.sub(r"[^A-Za-z0-9._=,+-]", "_", text)


def load_plan(source: str | Path, texts: Sequence[str] = ()) -> Plan:
    """The plan that a user names.

    Args:
        source: a recipe's name; a Python file that defines a task, or `recipe()`, which
            returns a `RunConfig`, or `plan()`, which returns a dict of them by name; or
            a sweep's folder.
        texts: a grid to cross it with, each `FIELD=VALUES`.

    Raises:
        HeadwayError: if there is no such plan, it is not one, or the grid does not fit.
    """
    axes = [*map(fields.split, texts)]
    path = Path(source)
    if path.suffix == ".py" and callable(
        plan := getattr(userfile.load(path), "plan", None)
    ):
        returned: Any = userfile.called(path, plan)
        try:
            require(
                isinstance(returned, dict),
                "plan()",
                returned,
                "a dict of RunConfig by name",
            )
            planned = Plan(path.stem, returned)
            bases = {name: Base.of(config) for name, config in planned.runs.items()}
            return crossed(planned.name, bases, axes)
        except HeadwayError as error:
            raise HeadwayError(f"{path}: {error}") from None
    if str(source) not in RECIPES and is_folder(path):
        if not is_there(path / PLAN):
            raise HeadwayError(
                f"{path} is a folder without {PLAN}: no sweep was started in it"
            )
        if axes:
            raise HeadwayError(
                f"{path} is a sweep's folder: its plan is not crossed with a grid"
            )
        return read_plan(path)
    base = base_of(str(source))
    return crossed(base.name, {"": base}, axes)


def read_plan(folder: Path) -> Plan:
    """The plan of the sweep in a folder.

    Raises:
        HeadwayError: if it cannot be read, is of another format, or names a file that
            the user does not trust.
    """
    return fields.found_in(Plan, read_json(folder / PLAN), str(folder / PLAN))


def default_folder(source: str | Path, plan: Plan, texts: Sequence[str] = ()) -> Path:
    """The folder of a sweep for which none is named.

    The one that the plan comes from; else one in `runs/`, named after the plan and the
    grid.
    """
    if is_there(Path(source) / PLAN):
        return Path(source)
    varied = list[str]()
    for field, values in map(fields.split, texts):
        short = field.rpartition(".")[2]
        varied.append(f"{short}={values}")
    name = "-".join(filter(None, (plan.name, ",".join(varied))))
    return Path("runs") / file_name(name)
