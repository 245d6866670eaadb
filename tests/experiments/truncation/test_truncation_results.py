"""The table of docs/experiments/truncation.md is that of the results."""

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
DOCS = (ROOT / "docs/experiments/truncation.md").read_text()
RESULTS = sorted((ROOT / "results" / "truncation").glob("*.json"))
SHOWN = {"smollm2": ((), (28,), (29,))}


def rows(name):
    """A row a kind: p(answer), p(generic) and the share said, intact and without some MLPs."""
    effects = json.loads((ROOT / "results" / "truncation" / f"{name}.json").read_text())["effects"]
    for kind in dict.fromkeys(effect["kind"] for effect in effects):
        cells = [kind]
        for layers in SHOWN[name]:
            (one,) = (
                e
                for e in effects
                if e["kind"] == kind
                and e["layers"] == list(layers)
                and (not layers or (e["weights"], e["fraction"]) == ("mlp", 0))
            )
            cells += [f"{one[m][0]:.3f}" for m in ("answer", "generic")]
            cells.append(f"{one['says'][0]:.0%}")
        yield "| " + " | ".join(cells) + " |"


@pytest.mark.parametrize("name", SHOWN)
def test_the_tables_in_the_docs_are_those_of_the_results(name):
    for row in rows(name):
        assert row in DOCS


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_results_tell_where_they_come_from(path):
    told = json.loads(path.read_text())
    assert told["model"] == path.stem
    assert told["environment"]["torch"]
    assert "/" not in "".join(told["environment"]["command"])
    assert {effect["fraction"] for effect in told["effects"]} == set(told["fractions"])
