"""The findings of the demo on one screen."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from headway.dynamics import emergence
from headway.find import discover, every_circuit
from headway.judge import THRESHOLD, Discovery
from headway.judge.by_exchange import Cost
from headway.judge.text import of_discovery, path_table
from headway.relations.paths import AttentionPath
from headway.replace import Circuit, Uniform
from headway.terminal import print_discovery, print_summary
from headway.terminal.summary import said_of_every, said_of_minimum, said_of_verdicts
from headway.text import rounded, width, wrapped
from headway.training import Run


@pytest.fixture(scope="module")
def findings(solved, tmp_path_factory):
    """A run that learnt, and all that was found in it."""
    run = Run.open(
        shutil.copytree(solved.folder, tmp_path_factory.mktemp("found") / "run")
    )
    found = discover(run, trials=False, sequences=32)
    return run, found, emergence(run, found, sequences=8), every_circuit(run)


REPORT = Path("runs/x/report.html")


@pytest.fixture
def lines(findings, capsys, monkeypatch):
    """The lines of the summary in a terminal of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    run, found, timeline, every = findings
    print_summary(run, found, timeline, every, REPORT, 61.0, 0.5)
    return capsys.readouterr().out.splitlines()


@pytest.fixture
def words(lines):
    """The same as one line with single spaces."""
    return " ".join(" ".join(lines).split())


def test_the_findings_fit_one_screen(lines):
    assert max(map(len, lines)) <= 80
    assert len(lines) <= 24
    assert lines[0].startswith("headway  Following a chain of 1 fact ─")


def test_training_is_summed_up(findings, words):
    run, *_ = findings
    metrics = run.metrics()
    first = next(line["step"] for line in metrics if line["val_loss"] < THRESHOLD)
    assert "1 Trained 3 layers × 1 head, width 32, seed 1: 500 steps" in words
    assert f"; solved (below 0.05) from step {first} curriculum" in words
    assert f"validation MSE {rounded(metrics[-1]['val_loss'])}" in words
    assert "curriculum implicit 2 Circuit all 3 heads" in words


def test_the_circuit_is_summed_up(findings, lines, words):
    _, found, *_ = findings
    loss = rounded(found.replaced_loss)
    assert f"2 Circuit all 3 heads replaced: MSE {loss} (thres" in words
    for path in found.circuit.paths:
        assert any(line.strip().startswith(f"{path} ") for line in lines)
    for heads in found.circuit.idle_heads.values():
        for layer, head in heads:
            assert f"L{layer}.H{head}" in words
    assert said_of_verdicts(found) in words


def test_emergence_the_minimum_and_the_report_are_summed_up(findings, words):
    *_, every = findings
    minimum = "2 layers, 2 paths; the fewest by information flow: 2 layers, 2 paths"
    resources = "1 min 01 s in all, at most 0.50 GB of memory"
    assert "3 Emerged partial losses below 0.5 at step: x_1 " in words
    assert f"4 Minimum {minimum}" in words
    assert said_of_every(every) in words
    assert f"5 Report runs/x/report.html {resources}" in words


def test_without_paths_a_line_says_what_attention_brings(findings, capsys):
    run, found, timeline, every = findings
    uniform = Circuit(dict.fromkeys(found.circuit.mechanisms, Uniform()))
    judgement = replace(found.evidence.judgement, paths={}, rows={})
    evidence = replace(found.evidence, necessity=[], judgement=judgement)
    plain = replace(found, circuit=uniform, evidence=evidence)
    print_summary(run, plain, replace(timeline, paths=[]), every, REPORT, 61.0, 0.5)
    said = " ".join(capsys.readouterr().out.split())
    assert said.count("no head has a path") == 1
    assert "exchanged" not in said


def test_a_table_that_is_too_wide_is_broken(findings, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    run, found, timeline, every = findings
    print_summary(run, found, timeline, every, REPORT, 61.0, 0.5)
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 60
    for n, history in zip(found.evidence.necessity, timeline.paths, strict=True):
        cost = found.evidence.judgement.paths[n.path].most
        numbers = f"{n.attention:.2f} {cost:.2f} {rounded(n.loss)}"
        row = f"{n.path} {numbers} {history.emerged:.0f}"
        assert row in " ".join(out.split())


def test_what_nobody_knows_is_said_to_be_unknown(findings):
    _, found, *_ = findings
    why = "exchange: nothing can be exchanged"
    unknown = replace(
        found.evidence, minimum=None, infeasible=None, judgement=None, unjudged=why
    )
    told = replace(found, evidence=unknown)
    assert said_of_verdicts(found) == "enough, complete, nothing spare"
    assert (
        said_of_verdicts(told)
        == "enough unknown, complete unknown, nothing spare unknown"
    )
    assert said_of_minimum(told, None) == (
        "2 layers, 2 paths; the flow minimum of this task is not known"
    )
    costly = Cost(0.2, 0.3, 0.25, 0.1)
    judgement = replace(found.evidence.judgement, enough={"all else exchanged": costly})
    lacking = replace(found, evidence=replace(found.evidence, judgement=judgement))
    assert said_of_verdicts(lacking) == "NOT enough, complete, nothing spare"


def test_what_is_said_of_other_circuits_is_what_was_found(findings):
    *_, every = findings
    paths = tuple(AttentionPath.parse(text) for text in ("L0.H0 s2←s1", "L1.H0 s0←s2"))
    two = replace(
        every, circuits=(paths, paths[:1]), costs=(0.0, 0.0), discovered=paths
    )
    assert said_of_every(two).startswith("2 minimal circuits among ")
    one = replace(two, circuits=(paths,), costs=(0.0,))
    assert said_of_every(one).startswith("1 minimal circuit among ")
    partly = replace(one, searched=len(every.candidates) - 1)
    assert "not all sets were judged" in said_of_every(partly)


LONG = "after latest same token if a token of the first ten stands before it"


def with_long_relation(found):
    """A discovery whose first path has a relation of many words."""
    written = json.dumps(found.to_json(), ensure_ascii=False)
    return Discovery.from_json(json.loads(written.replace("s2←s1", LONG)))


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_no_relation_is_broken_where_a_line_has_room_for_it(
    findings, monkeypatch, columns
):
    monkeypatch.setenv("COLUMNS", str(columns))
    _, found, *_ = findings
    lines = path_table(with_long_relation(found))
    assert max(map(len, lines)) <= columns
    whole = [line for line in lines if f"L0.H0 {LONG}" in line]
    assert bool(whole) == (columns > len(LONG) + 6)


def test_a_sentence_keeps_names_whole(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    lines = wrapped(
        "it looks at the token that is the same token", whole=["same token"]
    )
    assert lines == ["it looks at the token that is the", "  same token"]
    assert wrapped("x" * 30 + " the same token", whole=["same token"])[-1].endswith(
        "same token"
    )


@pytest.mark.parametrize(("asked", "wide"), [(200, 120), (100, 100), (10, 24)])
def test_lines_are_as_wide_as_the_terminal(monkeypatch, asked, wide):
    monkeypatch.setenv("COLUMNS", str(asked))
    assert width() == wide


def test_verdicts_have_colours_where_there_are_some(findings, capsys, monkeypatch):
    _, found, *_ = findings
    monkeypatch.setenv("FORCE_COLOR", "1")
    print_discovery(found, Path("runs/x"))
    assert re.search(r"\x1b\[32myes\x1b\[0m", capsys.readouterr().out)
    monkeypatch.delenv("FORCE_COLOR")
    print_discovery(found, Path("runs/x"))
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert out == of_discovery(found, Path("runs/x")) + "\n"
