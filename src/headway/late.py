"""Names that a package offers, and the looks of things in notebooks, imported when
asked for.
"""

import dis
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any


class Shown:
    """A thing that shows itself in notebooks, as a drawing and curves."""

    def _repr_html_(self) -> str:
        return import_module("headway.report.cells").cell(self)


def offered(module: Any) -> Iterator[tuple[str, str]]:
    """Every name that a module imports from another one of headway, and that module's
    name.
    """
    home = ""
    for one in dis.get_instructions(module.__spec__.loader.get_code(module.__name__)):
        if one.opname == "IMPORT_NAME":
            home = one.argval
        elif (
            one.opname == "IMPORT_FROM"
            and home.startswith("headway.")
            and home != __name__
        ):
            yield one.argval, home


def late(
    package: str,
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """`__all__`, `__getattr__` and `__dir__` of a package that imports names from its
    modules.

    Those below `if TYPE_CHECKING:` are imported when they are asked for, so is a
    module.
    """
    module = sys.modules[package]
    homes = dict(offered(module))

    def find(name: str) -> Any:
        if name in homes:
            found = getattr(import_module(homes[name]), name)
        elif not name.startswith("_") and find_spec(f"{package}.{name}") is not None:
            found = import_module(f"{package}.{name}")
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        setattr(module, name, found)
        return found

    return list(homes), find, lambda: sorted({*vars(module), *homes})
