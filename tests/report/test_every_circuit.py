"""The part of the page about all minimal circuits."""

import re

from headway.circuits import Circuit, MinimalCircuits, Path, Uniform
from headway.report.page.every import every_circuit


def paths(*names):
    return tuple(map(Path.parse, names))


def found(count, searched):
    core = paths("L1.H0 s0←s2")
    circuits = tuple((*core, Path.of(0, 0, f"s2←s{3 + i}")) for i in range(count))
    candidates = tuple(sorted({path for circuit in circuits for path in circuit} | set(core)))
    return MinimalCircuits(
        threshold=0.05,
        free_above=False,
        sequences=64,
        candidates=candidates,
        idle=Circuit({(0, 0): Uniform()}),
        circuits=circuits,
        losses=(0.0125,) * count,
        judged=77,
        searched=len(candidates) if searched is None else searched,
        discovered=core,
        flow_minimal=None,
        seconds=1.5,
    )


def test_the_page_tells_of_every_circuit():
    html = every_circuit(found(12, None))
    text = re.sub(r"<[^>]+>", " ", html)
    assert "12 minimal circuits among 13 candidate paths" in text
    assert "77 sets of paths, 64 sequences" in text
    assert html.count("<tr>") == 11
    assert "And 2 more" in text
    assert "In all of them" in text
    assert "NOT complete" not in text
