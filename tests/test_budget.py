"""The sizes of the rooms, counted in syntax: a cap only goes down.

Lines are no measure, since folding two steps into one saves lines and costs the reader
time.
"""

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import fmean

import pytest

ROOT = Path(__file__).parent.parent
COMPOUND = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.If,
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.With,
    ast.AsyncWith,
    ast.Try,
    ast.TryStar,
    ast.Match,
)
"""Statements that hold others; all others are simple."""
MANY_LOCALS = 10


@dataclass(frozen=True)
class Cap:
    """The most that a place may hold.

    Attributes:
        nodes: expressions and statements; None where only density counts.
        density: expressions in a simple statement, on average.
        many_locals: the share of functions with more than ten local names.
    """

    nodes: int | None
    density: float
    many_locals: float


@dataclass(frozen=True)
class Size:
    """What a place holds (see `Cap`)."""

    nodes: int
    density: float
    many_locals: float


def is_docstring(statement: ast.stmt) -> bool:
    """Tell whether a statement is a bare string: a docstring, or one below an
    attribute.
    """
    if not isinstance(statement, ast.Expr):
        return False
    value = statement.value
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def expressions_in(statement: ast.stmt) -> int:
    return sum(isinstance(node, ast.expr) for node in ast.walk(statement))


def locals_of(function: ast.AST) -> set[str]:
    """The names that a function stores, those of functions inside it included."""
    names = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
    return {name.id for name in names if isinstance(name.ctx, ast.Store)}


def size_of(sources: list[str]) -> Size:
    """The size of some Python sources."""
    every = [node for source in sources for node in ast.walk(ast.parse(source))]
    counted = [node for node in every if isinstance(node, ast.expr | ast.stmt)]
    statements = [node for node in counted if isinstance(node, ast.stmt)]
    simple = [
        s for s in statements if not isinstance(s, COMPOUND) and not is_docstring(s)
    ]
    functions = [
        f for f in statements if isinstance(f, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    density = fmean(map(expressions_in, simple)) if simple else 0.0
    many = [
        function for function in functions if len(locals_of(function)) > MANY_LOCALS
    ]
    return Size(len(counted), density, len(many) / max(1, len(functions)))


@cache
def sources_of(place: str) -> list[str]:
    """The Python sources of a folder and those below it; with `/*` the folder's own
    alone.
    """
    folder = ROOT / place.removesuffix("/*")
    files = folder.glob("*.py") if place.endswith("/*") else folder.rglob("*.py")
    return [file.read_text("utf-8") for file in sorted(files)]


CAPS = {
    "src/headway": Cap(143313, 5.97, 0.014),
    "src/headway/*": Cap(4727, 5.65, 0.010),
    "src/headway/dynamics": Cap(3806, 5.57, 0.043),
    "src/headway/find": Cap(12873, 5.82, 0.005),
    "src/headway/judge": Cap(10922, 5.96, 0.006),
    "src/headway/models": Cap(12516, 6.16, 0.015),
    "src/headway/programs": Cap(12200, 6.48, 0.030),
    "src/headway/relations": Cap(7657, 6.11, 0.000),
    "src/headway/replace": Cap(13375, 5.98, 0.004),
    "src/headway/report": Cap(19673, 5.92, 0.020),
    "src/headway/sweeps": Cap(4080, 5.73, 0.018),
    "src/headway/tasks": Cap(17038, 6.13, 0.016),
    "src/headway/terminal": Cap(4819, 5.91, 0.019),
    "src/headway/theory": Cap(3389, 5.99, 0.000),
    "src/headway/training": Cap(13897, 5.83, 0.018),
    "src/headway/verbs": Cap(2341, 4.87, 0.037),
    "benchmarks": Cap(13673, 7.52, 0.110),
    "tests": Cap(None, 6.76, 0.037),
    "src/headway_experiments": Cap(70427, 6.43, 0.048),
}
"""By folder, with those below it; `*` stands for a folder's own files."""


@pytest.mark.parametrize("place", CAPS)
def test_no_place_is_larger_than_its_cap(place):
    size = size_of(sources_of(place))
    cap = CAPS[place]
    assert size.nodes > 0
    assert cap.nodes is None or size.nodes <= cap.nodes, f"{place}: nodes"
    assert round(size.density, 2) <= cap.density, f"{place}: density"
    assert round(size.many_locals, 3) <= cap.many_locals, (
        f"{place}: functions with many locals"
    )


def test_every_room_has_a_cap():
    package = ROOT / "src/headway"
    rooms = {path.name for path in package.iterdir() if any(path.glob("**/*.py"))}
    capped = {Path(place).name for place in CAPS if place.startswith("src/headway/")}
    assert rooms == capped - {"*"}


def test_syntax_is_counted_not_lines():
    folded = size_of(["x = f(g(1), g(2))"])
    unfolded = size_of(["a = g(1)\nb = g(2)\nx = f(a, b)"])
    assert folded == Size(nodes=10, density=9.0, many_locals=0.0)
    assert unfolded.nodes > folded.nodes
    assert unfolded.density < folded.density
    documented = (
        '"""What it does."""\n\n\ndef f(x):\n    """The same."""\n    return x\n'
    )
    assert size_of([documented]).density == 1.0


def test_functions_with_many_locals_are_counted():
    few = "def f():\n" + "".join(f"    x{i} = {i}\n" for i in range(10))
    many = "def f():\n" + "".join(f"    x{i} = {i}\n" for i in range(11))
    assert size_of([few]).many_locals == 0.0
    assert size_of([few, many]).many_locals == 0.5
