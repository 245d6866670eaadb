"""Names that a package offers and imports when asked for them, so that importing it is quick."""

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any


def late(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make a package's `__getattr__` and `__dir__`.

    They know the imports `from MODULE import NAME` below `if TYPE_CHECKING:` in the package's
    `__init__.py`, where type checkers see them, too. Modules of the package are entered likewise.

    Args:
        package: its `__name__`.
    """
    tree = ast.parse(Path(str(sys.modules[package].__file__)).read_text("utf-8"))
    homes = {
        alias.name: node.module
        for block in tree.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

    def find(name: str) -> Any:
        home = homes.get(name)
        if home is not None:
            found = getattr(import_module(home), name)
        elif not name.startswith("_") and find_spec(f"{package}.{name}") is not None:
            found = import_module(f"{package}.{name}")
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        setattr(sys.modules[package], name, found)
        return found

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return find, names
