"""Findings are held against the model, the task and the circuit that they say they are
about.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from headway.dynamics.whole import faults_of
from headway.errors import HeadwayError
from headway.find import discover, every_circuit
from headway.judge import verdicts
from headway.report import Findings
from headway.training import Run
from headway.training.files import read_json, write_json

GOLDEN = Path(__file__).parents[1] / "golden" / "run"


@pytest.fixture
def copy(tmp_path) -> Path:
    return shutil.copytree(GOLDEN, tmp_path / "run")


def changed(data, way, value):
    """Data with another value at the end of a way of keys."""
    if not way:
        return value(data) if callable(value) else value
    key, *rest = way
    copy = data.copy()
    copy[key] = changed(data[key], rest, value)
    return copy


def with_a_head_more(mechanisms):
    return {**mechanisms, "L3.H2": "uniform"}


FAR = "L5.H0 s2←s1"


@pytest.mark.parametrize(
    ("name", "way", "value", "told"),
    [
        ("circuit.json", ["circuit"], with_a_head_more, "with L3.H2"),
        (
            "circuit.json",
            ["attention"],
            lambda all: {k: [[0.1, 0.2]] for k in all},
            "another model",
        ),
        (
            "circuit.json",
            ["evidence", "sequences"],
            10**12,
            "less than or equal to 1000000",
        ),
        ("circuit.json", ["evidence", "drawn"], 0, "greater than or equal to 1"),
        (
            "circuit.json",
            ["evidence", "alone"],
            {"L0.H0": 0.1, "L0.H7": 0.1},
            "with L0.H7",
        ),
        ("circuits.json", ["idle"], with_a_head_more, "with L3.H2"),
        ("circuits.json", ["candidates"], [FAR], "with L5.H0"),
        ("circuits.json", ["circuits"], [[FAR]], "with L5.H0"),
        ("circuits.json", ["sequences"], 10**12, "less than or equal to 1000000"),
        ("emergence.json", ["paths", 0, "path"], FAR, "with L5.H0"),
        ("emergence.json", ["sequences"], 10**12, "less than or equal to 1000000"),
        (
            "emergence.json",
            ["steps", -1],
            10**6,
            "must be at most 4, the last of the run",
        ),
        ("emergence.json", ["hops"], {"x_7": 3.0}, "hops are of another task's"),
        ("emergence.json", ["paths", 0, "emerged"], 1e300, "emerged"),
        ("dependence.json", ["sequences"], 0, "greater than or equal to 1"),
        ("certificate.json", ["circuit"], with_a_head_more, "with L3.H2"),
        ("certificate.json", ["step"], 10**6, "must be at most 4, the last of the run"),
    ],
)
def test_a_finding_of_another_model_is_told_and_shown_nowhere(
    copy, name, way, value, told
):
    assert faults_of(copy) == []
    write_json(copy / name, changed(read_json(copy / name), way, value))
    faults = faults_of(copy)
    assert any(name in fault and told in fault for fault in faults), faults
    with pytest.raises(HeadwayError, match=f"^[^\\n]*{name}[^\\n]*$"):
        Findings.of(Run.open(copy))


UNKNOWN = [("circuits.json", ["candidates"]), ("circuits.json", ["discovered"])]


@pytest.mark.parametrize(("name", "way"), UNKNOWN)
@pytest.mark.parametrize("relation", ["s9←s8", "behind the moon"])
def test_a_relation_that_the_task_does_not_have_is_told(copy, name, way, relation):
    write_json(copy / name, changed(read_json(copy / name), way, [f"L0.H0 {relation}"]))
    told = f"{copy}: {name}: L0.H0 {relation} is along no relation of the run's task"
    assert told in faults_of(copy)


HOW = {"threshold": 10.0, "sequences": 8, "trials": False}
ELSEWHERE = (
    f"from headway.find import discover; import sys; discover(sys.argv[1], **{HOW!r})"
)


def test_a_circuit_is_the_same_bytes_each_time(copy):
    written = []
    for _ in range(2):
        discover(copy, **HOW)
        written.append((copy / "circuit.json").read_bytes())
    assert written[0] == written[1]
    assert {"verdicts", "seconds", "unique"}.isdisjoint(
        read_json(copy / "circuit.json")
    )


@pytest.mark.slow
def test_a_circuit_is_the_same_bytes_in_each_process(copy):
    written = []
    for seed in "17":
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        subprocess.run(
            [sys.executable, "-c", ELSEWHERE, copy], env=environment, check=True
        )
        written.append((copy / "circuit.json").read_bytes())
        (copy / "circuit.json").unlink()
    discover(copy, **HOW)
    assert written == [(copy / "circuit.json").read_bytes()] * 2


def test_verdicts_know_what_was_found_later(copy):
    """No verdict is kept from before all circuits were judged."""
    found = discover(copy, **HOW)
    every = every_circuit(copy, sequences=8, most=50)
    again = Findings.of(Run.open(copy))
    assert again.discovery is not None
    assert again.discovery == found
    assert again.circuits == every
    assert verdicts(again.discovery) == verdicts(found)
    assert (found.seconds is None) is False
    assert again.discovery.seconds is None
    before = (copy / "circuits.json").read_bytes()
    every_circuit(copy, sequences=8, most=50)
    assert (copy / "circuits.json").read_bytes() == before
