"""Mechanisms and circuits as data, and circuits side by side."""

from dataclasses import replace

import pytest

from headway import Circuit, discover, emergence
from headway.errors import HeadwayError
from headway.judge import verdicts
from headway.judge.text import likeness_table
from headway.relations.paths import AttentionPath
from headway.replace import Identity, Paths, Uniform, compare, jaccard
from headway_experiments.arena import compiled


@pytest.fixture
def circuit() -> Circuit:
    return Circuit(
        {
            (1, 0): Paths(frozenset({"s0←s2", "s2←s4"})),
            (0, 0): Paths(frozenset({"s2←s1"})),
            (2, 0): Uniform(),
            (3, 0): Identity(),
        }
    )


def test_paths_are_listed_as_information_flows(circuit):
    assert circuit.paths == [
        AttentionPath.of(0, 0, "s2←s1"),
        AttentionPath.of(1, 0, "s0←s2"),
        AttentionPath.of(1, 0, "s2←s4"),
    ]
    assert circuit.useful_heads == [(0, 0), (1, 0)]
    assert circuit.useful_layers == [0, 1]


def test_cutting_a_path_cuts_only_it(circuit):
    cut = circuit.without(AttentionPath.of(1, 0, "s2←s4"))
    assert cut.paths == [
        AttentionPath.of(0, 0, "s2←s1"),
        AttentionPath.of(1, 0, "s0←s2"),
    ]
    assert circuit.paths[-1] == AttentionPath.of(1, 0, "s2←s4")
    assert cut.without(AttentionPath.of(0, 0, "s2←s1")).useful_heads == [(1, 0)]
    assert cut.adding("L1.H0 s2←s4") == circuit
    assert cut.filled("own").adding("L1.H0 s2←s4") == circuit.filled("own")


@pytest.mark.parametrize(
    "path", [AttentionPath.of(1, 0, "s0←s4"), AttentionPath.of(2, 0, "s0←s2")]
)
def test_cutting_what_is_not_there_is_refused(circuit, path):
    with pytest.raises(HeadwayError, match="has no path"):
        circuit.without(path)


@pytest.mark.parametrize(
    ("heads", "complaint"),
    [
        (
            {"L0.H0": "magic"},
            "circuit: mechanism = 'magic' is not allowed: it must be uniform",
        ),
        ({"L0.H0": None}, "circuit: mechanism = None"),
        ({"L0.H0": [["s2←s1"]]}, "circuit: mechanism"),
        (
            {"0.0": "uniform"},
            "head = '0.0' is not allowed: it must be written as L1.H0",
        ),
        ({"layer 0": "uniform"}, "head = 'layer 0'"),
        (["L0.H0"], "circuit = .* an object of heads"),
        ("paths", "circuit = 'paths'"),
    ],
)
def test_spoilt_json_is_refused(heads, complaint):
    with pytest.raises(HeadwayError, match=complaint):
        Circuit.from_json(heads)


def stacked(**by_layer) -> Circuit:
    layers = {
        int(name[1:]): frozenset(paths.split()) for name, paths in by_layer.items()
    }
    return Circuit(
        {(i, 0): Paths(layers[i]) if i in layers else Uniform() for i in range(5)}
    )


def test_what_circuits_share_whatever_the_layer():
    a = stacked(l0="s2←s1", l2="s0←s2")
    b = stacked(l1="s2←s1 s4←s3", l3="s0←s2", l4="s0←s2")
    both = compare([a, b])
    assert both.shared == ["s2←s1", "s0←s2"]
    assert list(both.heads) == ["s2←s1", "s4←s3", "s0←s2"]
    assert both.heads["s0←s2"] == [[(2, 0)], [(3, 0), (4, 0)]]
    assert both.likeness == pytest.approx(2 / 3)


def test_jaccard_of_collections():
    assert jaccard([], []) == 1
    assert jaccard([1, 2], [2, 3]) == pytest.approx(1 / 3)


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
    assert lines[0].startswith("L0.H0: s2←s1: ")
    for one in verdicts(found[1]):
        word = {True: "yes", False: "NO", None: "?"}[one.holds]
        assert f"{one.name} {word} {one.because}" in text
        line = one.next and one.next.in_python()
        assert not line or f"next: {line}" in text
    (head,) = (line for line in lines if line.startswith("path "))
    assert head.split() == ["path", "attention", "exchanged", "cut", "again"]
    rows = [
        line.split()
        for line in lines
        if line.startswith(("L0.H0 s2←s1", "L1.H0 s0←s2"))
    ]
    assert [row[:3] + row[-3:] for row in rows] == [
        ["L0.H0", "s2←s1", "1.00", "2", "of", "2"],
        ["L1.H0", "s0←s2", "1.00", "2", "of", "2"],
    ]


@pytest.mark.parametrize("narrow", [60, 40])
def test_a_table_of_large_losses_fits_the_terminal(found, narrow, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(narrow))
    evidence = found[1].evidence
    ablated = replace(evidence.likeness.ablated, loss=12.3456, r2=-123.456)
    likeness = replace(evidence.likeness, ablated=ablated)
    lines = likeness_table(
        replace(found[1], evidence=replace(evidence, likeness=likeness))
    )
    assert max(map(len, lines)) <= narrow
    row = (
        f"ablated 12.3456 {ablated.agreement:.1%} "
        f"{ablated.sequence_agreement:.1%} -123.456"
    )
    assert row.replace("%", " %") in " ".join(" ".join(lines).split())
    whole_rows = [
        line for line in lines if line.startswith("ablated") and line.endswith("0.000")
    ]
    assert len(whole_rows) == (narrow == 60)


def test_a_timeline_says_when_paths_were_born_and_hops_learnt(found, columns):
    known, discovery = found
    blank = compiled(1).model
    for weight in blank.parameters():
        weight.mul_(0.0)
    timeline = emergence(
        {0: blank, 10: known.model, 20: known.model}, discovery, known.task
    )
    lines, text = said(timeline, columns)
    named = " ".join(lines[0].split())
    assert named == "path attention to half to 0.5 knocked out needed"
    assert [line[:11] for line in lines[1:3]] == ["L0.H0 s2←s1", "L1.H0 s0←s2"]
    assert all("█" in line for line in lines[1:3])
    assert (
        "has half of its final value, and passes 0.5; never, if it always stays below"
        in text
    )
    assert "hop" not in text
    dated = replace(timeline, hops={"x_1": 7.4, "x_2": None})
    assert "partial loss below 0.5 at step: x_1 7 x_2 never" in said(dated, columns)[1]
