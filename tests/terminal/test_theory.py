"""`headway theory` as a user reads it."""

import shutil

import pytest

from commands import refused
from headway.find import discover
from headway.terminal.cli import main
from headway.theory import minimum_layers
from headway.training.files import read_json, write_json


@pytest.fixture
def shown(capsys, tmp_path):
    """The lines that a command prints; never wider than a terminal, but for long
    paths.
    """

    def run(*args: str) -> list[str]:
        main(list(args))
        lines = capsys.readouterr().out.splitlines()
        assert max(len(line.replace(str(tmp_path), "…")) for line in lines) <= 80
        return lines

    return run


def row(lines: list[str], start: str) -> list[str]:
    return next(line.split() for line in lines if line.split()[:1] == [start])


def test_the_bounds_of_a_range(shown):
    lines = shown("theory", "--depth", "1..64")
    assert row(lines, "1") == ["1", "2", "2", "2", "1"]
    assert row(lines, "8") == ["8", "…", "13", "5", "5", "4", "3"]
    assert row(lines, "64") == ["64", "8", "8", "6", "5"]
    lines = shown("theory", "--depth", "2,13", "--mask", "none")
    assert row(lines, "2") == ["2", "2", "2", "3", "2"]
    assert row(lines, "13") == ["13", "4", "4", "5", "3"]


def test_a_depth_beyond_simulation_has_its_formulas(shown):
    beyond = row(shown("theory", "--depth", "1000000000"), "1000000000")
    assert beyond[1:] == ["–", "31", "21", "20"]


def test_how_many_circuits_there_are(shown):
    lines = shown("theory", "--depth", "1..8", "--count")
    assert row(lines, "4") == ["4", "4", "8", "912"]
    assert row(lines, "8") == ["8", "5", "16", "5,278,912"]
    assert lines == shown("theory", "--count")
    assert row(shown("theory", "--depth", "64", "--count"), "64")[-1] == "1.935e+61"
    for words, said in {
        ("--mask", "none"): "--mask does not go with --count",
        ("--depth", "0"): "depth = 0 is not allowed",
    }.items():
        assert said in refused("theory", "--count", *words)


def test_who_holds_what_and_a_circuit(shown):
    lines = shown("theory", "--depth", "3")
    assert "retrieval, D = 3, causal mask: at least 3 layers" in lines[0]
    assert row(lines, "layers") == ["layers", "s5", "s6", "s3", "s4", "s1", "s2", "s0"]
    assert row(lines, "3") == ["3", "2", "2–3", "1", "1–3", "0", "0–3", "0–3"]
    assert "A circuit with 3 layers, 3 heads, 6 paths" in lines
    assert "No circuit has fewer paths, in any number of layers." in lines


def test_a_circuit_of_some_facts_is_listed(shown):
    lines = shown("theory", "--facts", "wzv", "xyz", "aw", "ay", "ax", "--goal", "v")
    assert "at least 4 layers" in lines[0]
    assert any(line.split() == ["L3.H0", "a←wzv.v"] for line in lines)


def test_the_conditional_problem(shown):
    lines = shown("theory", "--facts", "xyz", "ay", "ax", "--mask", "none")
    assert "at least 3 layers" in lines[0]
    assert any(
        "the two assumptions have it, the least would be 2" in line for line in lines
    )


def test_any_order_of_the_pairs(shown):
    lines = shown("theory", "--depth", "4", "--order", "2,1,4,3")
    assert row(lines, "layers")[1:4] == ["s3", "s4", "s1"]
    orders = [
        shown("theory", "--depth", "4", "--order", o)[0] for o in ("2,4,1,3", "4,3,2,1")
    ]
    assert [int(title.split()[-2]) for title in orders] == [
        minimum_layers(4, order=[2, 4, 1, 3]),
        4,
    ]


@pytest.fixture(scope="module")
def taken_apart(solved, tmp_path_factory):
    """A folder of a run whose circuit was found."""
    folder = tmp_path_factory.mktemp("theory") / "run"
    shutil.copytree(solved.folder, folder)
    discover(type(solved).open(folder), trials=False, sequences=32)
    return folder


def test_what_a_learnt_circuit_brings(shown, taken_apart):
    lines = shown("theory", str(taken_apart))
    assert row(lines, "0") == ["0", "0", "1", "0"]
    assert row(lines, "3")[-1] == "0–1"
    assert any("2 are the least" in line for line in lines)
    assert any(line.startswith("Every path finds its key") for line in lines)


def test_a_path_that_brings_nothing_to_the_query_breaks_the_flow(
    shown, taken_apart, tmp_path
):
    folder = shutil.copytree(taken_apart, tmp_path / "run")
    circuit = read_json(folder / "circuit.json")
    circuit["circuit"]["L0.H0"] = ["s0←s2"]
    evidence = circuit["evidence"]
    for necessity in evidence["necessity"]:
        if necessity["path"].startswith("L0.H0"):
            necessity["path"] = "L0.H0 s0←s2"
    judged = evidence["judgement"]["paths"]
    judged["L0.H0 s0←s2"] = judged.pop("L0.H0 s2←s1")
    write_json(folder / "circuit.json", circuit)
    lines = shown("theory", str(folder))
    assert any(line.startswith("The circuit breaks the flow") for line in lines)
    assert any(line.split() == ["L0.H0", "s0←s2"] for line in lines)
