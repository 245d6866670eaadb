"""Circuits, evidence and timelines as text."""

from dataclasses import replace

import pytest

from headway.circuits import discover, emergence, verdicts
from headway.circuits.verdicts import to_type
from headway_experiments.arena import compiled


@pytest.fixture(autouse=True, params=[80, 60])
def columns(request, monkeypatch):
    """How wide the terminal is."""
    monkeypatch.setenv("COLUMNS", str(request.param))
    return request.param


@pytest.fixture(scope="module")
def found():
    known = compiled(1)
    return known, discover(known.model, known.task, sequences=16)


def said(thing, columns):
    lines = str(thing).splitlines()
    assert max(map(len, lines)) <= columns
    return lines, " ".join(" ".join(lines).split())


def test_a_discovery_shows_its_circuit_its_verdicts_and_its_paths(found, columns):
    lines, text = said(found[1], columns)
    assert lines[:3] == [
        "head    s1  s2  s0",
        "L1.H0        ●───▶",
        "L0.H0    ●───▶",
    ]
    for one in verdicts(found[1]):
        word = {True: "yes", False: "NO", None: "?"}[one.holds]
        assert f"{one.name} {word} {one.because}" in text
        line = one.next and to_type(one.next)
        assert not line or f"next: {line}" in text
    (head,) = (line for line in lines if line.startswith("path "))
    assert head.split() == ["path", "attention", "cut", "upper", "heads", "free", "again"]
    rows = [line.split() for line in lines if line.startswith(("L0.H0 s2←s1", "L1.H0 s0←s2"))]
    assert [row[:3] + row[-3:] for row in rows] == [
        ["L0.H0", "s2←s1", "1.00", "2", "of", "2"],
        ["L1.H0", "s0←s2", "1.00", "2", "of", "2"],
    ]


@pytest.mark.parametrize(
    ("line", "written"),
    [
        ("headway circuit RUN --all", "headway.every_circuit(model, task, found)"),
        ("headway circuit RUN --all --most 9", "headway.every_circuit(model, task, found, most=9)"),
        ("headway circuit RUN --ablation own", "headway.discover(model, task, ablation='own')"),
        ("headway theory RUN", None),
    ],
)
def test_lines_to_type_are_python_where_there_is_no_run(line, written):
    assert to_type(line) == written
    assert to_type(line, "runs/a") == line.replace("RUN", "runs/a")


def test_a_timeline_says_when_paths_were_born_and_hops_learnt(found, columns):
    known, discovery = found
    blank = compiled(1).model
    for weight in blank.parameters():
        weight.mul_(0.0)
    timeline = emergence({0: blank, 10: known.model, 20: known.model}, discovery, known.task)
    lines, text = said(timeline, columns)
    assert lines[0].split() == ["path", "attention", "half", "emerged", "knocked", "out", "needed"]
    assert [line[:11] for line in lines[1:3]] == ["L0.H0 s2←s1", "L1.H0 s0←s2"]
    assert all("█" in line for line in lines[1:3])
    assert "emerged: the step at which the attention along the path first passes 0.5" in text
    assert "hop" not in text
    alone = replace(timeline, hops={"x_1": 7.4})
    assert str(alone).endswith("no order of hops to compare")
    dated = replace(timeline, hops={"x_1": 7.4, "x_2": None}, in_chain_order=True)
    assert "partial loss below 0.5 at step: x_1 7 x_2 never" in said(dated, columns)[1]
    assert str(dated).endswith("some hops never learnt, the others in chain order")
    learnt = replace(timeline, hops={"x_1": 7.4, "x_2": 9.0}, in_chain_order=True)
    assert str(learnt).endswith("hops learnt in chain order")
