from dataclasses import replace

import pytest
from tiny_runs import certified

from headway.circuits import (
    ABLATIONS,
    Circuit,
    Discovery,
    Necessity,
    Pair,
    Trial,
    Uniform,
    saved_discovery,
)
from headway.circuits.verdicts import held, reasons
from headway.report.findings import Findings
from headway.report.run import verdicts


@pytest.fixture
def found(finished) -> Discovery:
    """A circuit of three paths that passes: each of them costs 1 to lose, the whole 0.03."""
    given = saved_discovery(finished)
    return certified(
        replace(given, threshold=0.05),
        intact={"x_1": 0.01},
        replaced={"x_1": 0.03},
        interval=(0.02, 0.04),
        intact_interval=(0.005, 0.02),
        variants=dict.fromkeys(ABLATIONS, 0.03),
        necessity=[Necessity(path, 0.9, 1.0, 1.5, 0.7) for path in given.circuit.paths],
        droppable=[],
        pairs=3,
        backups=[],
        trials=[Trial("stability 1", 0.05, given.circuit.paths, 1.0)],
        infeasible=[],
        minimum=2,
    )


def lost(loss, free):
    """Changes by which the first path of the circuit can be spared, or not."""
    return lambda paths: {"necessity": [Necessity(paths[0], 0.9, loss, free, 0.7)]}


OPEN = {"faithful": False, "necessary": None, "minimal": None}


@pytest.mark.parametrize(
    ("changes", "fails", "reason"),
    [
        (lambda paths: {}, {}, ""),
        (lambda paths: {"replaced": {"x_1": 0.05}}, OPEN, "not below the threshold 0.05"),
        (lambda paths: {"interval": (0.02, 0.06)}, {}, "could change the verdict"),
        (lost(0.04, 0.045), {"necessary": False, "minimal": False}, "stays below 0.05 without"),
        (lost(0.04, 0.9), {}, "needed by the heads above only"),
        (lambda paths: {"droppable": [Pair(*paths[1:], 0.0412)]}, {"minimal": False}, "0.0412"),
        (lambda paths: {"trials": [Trial("s", 0.05, paths, 0.9)]}, {"stable": False}, ""),
        (lambda paths: {"trials": [Trial("s", 0.04, paths, 0.5)]}, {"stable": None}, ""),
        (lambda paths: {"infeasible": paths[-1:]}, {"feasible": False}, "Information cannot flow"),
        (lambda paths: {"infeasible": None, "minimum": None}, {"feasible": None}, "not known"),
        (lambda paths: {"minimum": 4}, {}, "2 layers below it"),
    ],
)
def test_what_fails_is_named_and_so_is_why(found, finished, changes, fails, reason):
    changed = certified(found, **changes(found.circuit.paths))
    names = ("faithful", "necessary", "minimal", "stable", "feasible")
    assert held(changed) == {**dict.fromkeys(names, True), **fails}
    assert reason in " ".join(word for why in reasons(changed).values() for word in why)
    data = verdicts(replace(Findings.of(finished), discovery=changed))
    assert {one.name: one.holds for one in data} == held(changed)
    assert reason in " ".join(one.because for one in data)
    assert any(one.next for one in data) == ("faithful" in fails)


def test_without_paths_there_is_nothing_to_drop(found):
    heads = dict.fromkeys(found.circuit.mechanisms, Uniform())
    empty = certified(replace(found, circuit=Circuit(heads)), necessity=[], pairs=0)
    assert {name for name, holds in held(empty).items() if holds is None} == {
        *("necessary", "minimal", "feasible"),
    }
