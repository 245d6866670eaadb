"""A user's Python file: run once, found again by what it holds, its errors told by
their line.
"""

import importlib
import sys

import pytest

from commands import refusing
from headway.errors import HeadwayError
from headway.userfile import Source, called, load, source_of


def test_a_file_is_run_once_and_again_when_it_has_changed(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("class Thing:\n    size = 3\n")
    module = load(file)
    assert load(str(file)) is module
    assert module.Thing.size == 3
    before = source_of(module.Thing)
    assert before == Source.of(file)
    assert before.file == str(file)
    file.write_text("class Thing:\n    size = 4\n")
    assert load(file).Thing.size == 4
    assert source_of(load(file).Thing) == Source.of(file)
    assert source_of(module.Thing) == before != Source.of(file)
    assert len(before.sha256) == 64


@pytest.mark.parametrize("late", [False, True])
def test_neighbours_of_one_name_are_told_apart(tmp_path, late):
    """When a file is loaded, or later, in a function; through others, and in a
    circle.
    """
    before = list(sys.path)
    names = set(sys.modules)
    body = (
        "    from helper import NUMBER\n    import parts.one\n    return NUMBER "
        "+ parts.one.ONE"
    )
    text = f"def number():\n{body}\n" + ("" if late else "NUMBER = number()\n")
    for number in (10, 20):
        folder = tmp_path / str(number)
        (folder / "parts").mkdir(parents=True)
        (folder / "parts" / "__init__.py").touch()
        (folder / "parts" / "one.py").write_text("ONE = 1\n")
        (folder / "helper.py").write_text("from deeper import NUMBER\n")
        (folder / "deeper.py").write_text(f"import helper\nNUMBER = {number}\n")
        (folder / "mine.py").write_text(text)
    first = load(tmp_path / "10" / "mine.py")
    second = load(tmp_path / "20" / "mine.py")
    assert first.number() == 11
    assert second.number() == 21
    assert first.number() == 11
    assert load(tmp_path / "10" / "mine.py") is first
    assert sys.path == before
    assert not {"helper", "deeper", "parts"} & (set(sys.modules) - names)


def test_an_error_of_a_neighbour_is_an_import_error_where_it_is_one(tmp_path):
    (tmp_path / "helper.py").write_text("import nowhere_to_be_found\n")
    (tmp_path / "mine.py").write_text(
        "try:\n    import helper\nexcept ImportError:\n    x = 3\n"
    )
    assert load(tmp_path / "mine.py").x == 3
    (tmp_path / "mine.py").write_text("x = 3\nimport helper\n")
    with pytest.raises(HeadwayError, match=r"mine\.py, line 2: ModuleNotFoundError"):
        load(tmp_path / "mine.py")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("x = 1\n1 / 0\n", "mine.py, line 2: ZeroDivisionError: division by zero"),
        ("x = (\n", "mine.py, line 1: SyntaxError: '(' was never closed"),
        (
            "import nowhere_to_be_found\n",
            "mine.py, line 1: ModuleNotFoundError: No module named",
        ),
        ("import sys\nsys.exit(3)\n", "mine.py, line 2: SystemExit: 3"),
        ("raise ValueError\n", "mine.py, line 1: ValueError"),
        (
            "def f():\n    raise KeyError('a\\nb')\n\nf()\n",
            "mine.py, line 2: KeyError: ",
        ),
        (
            "from headway import HeadwayError\nraise HeadwayError('no')\n",
            "mine.py, line 2: no",
        ),
        ("class Stop(BaseException): ...\nraise Stop\n", "mine.py, line 2: Stop"),
        ("\0", "mine.py"),
    ],
)
def test_what_goes_wrong_is_told_on_one_line(tmp_path, text, complaint):
    file = tmp_path / "mine.py"
    file.write_text(text)
    names = set(sys.modules)
    with refusing(complaint):
        load(file)
    assert not [name for name in set(sys.modules) - names if name.startswith("mine_")]


def test_no_file_and_no_python_file_are_refused(tmp_path):
    with pytest.raises(HeadwayError, match=r"mine\.py: No such file or directory"):
        load(tmp_path / "mine.py")
    with pytest.raises(HeadwayError, match="is not a file"):
        load(tmp_path)
    (tmp_path / "mine.txt").write_text("x = 1\n")
    with pytest.raises(HeadwayError, match=r"it must be a Python file, NAME\.py"):
        load(tmp_path / "mine.txt")


def test_an_error_in_a_function_of_a_file_is_told_by_its_line_there(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("def halve(x):\n    return x / 0\n")
    halve = load(file).halve
    with pytest.raises(HeadwayError, match=r"mine\.py, line 2: ZeroDivisionError"):
        called(file, halve, 3)
    assert source_of(halve) == Source.of(file)


def test_what_others_imported_is_no_neighbour(tmp_path, monkeypatch):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "beside_it.py").write_text(f"NAME = {name!r}\n")
    monkeypatch.syspath_prepend(tmp_path / "a")
    assert importlib.import_module("beside_it").NAME == "a"
    (tmp_path / "b" / "mine.py").write_text("from beside_it import NAME\n")
    assert load(tmp_path / "b" / "mine.py").NAME == "b"
    monkeypatch.delitem(sys.modules, "beside_it")
