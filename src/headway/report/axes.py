"""The fields that a sweep varies."""

from collections.abc import Sequence
from dataclasses import dataclass

from headway.fields import natural, said, short_names
from headway.report.findings import Findings

SEED = "seed"
MACHINE = ("device", "threads")
"""Fields that say where a run is computed, not what it is."""


@dataclass(frozen=True)
class Axis:
    """A field that varies by itself.

    Attributes:
        field: its dotted name.
        name: the last part of it, or all if that is ambiguous.
        values: those that occur, as text, in order.
        along: the fields whose value follows from this one's.
    """

    field: str
    name: str
    values: list[str]
    along: list[str]

    def of(self, member: Findings) -> str:
        """A run's value, as text; a dash if its config does not have the field."""
        return _value(member, self.field)


def axes_of(members: Sequence[Findings]) -> list[Axis]:
    """The fields that vary, except those that follow from an earlier one.

    The task's fields come first, then the model's and those of training, and the seed.
    """
    leading: dict[str, list[str]] = {}
    for name in sorted(_varying(members), key=SEED.__eq__):
        followed = [other for other in leading if _follows(members, name, other)]
        if followed:
            leading[followed[0]].append(name)
        else:
            leading[name] = []
    short = short_names(list(leading))
    axes = list[Axis]()
    for name, along in leading.items():
        values = {_value(member, name) for member in members}
        axes.append(Axis(name, short[name], sorted(values, key=_rank), along))
    return axes


def _varying(members: Sequence[Findings]) -> list[str]:
    """The fields that do not have the same value in all runs; none that is of the
    machine.
    """
    names = dict.fromkeys(name for member in members for name in member.fields)
    varying = list[str]()
    for name in names:
        values = {said(member.fields.get(name)) for member in members}
        if len(values) > 1 and name not in MACHINE:
            varying.append(name)
    return varying


def _value(member: Findings, field: str) -> str:
    if field not in member.fields:
        return "—"
    return said(member.fields[field])


def _follows(members: Sequence[Findings], name: str, other: str) -> bool:
    """True if one field's value follows from another's, in these runs."""
    pairs = {(_value(member, other), _value(member, name)) for member in members}
    return len(pairs) == len(dict(pairs))


def _rank(value: str) -> tuple[bool, float, list[str]]:
    """Numbers by size, then words."""
    try:
        return False, float(value), []
    except ValueError:
        return True, 0.0, natural(value)
