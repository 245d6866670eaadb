"""docs/notation.md: every name in its tables is one of the code."""

import dataclasses
import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

import headway
from headway_experiments import curricula, tasks

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "notation.md"
ROOMS = ("tasks", "circuits", "models", "relations.paths", "training")


def names() -> list[str]:
    """All that stands in code marks in the last column of a table."""
    rows = [line.split("|")[-2] for line in PAGE.read_text().splitlines() if line[:2] == "| "]
    return sorted({name for cell in rows for name in re.findall(r"`([^`]+)`", cell)})


def has(owner, name):
    """Whether a package, class or dataclass has an attribute, an annotation or a field."""
    fields = dataclasses.fields(owner) if dataclasses.is_dataclass(owner) else ()
    slots = inspect.get_annotations(owner) if inspect.isclass(owner) else {}
    return hasattr(owner, name) or name in slots or name in {field.name for field in fields}


def found(name: str) -> bool:
    first, *rest = name.split(".")
    if first.islower() and rest:
        return found_in([import_module(f"headway.{first}")], rest)
    rooms = [import_module(f"headway.{room}") for room in ROOMS]
    return found_in([headway, tasks, curricula, *rooms], [first, *rest])


def found_in(owners: list, parts: list[str]) -> bool:
    """Whether one of some modules has a name, and that the next, and so on."""
    first, *rest = parts
    owner = next((one for one in owners if has(one, first)), None)
    if owner is None or not rest:
        return owner is not None
    return found_in([getattr(owner, first, None)], rest)


def test_names_that_are_none_are_seen():
    assert len(names()) >= 30
    for name in ("Retrieval.deep", "RetrievalConfig.depth", "theory.flow_of", "role_names"):
        assert not found(name)


@pytest.mark.parametrize("name", names())
def test_a_name_of_the_tables_is_one_of_the_code(name):
    assert found(name)
