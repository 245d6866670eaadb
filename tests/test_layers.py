"""The house's rules: who may import whom, and that the core needs no plotting or language model."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "headway"
ROOMS = [
    {"errors"},
    {"tasks"},
    {"models", "theory"},
    {"training"},
    {"circuits"},
    {"sweeps", "language", "report"},
    {
        *("papers", "terminal", "demo", "arguments", "verbs", "cli", "notebook"),
        *("__init__", "__main__", "_registry"),
    },
]
LEVEL = {room: level for level, rooms in enumerate(ROOMS) for room in rooms}


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_rooms(path: Path) -> set[str]:
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            first, *rest = name.split(".")
            if first == "headway" and rest:
                rooms.add(rest[0])
    return rooms


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda p: str(p.name))
def test_nothing_imports_what_stands_above_it(path):
    here = room_of(path)
    for room in imported_rooms(path) & LEVEL.keys():
        assert room == here or LEVEL[room] < LEVEL[here] or LEVEL[here] == len(ROOMS) - 1, (
            f"{path} imports headway.{room}"
        )


def test_the_core_loads_no_plotting_and_no_language_model():
    code = (
        "import sys, headway, headway.cli, headway.terminal, headway.theory, headway.language;"
        "names = ('matplotlib', 'ray', 'transformers', 'gguf', 'inspect_ai', 'openai', 'lm_eval',"
        " 'datasets', 'reasoning_gym');"
        "print([name for name in names if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
