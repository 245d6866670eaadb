"""Mechanisms and circuits as data, and circuits side by side."""

import pytest

from headway.circuits import Circuit, Identity, Paths, Uniform, compare, jaccard
from headway.errors import HeadwayError
from headway.relations.paths import AttentionPath


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
    assert cut.paths == [AttentionPath.of(0, 0, "s2←s1"), AttentionPath.of(1, 0, "s0←s2")]
    assert circuit.paths[-1] == AttentionPath.of(1, 0, "s2←s4")
    assert cut.without(AttentionPath.of(0, 0, "s2←s1")).useful_heads == [(1, 0)]


@pytest.mark.parametrize("path", [AttentionPath.of(1, 0, "s0←s4"), AttentionPath.of(2, 0, "s0←s2")])
def test_cutting_what_is_not_there_is_refused(circuit, path):
    with pytest.raises(HeadwayError, match="has no path"):
        circuit.without(path)


@pytest.mark.parametrize(
    ("heads", "complaint"),
    [
        ({"L0.H0": "magic"}, "circuit: mechanism = 'magic' is not allowed: it must be uniform"),
        ({"L0.H0": None}, "circuit: mechanism = None"),
        ({"L0.H0": [["s2←s1"]]}, "circuit: mechanism"),
        ({"0.0": "uniform"}, "head = '0.0' is not allowed: it must be written as L1.H0"),
        ({"layer 0": "uniform"}, "head = 'layer 0'"),
        (["L0.H0"], "circuit = .* an object of heads"),
        ("paths", "circuit = 'paths'"),
    ],
)
def test_spoilt_json_is_refused(heads, complaint):
    with pytest.raises(HeadwayError, match=complaint):
        Circuit.from_json(heads)


def stacked(**by_layer) -> Circuit:
    layers = {int(name[1:]): frozenset(paths.split()) for name, paths in by_layer.items()}
    return Circuit({(i, 0): Paths(layers[i]) if i in layers else Uniform() for i in range(5)})


def test_what_circuits_share_whatever_the_layer():
    a = stacked(l0="s2←s1", l2="s0←s2")
    b = stacked(l1="s2←s1 s4←s3", l3="s0←s2", l4="s0←s2")
    both = compare([a, b])
    assert both.shared == ["s2←s1", "s0←s2"]
    assert list(both.heads) == ["s2←s1", "s4←s3", "s0←s2"]
    assert both.heads["s0←s2"] == [[(2, 0)], [(3, 0), (4, 0)]]
    assert both.first == [["s2←s1"], ["s2←s1", "s4←s3"]]
    assert both.likeness == pytest.approx(2 / 3)


def test_jaccard_of_collections():
    assert jaccard([], []) == 1
    assert jaccard([1, 2], [2, 3]) == pytest.approx(1 / 3)
