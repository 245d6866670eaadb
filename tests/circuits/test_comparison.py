"""Circuits side by side."""

import pytest

from headway.circuits import Circuit, Paths, Uniform, compare, jaccard


def circuit(**by_layer) -> Circuit:
    layers = {int(name[1:]): frozenset(paths.split()) for name, paths in by_layer.items()}
    return Circuit({(i, 0): Paths(layers[i]) if i in layers else Uniform() for i in range(5)})


def test_what_circuits_share_whatever_the_layer():
    a = circuit(l0="s2←s1", l2="s0←s2")
    b = circuit(l1="s2←s1 s4←s3", l3="s0←s2", l4="s0←s2")
    both = compare([a, b])
    assert both.shared == ["s2←s1", "s0←s2"]
    assert list(both.heads) == ["s2←s1", "s4←s3", "s0←s2"]
    assert both.heads["s0←s2"] == [[(2, 0)], [(3, 0), (4, 0)]]
    assert both.first == [["s2←s1"], ["s2←s1", "s4←s3"]]
    assert both.likeness == pytest.approx(2 / 3)


def test_jaccard_of_collections():
    assert jaccard([], []) == 1
    assert jaccard([1, 2], [2, 3]) == pytest.approx(1 / 3)
