"""Names that a package offers, imported when they are asked for, so that importing it is quick."""

import ast
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any


def offered(file: Path) -> Iterator[tuple[str, str]]:
    """Every name that a module imports as itself, `from MODULE import NAME as NAME`, and MODULE."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            same = (alias.name for alias in node.names if alias.asname == alias.name)
            yield from ((name, str(node.module)) for name in same)


def late(package: str) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """`__all__`, `__getattr__` and `__dir__` of a package that imports names as themselves.

    Those below `if TYPE_CHECKING:` are imported when they are asked for, so is a module.
    """
    module = sys.modules[package]
    homes = dict(offered(Path(str(module.__file__))))

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
