"""Scores on known circuits as the terminal shows them."""

import pytest

from headway.paths import Path
from headway_experiments.arena.terminal import print_score
from headway_experiments.arena.truth import Hits, Score


@pytest.mark.parametrize("columns", [80, 40])
def test_a_score_folds_to_the_terminal(columns, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(columns))
    hits = Hits(found=10, true=40, right=10)
    missing = [Path.of(i, 0, f"s{i}<-s0") for i in range(1, 31)]
    times = {"intact_loss": 0.1, "replaced_loss": 0.1234, "forwards": 1.0, "seconds": 123.4}
    print_score(Score("planted 19", hits, hits, missing, [], 0, candidates=1234, **times))
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= columns
    said = " ".join(line.strip() for line in lines)
    assert "0.1234, 1234 candidates, 123.4 s missing: L1.H0 s1<-s0; L2.H0" in said
