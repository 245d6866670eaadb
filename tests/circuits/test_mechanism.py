"""Mechanisms and circuits as data."""

import pytest

from headway.circuits import Circuit, Identity, Paths, Uniform
from headway.errors import HeadwayError


@pytest.fixture
def circuit() -> Circuit:
    return Circuit(
        {
            (1, 0): Paths(frozenset({"s0→s2", "s2→s4"})),
            (0, 0): Paths(frozenset({"s2→s1"})),
            (2, 0): Uniform(),
            (3, 0): Identity(),
        }
    )


def test_paths_are_listed_as_information_flows(circuit):
    assert circuit.paths == [(0, 0, "s2→s1"), (1, 0, "s0→s2"), (1, 0, "s2→s4")]
    assert circuit.useful_heads == [(0, 0), (1, 0)]
    assert circuit.useful_layers == [0, 1]


def test_json_round_trip(circuit):
    assert Circuit.from_json(circuit.to_json()) == circuit


def test_printing_names_every_head(circuit):
    assert str(circuit).splitlines() == [
        "layer 0 head 0: s2→s1",
        "layer 1 head 0: s0→s2  s2→s4",
        "layer 2 head 0: uniform",
        "layer 3 head 0: identity",
    ]


def test_cutting_a_path_cuts_only_it(circuit):
    cut = circuit.without((1, 0, "s2→s4"))
    assert cut.paths == [(0, 0, "s2→s1"), (1, 0, "s0→s2")]
    assert circuit.paths[-1] == (1, 0, "s2→s4")
    assert cut.without((0, 0, "s2→s1")).useful_heads == [(1, 0)]


@pytest.mark.parametrize("path", [(1, 0, "s0→s4"), (2, 0, "s0→s2")])
def test_cutting_what_is_not_there_is_refused(circuit, path):
    with pytest.raises(HeadwayError, match="has no path"):
        circuit.without(path)


@pytest.mark.parametrize(
    "entry",
    [
        {"layer": 0, "head": 0},
        {"layer": 0, "head": 0, "mechanism": "magic"},
        {"layer": 0, "head": 0, "mechanism": ["paths"]},
        {"layer": "0", "head": 0, "mechanism": "uniform"},
        {"layer": None, "head": 0, "mechanism": "uniform"},
        {"layer": 0, "head": True, "mechanism": "uniform"},
        {"layer": 0, "head": 0, "mechanism": "paths", "relations": "s2→s1"},
        {"layer": 0, "head": 0, "mechanism": "paths", "relations": [["s2→s1"]]},
        "paths",
    ],
)
def test_spoilt_json_is_refused(entry):
    with pytest.raises(HeadwayError, match="circuit"):
        Circuit.from_json([entry])


def test_a_head_given_twice_is_refused(circuit):
    with pytest.raises(HeadwayError, match="given only once"):
        Circuit.from_json([*circuit.to_json(), *circuit.to_json()[:1]])
