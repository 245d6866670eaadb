"""What sets of runs are called by: the fields that vary, their values, an order of names."""

import re
from collections.abc import Mapping, Sequence
from typing import Any


def said(value: Any) -> str:
    """A field's value as the grammar of grids writes it."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return ":".join(map(said, value))
    return str(value)


MACHINE = ("device", "threads")
"""Fields that say where a run is computed, not what it is."""


def varied(configs: Sequence[Mapping[str, Any]]) -> list[str]:
    """The fields that do not have the same value in all configs, or that some do not have.

    Args:
        configs: each as `training.config.flat` gives it.
    """
    every = list(dict.fromkeys(name for one in configs for name in one))
    return [name for name in every if len({said(one.get(name)) for one in configs}) > 1]


def short_names(fields: Sequence[str]) -> dict[str, str]:
    """The last part of every dotted name, or all of it where two have that part in common."""
    last = [field.rpartition(".")[2] for field in fields]
    return {f: part if last.count(part) == 1 else f for f, part in zip(fields, last, strict=True)}


def natural(name: str) -> list[Any]:
    """A key by which `seed=10` comes after `seed=9`."""
    parts = re.split(r"([0-9]+)", name)
    return [int(part) if i % 2 else part for i, part in enumerate(parts)]
