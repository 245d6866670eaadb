"""Attention paths and their relations: their names, written and read in one place."""

import re
from collections.abc import Iterable
from typing import NamedTuple, Self

from headway.errors import require

OTHERS = " (other chains)"
"""The end of the name of a relation in which a role attends to those of other
chains.
"""

NAME = re.compile(r"[^\x00-\x1f\x7f-\x9f\ud800-\udfff]{1,2000}")
"""Names that a relation may have: nothing that a terminal takes as a command."""


def require_name(name: str) -> None:
    """Makes sure that a relation can have a name.

    Raises:
        HeadwayError: if it cannot.
    """
    allowed = "1 to 2000 characters, none of them a control character"
    require(NAME.fullmatch(name) is not None, "relation", name, allowed)


class Relation(str):
    """The name of a relation. `s0←s2` reads "s0 reads s2": information flows from s2 to
    s0.
    """

    @classmethod
    def between(cls, query: str, key: str) -> Self:
        """The relation in which a role attends to another role of its own chain."""
        return cls(f"{query}←{key}")

    @property
    def ends(self) -> tuple[str, str] | None:
        """The role that attends and the role attended to; None if the name tells of no
        roles.
        """
        query, arrow, key = self.partition("←")
        return (query, key) if arrow and not key.endswith(OTHERS) else None


class AttentionPath(NamedTuple):
    """A head that attends along a relation: `L1.H0 s0←s2`.

    Attributes:
        layer: from 0.
        head: its number in the layer, from 0.
        relation: along which it attends.
    """

    layer: int
    head: int
    relation: Relation

    @classmethod
    def of(cls, layer: int, head: int, relation: str) -> Self:
        """The path along a relation that is given by its name."""
        return cls(layer, head, Relation(relation))

    @classmethod
    def parse(cls, text: object) -> Self:
        """The path that `str` wrote; where arrows are hard to type, `L1.H0 s0<-s2` will
        do.

        Raises:
            HeadwayError: if it is none.
        """
        match = re.fullmatch(r"L([0-9]{1,6})\.H([0-9]{1,6}) (.+)", str(text))
        require(
            isinstance(text, str) and bool(match),
            "path",
            text,
            "written as L1.H0 s0←s2",
        )
        assert match is not None
        relation = match[3].replace("<-", "←")
        require_name(relation)
        return cls.of(int(match[1]), int(match[2]), relation)

    @property
    def at(self) -> tuple[int, int]:
        """The head: its layer and its number."""
        return self.layer, self.head

    def __str__(self):
        return f"L{self.layer}.H{self.head} {self.relation}"


def ends_of(paths: Iterable[AttentionPath]) -> set[str]:
    """The roles at which paths end; "" is among them if one does not join roles."""
    ends = set[str]()
    for path in paths:
        ends |= {*(path.relation.ends or [""])}
    return ends
