"""The public API: about thirty names, and what may be imported from one level down."""

import ast
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import headway

SOURCE = Path(__file__).parent.parent / "src"
ROOMS = ("circuits", "language", "models", "report", "sweeps", "tasks", "theory", "training")
HELPS = ("errors", "fields", "figures", "files", "intervals", "recipes", "terminal", "text")
VERBS = ("userfile", "verbs")
"""Modules one level down that are public: rooms, what goes with them, and what a verb needs."""

NAMES = """
IGNORE_INDEX Batch Circuit Edges HeadwayError Recorder Run RunConfig Task Tokens TrainingConfig
Transformer TransformerConfig Vectors certify check_task depend discover emergence every_circuit
fast figure minimum_layers own patch patch_all resume sweep tapped train widget write_report
"""


def test_the_names_that_headway_offers():
    assert sorted(headway.__all__) == sorted(NAMES.split())


@pytest.mark.parametrize("module", ["", *ROOMS, *HELPS])
def test_everything_offered_is_there(module):
    package = import_module(f"headway.{module}".rstrip("."))
    for name in getattr(package, "__all__", ()):
        assert not isinstance(getattr(package, name), ModuleType)
        assert name in dir(package)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        package.nothing  # noqa: B018


def imports(path: Path):
    """The module and name of everything that a file imports from headway, wherever it does."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "headway":
            yield from ((str(node.module), alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((a.name, "") for a in node.names if a.name.split(".")[0] == "headway")


def is_public(module: str, name: str) -> bool:
    """Whether a name is offered by headway, or one level down."""
    if module == "headway":
        return name in {"", *headway.__all__, *ROOMS, *HELPS, *VERBS}
    if module.removeprefix("headway.") not in {*ROOMS, *HELPS, *VERBS}:
        return False
    room = import_module(module)
    offered = getattr(room, "__all__", None)
    return name in (offered or dir(room)) and not name.startswith("_")


def test_experiments_import_public_names_alone():
    found = [
        f"{path.relative_to(SOURCE)}: from {module} import {name}"
        for path in sorted((SOURCE / "headway_experiments").rglob("*.py"))
        for module, name in imports(path)
        if not is_public(module, name)
    ]
    assert found == []
    assert is_public("headway.tasks", "Hops")
    for module in ("headway", "headway.tasks.hops"):
        assert not is_public(module, "Hops")
