"""The sizes of the rooms: a cap only goes down."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = {".py", ".ts", ".js", ".svelte", ".css", ".html", ".toml", ".jinja"}

CAPS = {
    "src/headway/*": 996,
    "src/headway/theory": 832,
    "src/headway/tasks": 2000,
    "src/headway/relations": 1098,
    "src/headway/models": 1992,
    "src/headway/training": 3185,
    "src/headway/circuits": 5199,
    "src/headway/sweeps": 995,
    "src/headway/language": 1597,
    "src/headway/report": 3193,
    "src/headway/terminal": 1006,
    "src/headway/verbs": 676,
    "src/headway_experiments": 10980,
    "benchmarks": 1500,
    "tests": 24000,
    "web/src": 1988,
}
"""Lines of source, docstrings and blank lines included; `*` stands for a folder's own files."""


def lines(place: str) -> int:
    folder, own = ROOT / place.removesuffix("/*"), place.endswith("/*")
    files = folder.glob("*") if own else folder.rglob("*")
    sources = [path for path in files if path.suffix in SOURCES and path.is_file()]
    return sum(len(path.read_text("utf-8").splitlines()) for path in sources)


@pytest.mark.parametrize("place", CAPS)
def test_no_room_is_larger_than_its_cap(place):
    assert 0 < lines(place) <= CAPS[place], place


def test_every_room_has_a_cap():
    package = ROOT / "src/headway"
    rooms = {path.name for path in package.iterdir() if any(path.glob("**/*.py"))}
    assert rooms == {Path(place).name for place in CAPS if place.startswith("src/headway/")} - {"*"}
