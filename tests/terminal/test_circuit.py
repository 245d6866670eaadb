"""Circuits as text."""

import pytest

from headway.circuits import Circuit, Paths, Uniform
from headway.models import compiled
from headway.terminal import drawing


def test_a_line_a_path_from_what_is_attended_to_to_who_attends():
    circuit = Circuit({(0, 0): Paths(frozenset({"s2→s1"})), (1, 0): Paths(frozenset({"s0→s2"}))})
    assert drawing(circuit, ["s1", "s2", "s0"]) == [
        "head   s1  s2  s0",
        "1.0         ●───▶",
        "0.0     ●───▶",
    ]


def test_backwards_and_staying():
    circuit = Circuit({(0, 0): Paths(frozenset({"s1→s0", "s2→s2"})), (1, 0): Uniform()})
    lines = drawing(circuit, ["s1", "s2", "s0"])
    assert lines[1].strip().endswith("◀───────●")
    assert lines[2].strip() == "■"


@pytest.mark.parametrize("depth", [1, 3, 8])
def test_drawings_fit_the_screen(depth):
    known = compiled(depth)
    paths = sorted(known.required)
    circuit = Circuit(
        {
            (i, h): Paths(frozenset({r for x, y, r in paths if (x, y) == (i, h)}))
            for i, h, _ in paths
        }
    )
    lines = drawing(circuit, known.task.roles_in_order())
    assert max(map(len, lines)) <= 80
    assert len(lines) == 1 + len(paths)
