"""Heads, paths and losses as they are written."""

import math
import re
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer, PlainValidator

from headway.errors import HeadwayError, shown
from headway.relations.paths import AttentionPath

Head = tuple[int, int]
"""A head's layer and its number in the layer, both from 0."""


def name_of(head: Head) -> str:
    """A head as it is written: `L1.H0`."""
    layer, number = head
    return f"L{layer}.H{number}"


def head_of(text: object) -> Head:
    """The head that `name_of` wrote.

    Raises:
        HeadwayError: if it is none.
    """
    written = text if isinstance(text, str) else ""
    parts = re.fullmatch(r"L([0-9]{1,6})\.H([0-9]{1,6})", written)
    if parts is None:
        raise HeadwayError(
            f"head = {shown(text)} is not allowed: it must be written as L1.H0"
        )
    layer, number = parts.groups()
    return int(layer), int(number)


WrittenPath = Annotated[
    AttentionPath, PlainValidator(AttentionPath.parse), PlainSerializer(str)
]
"""A path that is saved as `L1.H0 s0←s2`."""

WrittenHead = Annotated[Head, PlainValidator(head_of), PlainSerializer(name_of)]
"""A head that is saved as `L1.H0`."""

INFINITE = {math.inf: "infinite", -math.inf: "minus infinite"}
"""Words for infinite numbers in JSON, which has none."""


def _number(written: Any) -> Any:
    """The number that a word of `INFINITE` stands for; all else as it is."""
    for number, word in INFINITE.items():
        if written == word:
            return number
    return written


WrittenLoss = Annotated[
    float,
    BeforeValidator(_number),
    PlainSerializer(lambda loss: INFINITE.get(loss, loss)),
]
"""A loss, or a number from losses, perhaps infinite (see `Targets.errors`)."""
