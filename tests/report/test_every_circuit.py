"""The part of the page about all minimal circuits."""

import re
from dataclasses import replace

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


def test_minimal_circuits_of_the_flow_are_counted_where_nothing_stays_in_place():
    known = replace(found(2, None), flow_minimal=0)
    counted = "minimal circuits of the flow (headway theory --count), too: 0"
    assert counted in " ".join(str(known).split())
    stay = Path.parse("L0.H0 s1←s1")
    stays = replace(known, circuits=tuple((*circuit, stay) for circuit in known.circuits))
    assert "of the flow" not in str(stays)


def test_the_page_tells_what_was_not_judged():
    html = every_circuit(found(3, 2))
    assert "NOT complete: larger sets than those of 2 paths" in html
    html = every_circuit(found(0, 0))
    assert "none has 0 paths or fewer" in html
    assert "<table" not in html
    assert every_circuit(None) == ""
