"""A plan: which runs a sweep is made of, each under a name of its own."""

import hashlib
import inspect
import itertools
import math
import re
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headway.errors import HeadwayError, require
from headway.sweeps.fields import MOST, split, types_of, values_of
from headway.training import RECIPES, RunConfig, from_dict, to_dict
from headway.training.config import FORMAT, changed, flat, upgraded
from headway.training.naming import said, short_names, varied

LONGEST = 120
"""Characters in a name that we make."""

Axes = Mapping[str, str | Iterable[Any]]
"""The values of every field of a grid: as the grammar writes them, or themselves."""


@dataclass(frozen=True)
class Plan:
    """The runs of a sweep.

    Attributes:
        name: of the whole; the sweep's folder is called after it unless another is given.
        runs: the config of every run, by the name of its folder.
    """

    name: str
    runs: dict[str, RunConfig]

    def __post_init__(self):
        if not self.runs:
            raise HeadwayError(f"{self.name}: the plan is empty: it must have at least one run")
        for name, config in self.runs.items():
            require_name(name)
            require(isinstance(config, RunConfig), f"run {name!r}", config, "a RunConfig")

    @classmethod
    def of(cls, name: str, pairs: Iterable[tuple[str, RunConfig]]) -> "Plan":
        """A plan of named configs.

        Raises:
            HeadwayError: if two have one name, or there are none.
        """
        runs: dict[str, RunConfig] = {}
        for run, config in pairs:
            if run in runs:
                raise HeadwayError(
                    f"{name}: two configs are called {run}: every run needs a name of its own"
                )
            runs[run] = config
        return cls(name, runs)

    def crossed(self, axes: Axes) -> "Plan":
        """Every run of this plan with every combination of other fields.

        Raises:
            HeadwayError: if a field is none of a run's config, or a value is not allowed.
        """
        crossed = [
            (f"{name},{cell.name}", config)
            for name, base in self.runs.items()
            for cell, config in cells(base, axes)
        ]
        return Plan.of(self.name, crossed)

    def to_json(self) -> dict[str, Any]:
        """The plan as plain JSON data."""
        runs = {name: to_dict(config) for name, config in self.runs.items()}
        return {"format": FORMAT, "name": self.name, "runs": runs}

    @classmethod
    def from_json(cls, data: Any, where: str) -> "Plan":
        """The plan that `to_json` wrote.

        Raises:
            HeadwayError: if it is none, or of a newer format.
        """
        require(isinstance(data, dict), where, data, "an object of fields")
        version = data.get("format")
        known = type(version) is int and 1 <= version <= FORMAT
        require(known, f"{where}: format", version, f"a whole number from 1 to {FORMAT}")
        name, runs = data.get("name"), data.get("runs")
        require(isinstance(name, str), f"{where}: name", name, "text")
        require(isinstance(runs, dict), f"{where}: runs", runs, "an object of configs")
        try:
            configs = {run: upgraded(config, version) for run, config in runs.items()}
            return cls(name, {run: from_dict(config) for run, config in configs.items()})
        except HeadwayError as error:
            raise HeadwayError(f"{where}: {error}") from None


@dataclass(frozen=True)
class Cell:
    """One combination of a grid's values.

    Attributes:
        name: made of what varies.
        values: by field.
    """

    name: str
    values: dict[str, Any]


def grid(base: str | RunConfig | Callable[..., RunConfig], axes: Axes) -> Plan:
    """A plan of every combination of some fields' values.

        grid("fast", {"model.n_layers": "1..8", "seed": range(8)})

    Args:
        base: a config, a recipe's name, or a function that returns a config. A field that is one of
            the function's arguments is passed to it.
        axes: the values of every field by its dotted name.

    Raises:
        HeadwayError: if a field is unknown, has no values or one that is not allowed.
    """
    if isinstance(base, str):
        require(base in RECIPES, "recipe", base, "one of " + ", ".join(RECIPES))
    name = base if isinstance(base, str) else getattr(base, "__name__", "grid")
    made = cells(RECIPES[base] if isinstance(base, str) else base, axes)
    return Plan.of(name, [(cell.name, config) for cell, config in made])


def axes_of(texts: Sequence[str]) -> dict[str, str]:
    """The axes that are written as `FIELD=VALUES`.

    Raises:
        HeadwayError: if one is not, or a field is named twice.
    """
    axes: dict[str, str] = {}
    for text in texts:
        field, values = split(text)
        if field in axes:
            raise HeadwayError(f"{field} is named twice: write all its values as one list")
        axes[field] = values
    return axes


def cells(
    base: RunConfig | Callable[..., RunConfig], axes: Axes
) -> Iterator[tuple[Cell, RunConfig]]:
    """Every combination of the axes' values, and its config.

    Raises:
        HeadwayError: which combination is not allowed, and why.
    """
    arguments: dict[str, Any] = {}
    if not isinstance(base, RunConfig):
        hints, taken = typing.get_type_hints(base), inspect.signature(base).parameters
        arguments = {name: hints.get(name, str) for name in taken}
    default = base if isinstance(base, RunConfig) else base()
    hints = types_of(default) | arguments
    values: dict[str, list[Any]] = {}
    for field, given in axes.items():
        if field not in hints:
            raise HeadwayError(_unknown(field, hints))
        one = values_of(field, given, hints[field]) if isinstance(given, str) else list(given)
        require(bool(one), field, one, "at least one value")
        values[field] = one
    count = math.prod(map(len, values.values()))
    require(count <= MOST, "the grid's number of runs", count, f"at most {MOST}")
    for cell in combinations(values):
        own = {name: value for name, value in cell.values.items() if name in arguments}
        rest = {name: value for name, value in cell.values.items() if name not in arguments}
        try:
            config = base if isinstance(base, RunConfig) else base(**own)
            yield cell, changed(config, rest)
        except HeadwayError as error:
            raise HeadwayError(f"in the grid's cell {cell.name}: {error}") from None


def combinations(values: dict[str, list[Any]]) -> Iterator[Cell]:
    """Every combination of values; named by what varies, or by all if nothing does."""
    several = [field for field, one in values.items() if len(one) > 1] or list(values)
    short = short_names(several)
    for chosen in itertools.product(*values.values()):
        cell = dict(zip(values, chosen, strict=True))
        name = ",".join(f"{short[field]}={said(cell[field])}" for field in several)
        yield Cell(file_name(name), cell)


def named_by_what_varies(configs: Sequence[RunConfig]) -> list[tuple[str, RunConfig]]:
    """Every config with a name made of the fields in which the configs differ, or of its seed."""
    fields = [flat(config) for config in configs]
    names = varied(fields) or ["seed"]
    short = short_names(names)
    return [
        (
            file_name(",".join(f"{short[n]}={said(one[n])}" for n in names if n in one)),
            config,
        )
        for one, config in zip(fields, configs, strict=True)
    ]


def file_name(text: str) -> str:
    """A text as the name of a folder: safe on any disk, and not too long."""
    safe = re.sub(r"[^A-Za-z0-9._=,+-]", "_", text)
    if len(safe) <= LONGEST:
        return safe
    return f"{safe[: LONGEST - 9]}-{hashlib.blake2b(text.encode(), digest_size=4).hexdigest()}"


def require_name(name: Any) -> None:
    """Makes sure that a run's folder can have a name.

    Raises:
        HeadwayError: if it cannot.
    """
    require(
        isinstance(name, str)
        and 0 < len(name.encode(errors="replace")) <= 200
        and name.isprintable()
        and not re.search(r"[/\\]", name)
        and not name.startswith(".")
        and name != "plan.json",
        "a run's name",
        name,
        "a folder's name: no slash, no dot in front, at most 200 bytes",
    )


def _unknown(field: str, hints: Mapping[str, Any]) -> str:
    last = field.rpartition(".")[2]
    near = [name for name in hints if name.rpartition(".")[2] == last]
    if near:
        return f"{field} is not a field: did you mean {' or '.join(near)}?"
    section = field.partition(".")[0]
    inside = [name for name in hints if name.startswith(f"{section}.")] if "." in field else []
    if inside:
        return f"{field} is not a field: those of {section} are {', '.join(inside)}"
    own = [name for name in hints if "." not in name]
    return f"{field} is not a field: there are task.*, model.*, training.*, {', '.join(own)}"
