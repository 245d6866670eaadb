"""Tasks by name: registered by subclassing, found in files and packages, written and
read.
"""

import importlib
import json
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint
from itertools import count

import pytest
import torch

from commands import refusing
from headway import userfile
from headway.errors import HeadwayError
from headway.tasks import (
    KINDS,
    Batch,
    Retrieval,
    Task,
    task_from_json,
    task_in,
    task_to_json,
)
from headway.tasks.registry import OFFERED, change_of, find, keep
from headway.terminal.cli import main
from headway.training.recipes import RECIPES
from headway.verbs.listing import added_verbs

NUMBERS = count()
BODY = """
    def draw(self, count, generator):
        return (torch.randn(count, 3, 2, generator=generator),)

    def assemble(self, draws):
        return Batch(draws[0], draws[0][:, -1:, None])
"""


def written(path, *names, base="Task", fields="    size: int = 2\n", body=BODY):
    """A file with tasks of such names."""
    text = "from dataclasses import dataclass\nimport torch\n"
    text += "from headway import Batch, Task; from headway.tasks import Retrieval\n"
    for name in names:
        text += f"\n\n@dataclass(frozen=True)\nclass {name}({base}):\n{fields}{body}"
    path.write_text(text)
    return path


@pytest.fixture
def name():
    """A name that no other task has."""
    return f"Mirrored{next(NUMBERS)}"


@pytest.mark.parametrize(
    "kind", ["retrieval", "hops", "associations", "bigrams", "composition"]
)
def test_our_own_tasks_are_known_by_their_names(kind):
    task = find(kind)()
    assert task.kind == kind
    assert task_from_json(json.loads(json.dumps(task_to_json(task)))) == task
    assert "defined" not in task_to_json(task)


def test_a_task_in_a_file_is_found_written_and_read(tmp_path, name, monkeypatch):
    file = written(tmp_path / "mine.py", name)
    cls = task_in(str(file))
    assert cls.__name__ == name
    assert name.lower() == cls.kind
    assert cls().kind == cls.kind
    assert KINDS[cls.kind] is cls
    data = task_to_json(cls(size=5))
    assert data["size"] == 5
    assert data["defined"]["file"] == str(file)
    assert task_from_json(data) == cls(size=5)
    assert change_of(data, cls()) is None
    monkeypatch.delitem(KINDS, cls.kind)
    monkeypatch.delitem(userfile._loaded, cls.__module__)  # as in another process
    assert type(task_from_json(data)).__name__ == name
    assert change_of(data, task_from_json(data)) is None


def test_a_file_that_has_changed_is_told_and_one_that_is_gone_refused(tmp_path, name):
    file = written(tmp_path / "mine.py", name)
    data = task_to_json(task_in(str(file))())
    before = data["defined"]["sha256"]
    written(file, name, fields="    size: int = 3\n")
    changed = task_in(str(file))()
    assert changed.size == 3
    told = change_of(data, changed)
    assert told is not None
    assert f"{file} has changed since (it was {before[:16]}, it is " in told
    del KINDS[changed.kind]
    file.unlink()
    with pytest.raises(HeadwayError, match=f"{file}: No such file"):
        task_from_json(data)


def test_one_of_several_tasks_is_named(tmp_path, name):
    file = written(tmp_path / "mine.py", f"{name}A", f"{name}B")
    with pytest.raises(
        HeadwayError, match=f"defines 2 tasks: name one of them, .*:{name}A or .*B"
    ):
        task_in(str(file))
    assert task_in(f"{file}:{name}B").__name__ == f"{name}B"
    with pytest.raises(
        HeadwayError, match=f"task = 'Other' .* one of {name}A, {name}B"
    ):
        task_in(f"{file}:Other")


def test_a_subclass_is_a_task_of_its_own(tmp_path, name):
    file = written(
        tmp_path / "mine.py", name, base="Retrieval", fields="    twice: bool = True\n"
    )
    cls = task_in(str(file))
    task = cls(depth=2)
    assert issubclass(cls, Retrieval)
    assert task.kind != "retrieval"
    data = task_to_json(task)
    assert data["kind"] == cls.kind
    assert data["depth"] == 2
    assert data["twice"] is True
    assert type(task_from_json(data)) is cls


def test_two_files_may_define_one_kind_and_each_finds_its_own(tmp_path, name):
    files = written(tmp_path / "mine.py", name), tmp_path / "yours.py"
    written(files[1], name, fields="    length: int = 3\n")
    mine, yours = (task_in(str(file)) for file in files)
    assert mine is not yours
    assert mine.kind == yours.kind
    for task in (mine(), yours(length=4), mine()):
        assert task_from_json(task_to_json(task)) == task
    assert task_in(str(files[0])) is mine
    files[0].unlink()
    with pytest.raises(HeadwayError, match=f"{files[0]}: No such file"):
        task_from_json(task_to_json(mine()))


def test_installed_packages_offer_tasks(monkeypatch, name):
    class Point:
        value = "their.tasks"
        module = __name__

        def __init__(self, name):
            self.name = name

        def load(self):
            if self.name == "broken":
                raise ImportError("no such module")
            body = {
                "draw": Retrieval.draw,
                "assemble": Retrieval.assemble,
                "__module__": __name__,
            }
            dataclass(frozen=True)(type(name, (Task,), body))

    points = {kind: Point(kind) for kind in (name.lower(), "broken")}
    monkeypatch.setattr(userfile, "installed", lambda group: points)
    assert find(name.lower()).__name__ == name
    with pytest.raises(
        HeadwayError, match=r"'broken': .* their\.tasks fails: ImportError"
    ):
        find("broken")
    with pytest.raises(
        HeadwayError, match=r"Own.kind = 'broken' .* that of their\.tasks"
    ):
        type("Own", (Task,), {"kind": "broken", "__module__": "mine"})


def test_the_file_of_an_installed_package_is_not_named(
    tmp_path, name, kinds, monkeypatch
):
    monkeypatch.syspath_prepend(tmp_path / "site-packages")
    (tmp_path / "site-packages").mkdir()
    written(tmp_path / "site-packages" / f"of_{name}.py", name)
    cls = getattr(importlib.import_module(f"of_{name}"), name)
    assert "defined" not in task_to_json(cls())
    keep(cls())
    assert not [line for line in userfile.listed() if name in line]
    del kinds[cls.kind]
    with pytest.raises(HeadwayError, match=f"task.kind = '{cls.kind}' is not allowed"):
        task_from_json(task_to_json(cls()))


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (
            {"kind": "unheard_of"},
            "task.kind = 'unheard_of' is not allowed: it must be one of ",
        ),
        ({"kind": ["retrieval"]}, "task.kind = ['retrieval']"),
        (
            {"depths": 3},
            "task.depths is not a field: there must be just depth, n_chains, ",
        ),
        (
            {"defined": {"file": 3, "sha256": ""}},
            "task.defined.file = 3 is not allowed",
        ),
        ({"defined": "x.py"}, "task.defined = 'x.py'"),
    ],
)
def test_json_that_is_no_task_is_refused(change, complaint):
    with refusing(complaint):
        task_from_json({**task_to_json(Retrieval()), **change})


def test_views_and_unregistered_tasks_are_no_kinds():
    @dataclass(frozen=True)
    class Hidden(Task, registered=False):
        def draw(self, count, generator):
            return (torch.zeros(count, 2, 1),)

        def assemble(self, draws):
            return Batch(draws[0], draws[0][:, -1:, None])

    assert Hidden().kind == "hidden" not in KINDS
    assert replace(Hidden()) == Hidden()


def test_the_parts_that_a_task_need_not_say_follow_from_a_sequence(tmp_path, name):
    task = task_in(str(written(tmp_path / "mine.py", name)))()
    assert task.length == 3
    assert task.n_read == 1
    assert task.d_input == 2
    assert task.d_target == 2
    assert task.hops == ("answer",)
    assert task.n_hops == 1
    assert task.roles == ()
    assert task.label == "size=2"
    assert task.title == f"{name}, size=2"
    assert task.flow() is None
    assert task.reference_losses() == {}
    assert task.references() == {}
    assert task.reading == ""


def test_what_lies_in_the_current_folder_is_no_installed_package(tmp_path, monkeypatch):
    info = tmp_path / "evil-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: evil\nVersion: 1\n")
    (info / "entry_points.txt").write_text(
        "".join(
            f"[headway.{group}]\nevil = evil:Evil\n"
            for group in ("tasks", "recipes", "verbs")
        )
    )
    (tmp_path / "evil.py").write_text("open('executed', 'w').close()\nEvil = None\n")
    monkeypatch.chdir(tmp_path)
    for entry in ("", str(tmp_path)):
        monkeypatch.syspath_prepend(entry)
        userfile.installed.cache_clear()
        with pytest.raises(HeadwayError, match=r"task\.kind = 'evil' is not allowed"):
            find("evil")
        assert "evil" not in {*RECIPES, *added_verbs()}
        with pytest.raises(SystemExit):
            main(["evil"])
    assert not (tmp_path / "executed").exists()


@pytest.mark.parametrize(
    "value", ["math:pi", "math:sqrt", "collections:OrderedDict", "math:no"]
)
def test_an_entry_point_that_is_no_task_is_refused_again_and_again(
    value, kinds, monkeypatch
):
    odd = EntryPoint("odd", value, OFFERED.group)
    monkeypatch.setattr(userfile, "installed", lambda group: {"odd": odd})
    for _ in range(2):
        with refusing(f"task.kind = 'odd': the entry point {value} "):
            find("odd")
    assert "odd" not in KINDS


@pytest.mark.parametrize("kind", ["../../x", "a\nb", "a\0b", "k" * 300, "é" * 40, ""])
def test_a_kind_that_names_no_folder_is_refused(kind, kinds):
    body = {"kind": kind, "draw": Retrieval.draw, "assemble": Retrieval.assemble}
    with pytest.raises(HeadwayError, match=r"Odd\.kind"):
        dataclass(frozen=True)(type("Odd", (Task,), body))
