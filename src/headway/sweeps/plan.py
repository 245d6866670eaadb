"""A plan: which runs a sweep is made of, each under a name of its own."""

import hashlib
import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from headway.bases import Base, base_of
from headway.changes import Carried, configured, hints_in, whole_names
from headway.errors import HeadwayError, require
from headway.training import RunConfig, from_dict, to_dict
from headway.training.config import FORMAT, flat
from headway.words import MOST, said, short_names, values_of, varied

LONGEST = 120
"""The most characters in a name that is made here."""

Axes = Mapping[str, str | Iterable[Any]]
"""The values of every field of a grid: written in the grammar, or as they are."""


@dataclass(frozen=True)
class Plan:
    """The runs of a sweep.

    Attributes:
        name: of the whole; the sweep's folder is called after it unless another is given.
        runs: the config of every run, by the name of its folder.
        carried: what the grid's changes carried along.
    """

    name: str
    runs: dict[str, RunConfig]
    carried: tuple[Carried, ...] = field(default=(), compare=False)

    def __post_init__(self):
        if not self.runs:
            raise HeadwayError(f"{self.name}: the plan is empty: it must have at least one run")
        for name, config in self.runs.items():
            require_name(name)
            require(isinstance(config, RunConfig), f"run {name!r}", config, "a RunConfig")

    @classmethod
    def of(cls, name: str, pairs: Iterable[tuple[str, RunConfig]]) -> Self:
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

    @classmethod
    def of_cells(cls, name: str, made: Iterable["Cell"]) -> Self:
        """The plan of a grid's cells.

        Raises:
            HeadwayError: if two have one name, or there are none.
        """
        cells = list(made)
        plan = cls.of(name, [(cell.name, cell.config) for cell in cells])
        return replace(plan, carried=tuple(one for cell in cells for one in cell.carried))

    def crossed(self, axes: Axes) -> Self:
        """Every run of this plan with every combination of other fields.

        Raises:
            HeadwayError: if a field is none of a run's config, or a value is not allowed.
        """
        return self.of_cells(
            self.name,
            [
                replace(cell, name=f"{name},{cell.name}")
                for name, config in self.runs.items()
                for cell in cells(Base.of(config), axes)
            ],
        )

    def to_json(self) -> dict[str, Any]:
        """The plan as plain JSON data."""
        runs = {name: to_dict(config) for name, config in self.runs.items()}
        return {"format": FORMAT, "name": self.name, "runs": runs}

    @classmethod
    def from_json(cls, data: Any, where: str) -> "Plan":
        """The plan that `to_json` wrote.

        Raises:
            HeadwayError: if it is no plan, or of another format.
        """
        require(isinstance(data, dict), where, data, "an object of fields")
        version = data.get("format")
        require(version == FORMAT, f"{where}: format", version, str(FORMAT))
        name, runs = data.get("name"), data.get("runs")
        require(isinstance(name, str), f"{where}: name", name, "text")
        require(isinstance(runs, dict), f"{where}: runs", runs, "an object of configs")
        try:
            return cls(name, {run: from_dict(config) for run, config in runs.items()})
        except HeadwayError as error:
            raise HeadwayError(f"{where}: {error}") from None


@dataclass(frozen=True)
class Cell:
    """One combination of a grid's values.

    Attributes:
        name: made of what varies.
        config: with the values.
        carried: what they carried along.
    """

    name: str
    config: RunConfig
    carried: list[Carried]


def grid(base: str | RunConfig | Callable[..., RunConfig], axes: Axes) -> Plan:
    """A plan of every combination of some fields' values.

        grid("fast", {"model.n_layers": "1..8", "seed": range(8)})

    Args:
        base: a config, the name of a recipe or of a Python file with a task, or a function that
            returns a config. A field that is one of the function's arguments is passed to it.
        axes: the values of every field by its name.

    Raises:
        HeadwayError: if a field is unknown, has no values or one that is not allowed.
    """
    made = base_of(base) if isinstance(base, str) else Base.of(base)
    return Plan.of_cells(made.name, cells(made, axes))


def cells(base: Base, axes: Axes) -> Iterator[Cell]:
    """Every combination of the axes' values.

    Raises:
        HeadwayError: which combination is not allowed, and why.
    """
    hints, values = hints_in(base), dict[str, list[Any]]()
    for name, given in whole_names(base, axes).items():
        values[name] = (
            values_of(name, given, hints[name]) if isinstance(given, str) else list(given)
        )
        require(bool(values[name]), name, values[name], "at least one value")
    count = math.prod(map(len, values.values()))
    require(count <= MOST, "the grid's number of runs", count, f"at most {MOST}")
    for name, chosen in combinations(values):
        try:
            yield Cell(name, *configured(base, chosen))
        except HeadwayError as error:
            raise HeadwayError(f"in the grid's cell {name}: {error}") from None


def combinations(values: dict[str, list[Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every combination of values; named by what varies, or by all if nothing does."""
    several = [field for field, one in values.items() if len(one) > 1] or list(values)
    short = short_names(several)
    for chosen in itertools.product(*values.values()):
        cell = dict(zip(values, chosen, strict=True))
        name = ",".join(f"{short[field]}={said(cell[field])}" for field in several)
        yield file_name(name), cell


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
    """Raises `HeadwayError` unless a run's folder can have a name."""
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
