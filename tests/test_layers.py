"""The house's rules: who may import whom, what is public, who may name a kind of task,
what the core needs."""

import ast
import re
import tomllib
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

import headway
from commands import python
from headway.tasks import KINDS

SOURCE = Path(__file__).parent.parent / "src" / "headway"
ROOMS = [
    {"errors", "late", "settings", "version"},
    {"fields", "intervals", "reading", "text"},
    {"userfile", "screen"},
    {"console"},
    {"progress"},
    {"relations"},
    {"theory"},
    {"tasks"},
    {"models"},
    {"training"},
    {"replace"},
    {"judge"},
    {"programs"},
    {"find"},
    {"dynamics"},
    {"recipes"},
    {"sweeps", "report"},
    {"terminal", "verbs", "__init__", "__main__"},
]
LEVEL = {room: level for level, rooms in enumerate(ROOMS) for room in rooms}


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported(node: ast.AST) -> list[str]:
    """The whole names of what a statement imports, if it is one that does."""
    if isinstance(node, ast.ImportFrom):
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return [alias.name for alias in node.names] if isinstance(node, ast.Import) else []


def imported_names(path: Path) -> set[str]:
    """The whole names of all that a file imports from headway, wherever it does."""
    tree = ast.parse(path.read_text())
    every = [name for node in ast.walk(tree) for name in imported(node)]
    return {name for name in every if name.startswith("headway.")}


@pytest.mark.parametrize(
    "path", sorted(SOURCE.rglob("*.py")), ids=lambda p: str(p.name)
)
def test_nothing_imports_what_stands_above_it(path):
    here = room_of(path)
    for room in {name.split(".")[1] for name in imported_names(path)} & LEVEL.keys():
        is_above = LEVEL[room] < LEVEL[here]
        is_at_the_top = LEVEL[here] == len(ROOMS) - 1
        assert room == here or is_above or is_at_the_top, (
            f"{path} imports headway.{room}"
        )


def imported_at_once(module: str, modules: dict[str, Path]) -> set[str]:
    """The modules of the house that a module imports as soon as it is imported
    itself.
    """
    found = set[str]()
    tree = ast.parse(modules[module].read_text())
    left = list[ast.AST](tree.body)
    while left:
        node = left.pop()
        if isinstance(node, ast.Try | ast.With | ast.ClassDef) or (
            isinstance(node, ast.If) and ast.unparse(node.test) != "TYPE_CHECKING"
        ):
            left += ast.iter_child_nodes(node)
        for name in imported(node):
            holder = name if name in modules else name.rpartition(".")[0]
            found |= {holder} & modules.keys()
    return found - {module}


def circle_in(imports: dict[str, set[str]]) -> list[str] | None:
    """Modules that import each other in turn, the last one the first; None if there are
    none.
    """
    done = set[str]()

    def follow(path: list[str]) -> list[str] | None:
        *before, last = path
        if last in before:
            return path[before.index(last) :]
        for other in sorted(imports[last] - done):
            if circle := follow([*path, other]):
                return circle
        done.add(last)
        return None

    for module in sorted(imports):
        if circle := follow([module]):
            return circle
    return None


def test_no_modules_import_each_other():
    with_a_circle = {"a": {"b"}, "b": {"c"}, "c": {"b"}}
    without = {"a": {"b", "c"}, "b": {"c"}, "c": set()}
    assert circle_in(with_a_circle) == ["b", "c", "b"]
    assert circle_in(without) is None
    modules = {}
    for path in SOURCE.rglob("*.py"):
        name = path.relative_to(SOURCE.parent).with_suffix("")
        modules[".".join(name.parts).removesuffix(".__init__")] = path
    imports = {module: imported_at_once(module, modules) for module in modules}
    assert circle_in(imports) is None


def test_the_core_imports_no_experiments():
    for path in SOURCE.rglob("*.py"):
        assert not re.search(
            r"import.*headway_experiments|from headway_experiments", path.read_text()
        )


PUBLIC = (
    "relations",
    "theory",
    "tasks",
    "models",
    "training",
    "replace",
    "judge",
    "find",
    "dynamics",
    "sweeps",
    "report",
)
HELPS = (
    "errors",
    "models.export",
    "tasks.prompts",
    "fields",
    "intervals",
    "reading",
    "recipes",
    "terminal",
    "text",
    "training.files",
    "report.figures.drawing",
    "report.figures.saving",
    "report.figures.style",
)
VERBS = ("userfile", "verbs")
"""Modules one level down that are public: rooms, what goes with them, and what a verb
needs.
"""

NAMES = """
IGNORE_INDEX Batch Circuit Edges HeadwayError Prompts Recorder Run RunConfig Task Tokens
TrainingConfig Transformer TransformerConfig Vectors certify check_task depend
discover emergence every_circuit fast figure minimum_layers own patch patch_all program
resume sweep tapped train widget write_report
"""


def test_the_names_that_headway_offers():
    assert sorted(headway.__all__) == sorted(NAMES.split())


@pytest.mark.parametrize("module", ["", *PUBLIC, *HELPS])
def test_everything_offered_is_there(module):
    package = import_module(f"headway.{module}".rstrip("."))
    for name in getattr(package, "__all__", ()):
        assert not isinstance(getattr(package, name), ModuleType)
        assert name in dir(package)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        package.nothing  # noqa: B018


def names_imported_by(package: ModuleType) -> set[tuple[str, str]]:
    """The names that a package imports from its modules, and the modules' names."""
    tree = ast.parse(Path(str(package.__file__)).read_text())
    prefix = f"{package.__name__}."
    names = set()
    for node in ast.walk(tree):
        module = str(node.module) if isinstance(node, ast.ImportFrom) else ""
        if module.startswith(prefix) and module != "headway.late":
            home = module.removeprefix(prefix)
            names |= {(home, alias.name) for alias in node.names}
    return names


WITH_HOMES = sorted(
    ".".join(path.relative_to(SOURCE.parent).parent.parts)
    for path in SOURCE.rglob("__init__.py")
    if "late(__name__, HOMES)" in path.read_text()
)


@pytest.mark.parametrize("name", WITH_HOMES)
def test_the_homes_of_names_are_the_modules_that_type_checkers_see(name):
    package = import_module(name)
    listed = [
        (home, offered)
        for home, names in package.HOMES.items()
        for offered in names.split()
    ]
    assert set(listed) == names_imported_by(package)
    assert len({offered for _, offered in listed}) == len(listed)


def test_packages_with_homes_are_looked_for_where_they_are():
    assert {"headway", "headway.judge", "headway.theory"} <= {*WITH_HOMES}


def is_public(whole: str) -> bool:
    """Tell whether a name is offered by headway, or one level down."""
    module, _, name = whole.rpartition(".")
    if module == "headway":
        return name in {*headway.__all__, *PUBLIC, *HELPS, *VERBS}
    if module.removeprefix("headway.") not in {*PUBLIC, *HELPS, *VERBS}:
        return False
    room = import_module(module)
    offered = getattr(room, "__all__", None)
    return name in (offered or dir(room)) and not name.startswith("_")


def test_experiments_import_public_names_alone():
    for path in (SOURCE.parent / "headway_experiments").rglob("*.py"):
        assert not [name for name in imported_names(path) if not is_public(name)], path
    assert is_public("headway.tasks.Hops")
    assert not is_public("headway.Hops")
    assert not is_public("headway.tasks.hops.Hops")


KIND_ROOMS = ("training/recipes",)
"""The place where a task is made that something is about: recipes."""


def kinds_named(tree: ast.AST) -> set[str]:
    """The kinds that a module imports, or has from a package that it imports."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
            "headway"
        ):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found |= {node.attr} if node.value.id in ("tasks", "headway") else set()
    return found & {kind.__name__ for kind in KINDS.values()}


def test_no_room_above_the_tasks_names_a_kind_of_task():
    example = "from headway.tasks import Hops, Task\ntasks.Retrieval()"
    assert kinds_named(ast.parse(example)) == {"Hops", "Retrieval"}
    for path in SOURCE.rglob("*.py"):
        inside = str(path.relative_to(SOURCE))
        if room_of(path) not in ("tasks", "__init__") and not inside.startswith(
            KIND_ROOMS
        ):
            named = kinds_named(ast.parse(path.read_text()))
            assert not named, f"{path} names {named}"


MOST_MODULES = 73
"""Modules that the demo's four names load; the number only goes down."""
LOADED = """
import sys
from headway import discover, emergence, fast, train
print(sum(name.split(".")[0] == "headway" for name in sys.modules))

import headway.terminal.cli, headway.terminal, headway.theory
names = "matplotlib ray transformers gguf inspect_ai openai anywidget".split()
names += ["ipywidgets"]
print([name for name in (*names, "headway_experiments") if name in sys.modules])

from headway.models import Transformer, TransformerConfig
from headway.training import TrainingConfig
from headway.training.optimisers import Optimisers
model = Transformer(TransformerConfig(n_layers=1, d_model=8), 8, 12, 20, 4)
for name in ("muon", "adam", "sgd"):
    optimisers = Optimisers(model, TrainingConfig(optimizer=name, weight_decay=0.0))
    optimisers.step(1.0)
    optimisers.load(optimisers.state())
print("torch._dynamo" in sys.modules)
"""


def test_the_core_loads_few_modules_no_plotting_no_language_model_and_no_compiler():
    few, others, compiler = python(LOADED).splitlines()
    assert int(few) <= MOST_MODULES
    assert others == "[]"
    assert compiler == "False"


WITHOUT_TORCH = [
    (["--version"], 0),
    (["--help"], 0),
    *(([verb, "--help"], 0) for verb in ("train", "circuit", "report", "sweep")),
    (["theory", "3"], 2),
    (["theory", "--depth", "1..8"], 0),
    (["theory", "--facts", "xyz", "ay", "ax"], 0),
    (["theory", "--count", "--depth", "2"], 0),
    (["no-such-verb"], 2),
    (["train", "--no-such-option"], 2),
    *(([verb, "no-such-folder"], 2) for verb in ("circuit", "emergence", "depend")),
    *(([verb, "no-such-folder"], 2) for verb in ("report", "serve", "runs")),
    (["train", "--resume", "no-such-folder"], 2),
]
"""Command lines that are answered at once, and their exit codes."""
RUN_IN_PROCESS = """
import io, sys
sys.stderr = io.StringIO()
from headway.terminal.cli import main
try:
    main(sys.argv[1:])
    code = 0
except SystemExit as stop:
    code = stop.code
print(code, "torch" in sys.modules)
"""


@pytest.mark.parametrize("words", WITHOUT_TORCH, ids=lambda case: " ".join(case[0]))
def test_what_needs_no_torch_does_not_load_it(words, tmp_path):
    line, code = words
    *_, last = python(RUN_IN_PROCESS, *line, cwd=tmp_path).splitlines()
    assert last == f"{code} False"


def test_the_package_and_its_fields_do_not_load_torch():
    imports = "import sys, headway, headway.fields, headway.theory, headway.text"
    asked = f"{imports}; headway.minimum_layers(3); print('torch' in sys.modules)"
    assert python(asked).split() == ["False"]
    assert python(f"{imports}; headway.fast; print('torch' in sys.modules)") == "True\n"


def test_the_rooms_whose_shapes_are_checked_are_there():
    project = tomllib.loads((SOURCE.parents[1] / "pyproject.toml").read_text())
    options = project["tool"]["pytest"]["ini_options"]["addopts"]
    found = re.search(r"--jaxtyping-packages=(\S+)", options)
    assert found is not None
    *checked, checker = found[1].split(",")
    assert checker == "array_checks.checked"
    for name in checked:
        assert find_spec(name) is not None
    assert {"headway.tasks", "headway.models", "headway.replace", "headway.theory"} <= {
        *checked
    }
