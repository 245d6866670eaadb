"""The fields of a config as the terminal lists them: their values, allowed values and meaning."""

from collections.abc import Callable

from docstring_parser import parse

from headway.bases import Base
from headway.changes import annotations
from headway.fields import described
from headway.text import wrapped
from headway.training.config import SECTIONS, RunConfig, flat
from headway.training.curriculum import CURRICULA
from headway.words import said


def print_fields(base: Base) -> None:
    """Prints what can be changed in a recipe or a user's task: its arguments, then all fields."""
    config = base.make()
    values, told = flat(config), uses(base.make, "")
    print(f"arguments of {base.name}, to which other fields adapt")
    for section in SECTIONS:
        told |= uses(type(getattr(config, section)), f"{section}.")
    for name, hint in base.arguments.items():
        _print_field(name, described(hint), told.get(name) or told.get(f"task.{name}", ""))
    for kind in CURRICULA.values():
        told |= uses(kind, "training.curriculum.")
    told |= uses(RunConfig, "")
    print("\nfields")
    for name, hint in annotations(config).items():
        now = f"{name}={said(values[name])}" if name in values else name
        _print_field(now, described(hint), told.get(name, ""))


def uses(documented: Callable[..., object], prefix: str) -> dict[str, str]:
    """What every argument of a function, or field of a class, is for, as its docstring says."""
    params = parse(documented.__doc__ or "").params
    return {prefix + one.arg_name: " ".join((one.description or "").split()) for one in params}


def _print_field(name: str, allowed: str, use: str) -> None:
    for line in wrapped(f"{name}  ({allowed})", "  ", "      "):
        print(line)
    for line in wrapped(use, "      ", "      "):
        print(line)
