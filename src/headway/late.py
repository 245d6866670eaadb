"""Names imported when asked for, and the looks of things in notebooks."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any


class Shown:
    """A thing that shows itself in notebooks, as a drawing and curves."""

    def _repr_html_(self) -> str:
        return import_module("headway.report.cells").cell(self)

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        """The cell in HTML, and the printed text, which exporters without HTML set in a
        fixed pitch.
        """
        return {"text/html": self._repr_html_(), "text/plain": str(self)}


def late(
    package: str, homes: Mapping[str, str]
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """`__all__`, `__getattr__` and `__dir__` of a package that imports names late.

    A name that the package has not imported itself is imported when it is asked for,
    and so is a module of the package.

    Args:
        package: its name.
        homes: all names that it offers, separated by spaces, by the module in the
            package that they are imported from.
    """
    home_of = dict[str, str]()
    for module, names in homes.items():
        home_of |= dict.fromkeys(names.split(), f"{package}.{module}")
    namespace = vars(sys.modules[package])

    def imported(name: str) -> Any:
        module = f"{package}.{name}"
        if name in home_of:
            value = getattr(import_module(home_of[name]), name)
        elif not name.startswith("_") and find_spec(module) is not None:
            value = import_module(module)
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        namespace[name] = value
        return value

    def known() -> list[str]:
        return sorted({*namespace, *home_of})

    return list(home_of), imported, known
