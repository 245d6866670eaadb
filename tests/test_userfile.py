"""A user's Python file: run once, found again by what it holds, its errors told by their line."""

import sys

import pytest

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


def test_a_file_may_import_its_neighbours_and_leaves_the_path_as_it_was(tmp_path):
    (tmp_path / "neighbour_of_mine.py").write_text("NUMBER = 7\n")
    (tmp_path / "mine.py").write_text("from neighbour_of_mine import NUMBER\n")
    before = list(sys.path)
    assert load(tmp_path / "mine.py").NUMBER == 7
    assert sys.path == before


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("x = 1\n1 / 0\n", "mine.py, line 2: ZeroDivisionError: division by zero"),
        ("x = (\n", "mine.py, line 1: SyntaxError: '(' was never closed"),
        ("import nowhere_to_be_found\n", "mine.py, line 1: ModuleNotFoundError: No module named"),
        ("import sys\nsys.exit(3)\n", "mine.py, line 2: SystemExit: 3"),
        ("raise ValueError\n", "mine.py, line 1: ValueError"),
        ("def f():\n    raise KeyError('a\\nb')\n\nf()\n", "mine.py, line 2: KeyError: "),
        ("from headway import HeadwayError\nraise HeadwayError('no')\n", "mine.py, line 2: no"),
        ("\0", "mine.py"),
    ],
)
def test_what_goes_wrong_is_told_on_one_line(tmp_path, text, complaint):
    file = tmp_path / "mine.py"
    file.write_text(text)
    names = set(sys.modules)
    with pytest.raises(HeadwayError) as raised:
        load(file)
    assert complaint in str(raised.value)
    assert "\n" not in str(raised.value)
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


def test_what_is_of_no_file_has_no_source():
    assert source_of(int) is None
