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
from known_circuits import along


@pytest.fixture
def circuit() -> Circuit:
    mechanisms = {(1, 0): along("s0←s2", "s2←s4"), (0, 0): along("s2←s1")}
    return Circuit({**mechanisms, (2, 0): Uniform(), (3, 0): Identity()})


LOWER = AttentionPath.of(0, 0, "s2←s1")
TO_QUERY = AttentionPath.of(1, 0, "s0←s2")
TO_MIDDLE = AttentionPath.of(1, 0, "s2←s4")


def test_paths_are_listed_as_information_flows(circuit):
    assert circuit.paths == [LOWER, TO_QUERY, TO_MIDDLE]
    assert circuit.useful_heads == [(0, 0), (1, 0)]
    assert circuit.useful_layers == [0, 1]


def test_cutting_a_path_cuts_only_it(circuit):
    cut = circuit.without(TO_MIDDLE)
    assert cut.paths == [LOWER, TO_QUERY]
    assert circuit.paths == [LOWER, TO_QUERY, TO_MIDDLE]
    assert cut.without(LOWER).useful_heads == [(1, 0)]
    assert cut.adding("L1.H0 s2←s4") == circuit


def test_a_path_is_added_to_rows_as_they_are_filled(circuit):
    cut = circuit.without(TO_MIDDLE).filled("own")
    assert cut.adding("L1.H0 s2←s4") == circuit.filled("own")


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


def stacked(by_layer: dict[int, str]) -> Circuit:
    """A circuit of one head a layer, of which some have paths."""
    circuit = Circuit({(layer, 0): Uniform() for layer in range(5)})
    for layer, relations in by_layer.items():
        circuit = circuit.replacing((layer, 0), along(*relations.split()))
    return circuit


def test_what_circuits_share_whatever_the_layer():
    first = stacked({0: "s2←s1", 2: "s0←s2"})
    second = stacked({1: "s2←s1 s4←s3", 3: "s0←s2", 4: "s0←s2"})
    both = compare([first, second])
    assert both.shared == ["s2←s1", "s0←s2"]
    assert list(both.heads) == ["s2←s1", "s4←s3", "s0←s2"]
    in_first, in_second = both.heads["s0←s2"]
    assert in_first == [(2, 0)]
    assert in_second == [(3, 0), (4, 0)]
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
def known():
    return compiled(1)


@pytest.fixture(scope="module")
def found(known):
    return discover(known.model, known.task, sequences=16)


def lines_of(shown, columns):
    lines = str(shown).splitlines()
    assert max(map(len, lines)) <= columns
    return lines


def in_words(lines):
    """What lines say, however they are broken and aligned."""
    return " ".join(" ".join(lines).split())


WORD = {True: "yes", False: "NO", None: "?"}


def test_a_discovery_shows_its_circuit_and_its_verdicts(found, columns):
    lines = lines_of(found, columns)
    assert lines[0].startswith("L0.H0: s2←s1: ")
    text = in_words(lines)
    for verdict in verdicts(found):
        word = WORD[verdict.holds]
        assert f"{verdict.name} {word} {verdict.because}" in text
        if verdict.next:
            assert f"next: {verdict.next.in_python()}" in text


def test_a_discovery_shows_its_paths(found, columns):
    lines = lines_of(found, columns)
    (head,) = (line for line in lines if line.startswith("path "))
    assert head.split() == ["path", "attention", "exchanged", "cut", "again"]
    for path in ("L0.H0 s2←s1", "L1.H0 s0←s2"):
        (row,) = (line for line in lines if line.startswith(path))
        assert " ".join(row.split()).startswith(f"{path} 1.00 ")
        assert row.split()[-3:] == ["2", "of", "2"]


@pytest.mark.parametrize(("narrow", "is_whole"), [(60, True), (40, False)])
def test_a_table_of_large_losses_fits_the_terminal(
    found, narrow, is_whole, monkeypatch
):
    monkeypatch.setenv("COLUMNS", str(narrow))
    evidence = found.evidence
    ablated = replace(evidence.likeness.ablated, loss=12.3456, r2=-123.456)
    likeness = replace(evidence.likeness, ablated=ablated)
    evidence = replace(evidence, likeness=likeness)
    lines = likeness_table(replace(found, evidence=evidence))
    assert max(map(len, lines)) <= narrow
    answers = f"{ablated.agreement:.1%} {ablated.sequence_agreement:.1%}"
    answers = answers.replace("%", " %")
    assert f"ablated 12.3 {answers} -123.456" in in_words(lines)
    (row,) = (line for line in lines if line.startswith("ablated"))
    assert row.endswith("0.000") == is_whole


@pytest.fixture(scope="module")
def timeline(known, found):
    """Of a model that does nothing at first."""
    blank = compiled(1).model
    for weight in blank.parameters():
        weight.mul_(0.0)
    models = {0: blank, 10: known.model, 20: known.model}
    return emergence(models, found, known.task)


def test_a_timeline_says_when_paths_were_born(timeline, columns):
    lines = lines_of(timeline, columns)
    head, lower, upper, *_ = lines
    named = " ".join(head.split())
    assert named == "path attention to half to 0.5 knocked out needed"
    assert lower.startswith("L0.H0 s2←s1")
    assert upper.startswith("L1.H0 s0←s2")
    assert "█" in lower
    assert "█" in upper
    text = in_words(lines)
    note = (
        "has half of its final value, and passes 0.5; never, if it always stays below"
    )
    assert note in text
    assert "hop" not in text


def test_a_timeline_says_when_hops_were_learnt(timeline, columns):
    dated = replace(timeline, hops={"x_1": 7.4, "x_2": None})
    text = in_words(lines_of(dated, columns))
    assert "partial loss below 0.5 at step: x_1 7 x_2 never" in text


def test_a_circuit_keeps_the_fills_that_its_heads_name(circuit):
    named = Paths(frozenset(["s0←s2"]), "uniform")
    circuit = circuit.replacing((1, 0), named)
    written = circuit.to_json()
    assert written["L1.H0"] == {"relations": ["s0←s2"], "rows": "uniform"}
    assert Circuit.from_json(written) == circuit
    assert circuit.filled("mean").mechanisms[1, 0] == named
    assert circuit.filled("mean").mechanisms[0, 0].rows == "mean"


@pytest.mark.parametrize(
    ("entry", "allowed"),
    [
        ({"relations": "zero", "rows": "mean"}, "a list of relations"),
        ({"relations": ["s0←s2"], "rows": "nearest"}, "one of zero"),
        ({"relations": ["s0←s2"]}, "an object of relations and rows"),
    ],
)
def test_a_fill_that_cannot_be_read_is_refused(entry, allowed):
    with pytest.raises(HeadwayError, match=f"must be .*{allowed}"):
        Circuit.from_json({"L0.H0": entry})


def test_an_estimated_fill_is_known_by_its_kind(circuit):
    def is_estimated(circuit, rows):
        return any(used.is_estimated for used in circuit.with_fills(rows))

    assert is_estimated(circuit, "mean")
    assert not is_estimated(circuit, "uniform")
    named = circuit.replacing((1, 0), Paths(frozenset(["s0←s2"]), "mean"))
    assert is_estimated(named, "zero")
