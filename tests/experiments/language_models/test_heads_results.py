"""The tables of docs/heads.md are those of the results."""

import json
from pathlib import Path

import pytest

from headway_experiments.language_models.printing import print_heads
from headway_experiments.language_models.printing import told as told_in_table

ROOT = Path(__file__).parents[3]
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


@pytest.mark.parametrize("columns", [60, 80])
@pytest.mark.parametrize("name", RESULTS)
def test_the_tables_on_the_terminal_cut_no_number(name, columns, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    study = RESULTS[name]
    print_heads(study)
    said = capsys.readouterr().out
    assert "…" not in said
    assert max(map(len, said.splitlines())) <= columns
    for one in study["ranking"][:10]:
        assert told_in_table((one["more"], *one["interval"]), 3) in said
    for effect in study["effects"]:
        for measure in ("argmax", "expectation", "margin"):
            mean, interval = told_in_table(effect["found"][measure], 2).split(" ", 1)
            assert mean in said
            assert interval in said
