"""The questions of an evaluation as samples of Inspect AI."""

import re
from collections.abc import Sequence
from typing import Any

from inspect_ai.dataset import MemoryDataset, Sample

from headway.errors import require
from headway.language.formulations import formulation
from headway.language.sampling import questions

Depths = int | str | Sequence[Any] | None
"""As `-T d=…` gives them: a number, a list (also of strings), a range `1..5`, or none."""


def samples(name: str, d: Depths, n: int, chains: int, seed: int) -> MemoryDataset:
    """So many questions of every depth.

    What is right is the target; `metadata` has `depth`, `chains`, the `acceptable` answers and, if
    these are fewer, those `nearer` to what is asked about. Identifiers say depth and number.

    Args:
        name: of the formulation.
        d: depths; none means that of the paper's example.
        n: questions of every depth.
        chains: that are interleaved.
        seed: of all of them.

    Raises:
        HeadwayError: if there is no such formulation, its names run out, or a value is none.
    """
    for field, value in (("n", n), ("chains", chains), ("seed", seed)):
        require(type(value) is int, field, value, "a whole number")
    wanted = depths_of(d, formulation(name).default_depth)
    asked = [list(enumerate(questions(name, depth, chains, n, seed))) for depth in wanted]
    told = [
        Sample(
            input=question.prompt,
            target=question.correct,
            id=f"D{question.depth}-{number}",
            metadata={
                "depth": question.depth,
                "chains": question.chains,
                "acceptable": list(question.acceptable),
                "nearer": list(question.nearer),
            },
        )
        for cell in asked
        for number, question in cell
    ]
    return MemoryDataset(told, name=name)


def depths_of(d: Depths, default: int) -> list[int]:
    """The depths that are meant, each once, in their order.

    Raises:
        HeadwayError: if a part is no whole number and no range.
    """
    if d is None:
        return [default]
    parts = [d] if isinstance(d, int | str) else list(d)
    found: list[int] = []
    for part in parts:
        ends = re.fullmatch(r"\s*([0-9]{1,3})(?:\.\.([0-9]{1,3}))?\s*", str(part))
        allowed = "a depth (3), a list (1,2,3) or a range from low to high (1..5)"
        require(ends is not None and type(part) is not bool, "d", part, allowed)
        assert ends is not None
        first, last = int(ends[1]), int(ends[2] or ends[1])
        require(first <= last, "d", part, allowed)
        found += range(first, last + 1)
    require(len(found) >= 1, "d", d, "at least one depth")
    return list(dict.fromkeys(found))
