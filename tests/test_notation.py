"""docs/notation.md: every name in its tables is one of the code."""

import dataclasses
import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

import headway
import headway_experiments.tasks as experiments

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "notation.md"


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
    owner = import_module(f"headway.{first}") if first.islower() and rest else headway
    owner = experiments if hasattr(experiments, first) else owner
    for part in rest if first.islower() and rest else [first, *rest]:
        if not has(owner, part):
            return False
        owner = getattr(owner, part, None)
    return True


def test_names_that_are_none_are_seen():
    assert len(names()) >= 30
    for name in ("Retrieval.deep", "RetrievalConfig.depth", "theory.flow_of", "role_names"):
        assert not found(name)


@pytest.mark.parametrize("name", names())
def test_a_name_of_the_tables_is_one_of_the_code(name):
    assert found(name)


def old_words() -> list[str]:
    """The words that are said not to be used any more, but for arrows."""
    section = PAGE.read_text().partition("## Words that are not used any more")[2]
    rows = re.findall(r"^\| (\w[\w ]*) \|", section.partition("\n## ")[0], re.MULTILINE)
    return [word for word in rows if word != "old"]


def test_a_word_that_is_not_used_any_more_is_nowhere():
    files = [*ROOT.glob("*.md"), *(page for page in ROOT.glob("docs/*.md") if page != PAGE)]
    files += [path for path in ROOT.rglob("src/headway/**/*") if path.suffix in (".py", ".html")]
    assert len(old_words()) >= 3
    for file in files:
        text = file.read_text().lower()
        assert not [word for word in old_words() if word in text], file
        assert not re.findall(r"\bs\d+→s\d", text), file
