"""The depths that Inspect passes on, as command lines write them."""

import re
from collections.abc import Sequence
from typing import Any

from headway.errors import require

Depths = int | str | Sequence[Any] | None
"""A number, a list (also of strings), a range `1..5`, or none."""


def depths_of(d: Depths, default: int) -> list[int]:
    """The depths that are meant, each once, in their order.

    Raises:
        HeadwayError: if a part is no whole number and no range.
    """
    if d is None:
        return [default]
    parts = list(d) if isinstance(d, list | tuple) else [d]
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
