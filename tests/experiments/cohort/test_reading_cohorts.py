"""The benchmark of blind reading: what a row says of a model that is read."""

import importlib
import json
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
NAME = "choosing copy"


@pytest.fixture
def reading(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("reading")


def test_a_model_is_trained_and_read(reading, tmp_path):
    row = reading.reading(NAME, tmp_path, is_stranger=False, seed=5)
    assert row["model"] == NAME
    assert row["sequences_right"] > 0.99
    assert row["sequence_agreement"] > 0.95
    (head,) = row["heads"]
    assert head["words"] == "6 back"
    assert head["explained"] > 0.9
    assert row["tables"] == 0
    assert row["seconds"] > 0


def test_what_was_read_is_shown(reading, tmp_path, capsys, monkeypatch):
    verdicts = {"enough": True, "complete": False, "nothing spare": None}
    row = {"model": NAME, "seed": 5, "sequences_right": 1.0, "agreement": 0.98}
    row |= {"sequence_agreement": 0.94, "tables": 1, "verdicts": verdicts}
    row |= {"seconds": 3.2, "memory_mb": 80.0}
    row["heads"] = [{"head": "L0.H0", "words": "6 back", "explained": 0.5}]
    refused = {"model": "choosing sort", "seed": 5, "refused": "it has not learnt"}
    file = tmp_path / "rows.jsonl"
    file.write_text(f"{json.dumps(row)}\n{json.dumps(refused)}\n")
    monkeypatch.setattr(sys, "argv", ["reading", "--read", str(file)])
    reading.main()
    shown = capsys.readouterr().out
    assert "0.940 | L0.H0: 6 back (0.50) | 1 | yes, no, ? | 3 | 80 |" in shown
    assert "refused: it has not learnt" in shown
    assert "in 0 of 2 readings: mean 0.940" in shown


def test_what_is_no_cohort_is_refused(reading, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["reading", "--cohort", "guessing"])
    with pytest.raises(reading.HeadwayError, match="--cohort"):
        reading.main()
