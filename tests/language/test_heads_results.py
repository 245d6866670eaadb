"""The tables of docs/heads.md are those of the results."""

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = (ROOT / "docs" / "heads.md").read_text(encoding="utf-8")
RESULTS = json.loads((ROOT / "results" / "heads.json").read_text())


def told(estimate):
    value, low, high = (f"{number:.2f}".replace("-", "−") for number in estimate)
    return f"{value} ({low} to {high})"


def rows(study):
    """A row a number of heads: the margin without the best, and that less the margin without
    others, of the same layers and of all."""
    by = {(effect["kind"], effect["top"]): effect for effect in study["effects"]}
    yield f"| 0 | {told(by['none', 0]['found']['margin'])} | – | – |"
    for top in study["top"]:
        less = [told(by[kind, top]["top_less"]["margin"]) for kind in ("matched", "random")]
        yield f"| {top} | {told(by['top', top]['found']['margin'])} | {' | '.join(less)} |"


@pytest.mark.parametrize("name", RESULTS)
def test_the_tables_in_the_docs_are_those_of_the_results(name):
    (table,) = (part for part in DOCS.split("\n\n") if part.startswith(f"| {name}: k | "))
    assert table.splitlines()[2:] == list(rows(RESULTS[name]))


@pytest.mark.parametrize("name", RESULTS)
def test_results_tell_where_they_come_from(name):
    study = RESULTS[name]
    assert study["environment"]["torch"]
    assert "/" not in "".join(study["environment"]["command"])
    assert study["ranked_on"] == study["n"] // 2
    assert len(study["ranking"]) >= max(study["top"])
