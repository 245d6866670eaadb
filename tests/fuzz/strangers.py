"""Folders from strangers: whatever they name, and wherever it lies, nothing of it is
executed.

A tree is ten runs with Python files in them, beside, above and below, and with
everything else that
could have them executed: links, lists of trusted files, entry points. What is executed
leaves a mark. The user trusts one file, `mine.py`; a copy of it leaves a mark, and so
does every function but the builder that the user recorded.
"""

import contextlib
import hashlib
import json
import os
import random
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from serving import serving

import headway
from fuzz.commands import called, ended_at_the_beginning
from fuzz.tried import Tried
from headway import userfile
from headway.report.cells import cell
from headway.training import Run
from in_process import forget_files

TREE = 10
"""Runs in a tree."""

CODE = """
def mark():
    with open({mark!r}, "a") as file:
        file.write(__file__ + "\\n")

if __file__ != {mine!r}:
    mark()

from dataclasses import dataclass
from headway.tasks import Retrieval

@dataclass(frozen=True)
class {name}(Retrieval):
    "Retrieval."

def other():
    mark()

def make():
    if __file__ != {mine!r}:
        mark()
    raise ValueError("built")
"""

ON_RUN = (
    "check",
    "theory",
    "circuit",
    "circuit --certify",
    "emergence",
    "depend",
    "truncate",
    "report",
    "serve",
    "runs",
    "sweep",
    "train --resume",
)
"""The verbs that take a run's folder."""
ON_TREE = (
    "runs {0}",
    "report {0}",
    "sweep {0}",
    "check {0}",
    "serve {0}",
    "circuit {1} {2}",
    "depend {1} {2}",
    "report {1} {2}",
    "runs {0} --table table.csv",
    "claims --results {0}",
    "reproduce fig5 --folder {0} --judge-only",
    "arena --out {0}",
    "reproduce khop-depth --folder {0} --judge-only",
)
"""Command lines on the tree, and on two runs of it."""

KINDS = (
    "stranger",
    "unheard_of",
    "os",
    "code",
    "antigravity",
    "code:Stranger",
    "headway",
    "mine",
)
BUILDERS = (
    "other",
    "make",
    "Stranger",
    "__import__",
    "mark",
    "eval",
    "no name",
    "os.abort",
    "",
)
DIGESTS: tuple[Callable[[Path], Any], ...] = (
    lambda path: "0" * 64,
    lambda path: hashlib.sha256(path.read_bytes()).hexdigest(),
    lambda path: hashlib.sha256(path.read_bytes()).hexdigest()[:16],
    lambda path: "",
)


@dataclass(frozen=True)
class World:
    """The surroundings of strangers' folders.

    Attributes:
        folder: of everything; the trees are in `trees`.
        mine: the file that the user trusts.
        mark: the file that anything writes to when executed.
        run: a run, from which the strangers' are made.
    """

    folder: Path
    mine: Path
    mark: Path
    run: Run

    @classmethod
    def of(cls, folder: Path, run: Run) -> "World":
        folder.mkdir()
        folder = folder.resolve()
        world = cls(folder, folder / "home" / "mine.py", folder / "mark", run)
        world.mine.parent.mkdir()
        world.mine.write_text(world.code("Mine"))
        return world

    def code(self, name: str) -> str:
        return CODE.format(mark=str(self.mark), mine=str(self.mine), name=name)


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def linked(path: Path, to: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to(to)
    return path


def planted(world: World, tree: Path, run: Path) -> dict[str, str]:
    """Put Python files about a run; by its kind, how a config can name each."""
    code = world.code("Stranger")
    at = tree / "code.py"
    rest = at.relative_to("/")
    far = world.folder / "far"
    files = {"higher": written(at, code)}
    files["in the run"] = written(run / "code.py", code)
    files["beside"] = written(run.parent / "code.py", code)
    files["deeper"] = written(run / "a" / "b" / "code.py", code)
    files["far off"] = written(far / "code.py", code)
    files["a copy of mine"] = written(tree / "mine.py", world.mine.read_text())
    files["a package"] = written(tree / "package" / "__init__.py", code)
    files["no Python"] = written(tree / "code.txt", code)
    files["a link"] = linked(tree / "link.py", at)
    files["a link afar"] = linked(far / f"{tree.name}.py", at)
    files["a link to mine"] = linked(tree / "linked" / "mine.py", world.mine)
    files["a folder's link"] = linked(tree / "folder", run) / "code.py"
    named = {how: str(path) for how, path in files.items()}
    below = at.relative_to(world.folder)
    mine = world.mine
    named["here"] = f"/proc/self/cwd/{at.name}"
    named["root"] = f"/proc/self/root/{rest}"
    named["process"] = f"/proc/{os.getpid()}/root/{rest}"
    named["thread"] = f"/proc/thread-self/cwd/{at.name}"
    named["dots"] = f"{run}/../../{at.name}"
    named["dots from mine"] = f"{mine.parent}/../{below}"
    named["mine by dots"] = f"{mine.parent}/./{mine.name}"
    named["slashes"] = f"/{at}"
    named["relative"] = "code.py"
    named["dot"] = "./code.py"
    named["below"] = str(below)
    named["home"] = "~/code.py"
    named["address"] = f"file://{at}"
    named["a name"] = f"{at}:Stranger"
    named["zero"] = f"{at}\0"
    named["zero behind mine"] = f"{mine}\0{at}"
    named["a space"] = f"{at} "
    named["a line"] = f"{mine}\n{at}"
    named["a folder"] = str(tree)
    named["a module"] = os.__file__
    named["a test"] = str(Path(pytest.__file__).resolve())
    named["mine"] = str(mine)
    return named


def lists(world: World, tree: Path) -> None:
    """Plant the lists of a user who trusts everything, entry points, and what Python
    imports.
    """
    named = [tree / "code.py", tree / "runs" / "run0" / "code.py", tree / "mine.py"]
    marks = [
        (path, mark)
        for path in named
        for mark in (f"sha256:{DIGESTS[1](path)}", "builder:other")
    ]
    lines = "\n".join(f"{mark} {path}" for path, mark in marks)
    for place in (
        ".local/share/headway",
        "headway",
        ".headway",
        "runs/run0",
        "~/.local/share",
    ):
        written(tree / place / "trusted.txt", lines)
    points = "".join(f"{kind} = code\n" for kind in ("stranger", "unheard_of"))
    written(tree / "bad-1.dist-info" / "entry_points.txt", f"[headway.tasks]\n{points}")
    written(tree / "bad-1.dist-info" / "METADATA", "Name: bad\nVersion: 1\n")
    for name in (
        "sitecustomize",
        "usercustomize",
        "conftest",
        "headway",
        "tasks",
        "torch",
    ):
        written(tree / f"{name}.py", world.code("Stranger"))


def named_in(
    world: World, config: dict[str, Any], how: str, chance: random.Random
) -> None:
    """Let a config name a file: as that of its task, or of what builds its model."""
    file = how
    is_readable = "\0" not in file and Path(file).is_file()
    digest = chance.choice(DIGESTS)(Path(file) if is_readable else world.mine)
    if chance.random() < 0.6:
        config["task"]["defined"] = {"file": file, "sha256": digest}
        config["task"]["kind"] = chance.choice(KINDS)
        return
    # The one builder that the user recorded is called as the user wants it: nothing is
    # marked.
    config["training"] = None
    config["model"] = {"n_layers": 1, "n_heads": 1, "parameters": 8, "causal": True}
    builder = chance.choice(BUILDERS)
    config["model"] |= {"builder": builder, "file": file, "sha256": digest}


def tree_of(world: World, number: int, seed: int) -> Path:
    """A tree of runs as a stranger might send it."""
    tree = world.folder / "trees" / str(number)
    for at in range(TREE):
        case = number * TREE + at
        chance = random.Random(f"{seed} {case}")
        run = tree / "runs" / f"run{at}"
        shutil.copytree(world.run.folder, run)
        ways = planted(world, tree, run)
        config = json.loads((run / "config.json").read_text())
        named_in(world, config, [*ways.values()][case % len(ways)], chance)
        (run / "config.json").write_text(json.dumps(config))
        found = json.loads((run / "circuit.json").read_text())
        told = {
            "file": str(tree / "code.py"),
            "builder": "other",
            "defined": config["task"],
        }
        (run / "circuit.json").write_text(json.dumps({**found, **told}))
        del config["format"]
        plan = {"name": "plan", "runs": {"r": config}}
        written(run / "sweep" / "plan.json", json.dumps(plan))
        if at == 0:
            written(tree / "plan.json", json.dumps(plan))
    lists(world, tree)
    return tree


@contextlib.contextmanager
def trusting(mine: Path, builder: str) -> Iterator[None]:
    """Within it, the user's list holds the user's own file, and one builder of it."""
    with pytest.MonkeyPatch.context() as patch:
        home = mine.parent / "data"
        patch.setenv("XDG_DATA_HOME", str(home))
        source = userfile.Source.of(mine)
        userfile.keep(source.line())
        userfile.keep(source.line(builder))
        before = os.getcwd()
        path = list(sys.path)
        try:
            yield
        finally:
            os.chdir(before)
            sys.path[:] = path


def strangers(
    tried: Tried, count: int, seed: int, folder: Path, run: Run, share: int = 1
) -> None:
    """Folders from strangers go through every verb that takes one, the server and
    notebooks.

    Args:
        tried: takes the results.
        count: of runs' folders.
        seed: of what they name.
        folder: to make, with all of them in it.
        run: from which they are made.
        share: of the verbs, a run goes through every so manieth.
    """
    world = World.of(folder, run)
    with trusting(world.mine, "make"):
        for number in range(-(-count // TREE)):
            tree = tree_of(world, number, seed)
            os.chdir(tree)
            forget_files()
            over_tree(tried, world, tree)
            for at in range(TREE):
                what = f"run{at} of tree {number} of seed {seed}"
                with tried.case("strangers' folders", what):
                    over_run(
                        world, tree / "runs" / f"run{at}", ON_RUN[at % share :: share]
                    )
            shutil.rmtree(tree)
    forget_files()


def over_tree(tried: Tried, world: World, tree: Path) -> None:
    """Command lines on a tree, and its pages from the server."""
    given = (tree / "runs", tree / "runs" / "run0", tree / "runs" / "run1")
    with tried.case("strangers' trees", tree.name):
        for line in ON_TREE:
            said(world, line.format(*given).split())
        with serving(tree / "runs") as site:
            for page in ["/", "/compare/", *site.links()]:
                answer = site.ask(page)
                nothing_executed(world, f"GET {page}")
                assert answer.status in (200, 302, 404), (page, answer.text)


def over_run(world: World, run: Path, verbs: Sequence[str]) -> None:
    """Verbs that take a run's folder, what a notebook shows, and the model itself."""
    for verb in verbs:
        target = run / "sweep" if verb == "sweep" else run
        said(world, [*verb.split(), str(target)])
    with contextlib.suppress(headway.HeadwayError):
        opened = Run.open(run)
        nothing_executed(world, "Run.open")
        cell(opened)
        headway.widget(opened)
        nothing_executed(world, "cell and widget")
        opened.model()
    nothing_executed(world, "Run.model")


def said(world: World, words: Sequence[str]) -> None:
    """Call a command line, which must end well or in a line."""
    with ended_at_the_beginning():
        told, code = called([*words])
    nothing_executed(world, " ".join(words))
    assert "Traceback" not in told, told
    assert code in (0, 1, 2, 130), (words, code, told)


def nothing_executed(world: World, by: str) -> None:
    """Make sure that nothing left a mark."""
    if world.mark.exists():
        marked = world.mark.read_text().split("\n")[0]
        world.mark.unlink()
        raise AssertionError(f"{by} executed {marked}")
