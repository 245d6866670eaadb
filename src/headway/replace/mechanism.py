"""Mechanisms: what a head does, as data, and the attention pattern that it then has.

A circuit gives every head a mechanism. Of a head that has paths a mechanism may also be
the *fill* of rows without one (`ABLATIONS`).

A mechanism of your own derives from `Mechanism` and has a `kind`; if it has fields, it
is a frozen dataclass:

    from headway.replace import Mechanism

    class First(Mechanism):
        '''The head attends to the first position.'''

        kind = "first"

        def pattern(self, patterns, head):
            rows = patterns.zeros()
            rows[..., 0] = 1
            return rows

With `fills = "attend to the first position"` it may also fill rows without a path.

An installed package offers it under its kind, by an entry point of the group
`headway.mechanisms`.
"""

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import torch
from jaxtyping import Float
from torch import Tensor

from headway.errors import HeadwayError, require, shown
from headway.relations.paths import require_name
from headway.relations.tables import Tables
from headway.replace.heads import Head
from headway.tasks.registry import Offered

if TYPE_CHECKING:
    from headway.replace.patterns import Patterns

Rows = Float[Tensor, "sequence query key"]

MECHANISMS: "Offered[type[Mechanism]]" = Offered("headway.mechanisms", "mechanism", {})
"""Every mechanism that has no arguments, by its kind."""

ABLATIONS = {"zero": "one-hot paths; rows without a path are zero"}
"""The fills of rows without a path, of a head that has paths, by name. (Of a head that
has no path all rows are zero.)"""


@dataclass(frozen=True)
class Mechanism:
    """A pattern that stands in place of a head's own attention.

    Attributes:
        kind: the name by which a circuit's file calls it; none if it takes arguments.
        fills: completes "rows without a path …"; empty if it cannot be a fill.
        is_by_place: True if rows that it fills are said to attend by place alone, and
            are judged so (`judge.swaps`). A head without a path is if its mechanism is
            `Mean`.
        is_of_others: True if its pattern is that of other sequences of the sample
            (`Patterns.own`); where sequences must be independent these are drawn apart.
        is_estimated: True if its pattern is estimated from sequences
            (`Patterns.means`, `Patterns.tables`); a certificate then estimates it from
            others than it is given for.
    """

    kind: ClassVar[str] = ""
    fills: ClassVar[str] = ""
    is_by_place: ClassVar[bool] = False
    is_of_others: ClassVar[bool] = False
    is_estimated: ClassVar[bool] = False

    def __init_subclass__(cls):
        if cls.kind:
            MECHANISMS.known[cls.kind] = cls
        if cls.fills:
            ABLATIONS[cls.kind] = f"one-hot paths; rows without a path {cls.fills}"

    @property
    def is_useful(self) -> bool:
        """True if the head moves something between positions, as its circuit says."""
        return False

    @property
    def told_by(self) -> Hashable:
        """The key of its pattern: all that decides it."""
        return self

    def needs_own(self, patterns: "Patterns") -> bool:
        """True if its pattern depends on what the head attends to in the same pass."""
        return False

    def prepare(self, patterns: "Patterns") -> None:
        """Calls the model for what the pattern needs of other passes."""

    def pattern(self, patterns: "Patterns", head: Head) -> Rows:
        """The pattern, if it does not depend on the head's own in the same pass."""
        raise NotImplementedError

    def edit(self, patterns: "Patterns", own: Rows, start: int, part: slice) -> Rows:
        """The pattern, if it depends on the head's own (see `Patterns.edit`)."""
        raise NotImplementedError

    def to_json(self) -> str | list[str] | dict[str, Any]:
        """The mechanism in a circuit's file."""
        return str(self)

    def __str__(self):
        return self.kind


class Uniform(Mechanism):
    """The head attends equally to every position it may see: it does nothing of use."""

    kind = "uniform"
    fills = "are uniform"
    is_by_place = True

    def pattern(self, patterns: "Patterns", head: Head) -> Rows:
        """Every visible key of a row alike."""
        layer, _ = head
        visible = patterns.visible[layer].to(patterns.dtype)
        count = visible.sum(-1, keepdim=True).clamp(min=1)
        return (visible / count).expand(patterns.shape)


class Unchanged(Mechanism):
    """The head attends as it does."""

    kind = "own"
    fills = "keep the head's own attention"

    def needs_own(self, patterns: "Patterns") -> bool:
        """It is nothing else."""
        return True

    def edit(self, patterns: "Patterns", own: Rows, start: int, part: slice) -> Rows:
        """The head's own rows."""
        return own


class Mean(Mechanism):
    """The head attends as it does on average over sequences."""

    kind = "mean"
    fills = "are the head's mean pattern"
    is_by_place = True
    is_estimated = True

    def prepare(self, patterns: "Patterns") -> None:
        """Averages over sequences."""
        _ = patterns.means

    def pattern(self, patterns: "Patterns", head: Head) -> Rows:
        """Mean rows, alike in every sequence."""
        return patterns.means[head].expand(patterns.shape)


class Resample(Mechanism):
    """The head attends as it does in another sequence."""

    kind = "resample"
    fills = "are the head's own in another sequence"
    is_of_others = True

    def prepare(self, patterns: "Patterns") -> None:
        """Records the model as it is."""
        _ = patterns.own

    def pattern(self, patterns: "Patterns", head: Head) -> Rows:
        """The rows of the sequence before."""
        return patterns.own[:, *head].roll(1, 0)


class Corrupted(Mechanism):
    """The head attends as it does in the corrupted sequence (`Batch.corrupted`)."""

    kind = "corrupted"
    fills = "are the head's own in the corrupted sequence"

    def prepare(self, patterns: "Patterns") -> None:
        """Records the model on corrupted sequences."""
        _ = patterns.corrupted

    def pattern(self, patterns: "Patterns", head: Head) -> Rows:
        """The rows of the corrupted sequence."""
        return patterns.corrupted[:, *head]


class Exchanged(Mechanism):
    """The head carries all that it carries in the corrupted sequence: attention and
    values.

    It is no pattern: `ExchangedBench` measures it.
    """

    kind = "exchanged"
    fills = "carry what they carry in the corrupted sequence"

    def prepare(self, patterns: "Patterns") -> None:
        """Refuses benches that replace patterns alone.

        Raises:
            HeadwayError: if values are not exchanged.
        """
        require(
            patterns.rows == self.kind,
            "ablation",
            patterns.rows,
            "exchanged, where a circuit has heads that are",
        )


OF_CORRUPTED = (Corrupted.kind, Exchanged.kind)
"""The fills that are taken from corrupted sequences; models are large then."""


class Identity(Mechanism):
    """Every position attends to itself: the head moves nothing between positions."""

    kind = "identity"

    def pattern(self, patterns: "Patterns", head: Head) -> Rows:
        """Ones on the diagonal."""
        visible = patterns.visible[0]
        diagonal = torch.eye(
            *visible.shape, dtype=patterns.dtype, device=visible.device
        )
        return diagonal.expand(patterns.shape)


@dataclass(frozen=True)
class Tabled(Mechanism):
    """The head attends as tables of tokens and places say, without a relation.

    Attributes:
        tables: fitted to the model's attention; by default to that in the sequences at
            hand.
    """

    kind = "by table"
    is_estimated = True

    tables: Tables | None = field(default=None, compare=False, repr=False)

    @property
    def is_useful(self) -> bool:
        """Its tables tell what it moves."""
        return True

    @property
    def told_by(self) -> Hashable:
        """Its tables."""
        return self.tables

    def prepare(self, patterns: "Patterns") -> None:
        """Evaluates the tables."""
        patterns.by_table(self.tables)

    def pattern(self, patterns: "Patterns", head: Head) -> Rows:
        """The rows that the tables give in these sequences."""
        return patterns.by_table(self.tables)[:, *head]


@dataclass(frozen=True)
class Paths(Mechanism):
    """The head attends along these relations and nowhere else.

    A position's row is one-hot at the position its relation points to, or shared evenly
    by several.

    Attributes:
        relations: by name.
        rows: what stands in rows without a relation (`ABLATIONS`); by default what the
            ablation says.
    """

    relations: frozenset[str]
    rows: str | None = None

    @property
    def is_useful(self) -> bool:
        """It has a path."""
        return bool(self.relations)

    def fill(self, patterns: "Patterns") -> Mechanism | None:
        """The fill of rows without a path; None stands for zeros."""
        name = (self.rows or patterns.rows) if self.relations else "zero"
        return None if name == "zero" else fill_named(name)

    def needs_own(self, patterns: "Patterns") -> bool:
        """Its fill does."""
        fill = self.fill(patterns)
        return fill is not None and fill.needs_own(patterns)

    def prepare(self, patterns: "Patterns") -> None:
        """Prepares its fill."""
        fill = self.fill(patterns)
        if fill is not None:
            fill.prepare(patterns)

    def pattern(self, patterns: "Patterns", head: Head) -> Rows:
        """One-hot rows, and filled ones."""
        rows = patterns.one_hot(self.relations)
        fill = self.fill(patterns)
        if fill is None:
            return rows
        has_path = rows.any(2, keepdim=True)
        return torch.where(has_path, rows, fill.pattern(patterns, head))

    def edit(self, patterns: "Patterns", own: Rows, start: int, part: slice) -> Rows:
        """One-hot rows, and others that depend on the head's own."""
        rows = patterns.one_hot(self.relations)[part, start:]
        fill = self.fill(patterns)
        assert fill is not None, "zeros do not depend on what a head attends to"
        has_path = rows.any(2, keepdim=True)
        return torch.where(has_path, rows, fill.edit(patterns, own, start, part))

    def to_json(self) -> list[str] | dict[str, Any]:
        """Its relations; with its fill, if it names one."""
        names = sorted(self.relations)
        if self.rows is None:
            return names
        return {"relations": names, "rows": self.rows}

    def __str__(self):
        return "  ".join(sorted(self.relations)) or "nothing"


@dataclass(frozen=True)
class KnockOut(Mechanism):
    """The head attends as it does, but with zero along these relations."""

    relations: frozenset[str]

    def needs_own(self, patterns: "Patterns") -> bool:
        """The rest of the row stays as it is."""
        return True

    def edit(self, patterns: "Patterns", own: Rows, start: int, part: slice) -> Rows:
        """The head's own attention with its relations cut."""
        is_cut = patterns.one_hot(self.relations)[part, start:] > 0
        return own.masked_fill(is_cut, 0.0)

    def __str__(self):
        return "knocked out"


NOTHING = Paths(frozenset())
"""The head attends to nothing: all its rows are zero."""


def is_fill(name: object) -> bool:
    """True if something of this name may fill rows without a path (see `ABLATIONS`)."""
    if not isinstance(name, str) or name not in MECHANISMS:
        return name == "zero"
    return bool(MECHANISMS[name].fills)


def is_by_place(rows: str | None) -> bool:
    """True if a fill says that rows without a path attend by place alone."""
    if rows is None or rows not in MECHANISMS:
        return False
    return MECHANISMS[rows].is_by_place


def require_fill(name: object, field: str) -> None:
    """Makes sure that something of this name may fill rows without a path.

    Args:
        name: of it.
        field: that names it.

    Raises:
        HeadwayError: if not.
    """
    require(is_fill(name), field, name, f"one of {', '.join(ABLATIONS)}")


def fill_named(name: str) -> Mechanism:
    """The mechanism that fills rows without a path, by its name; "zero" has none.

    Raises:
        HeadwayError: if there is none.
    """
    return MECHANISMS[name]() if is_fill(name) else refuse(name)


def mechanism_of(written: Any) -> Mechanism:
    """The mechanism that an entry of a circuit's file stands for.

    Raises:
        HeadwayError: if it is none.
    """
    if isinstance(written, dict) and written.keys() == {"relations", "rows"}:
        names, rows = written["relations"], written["rows"]
        require(isinstance(names, list), "relations", names, "a list of relations")
        require_fill(rows, "rows")
        along = mechanism_of(names)
        return replace(along, rows=rows)
    if isinstance(written, list) and all(isinstance(name, str) for name in written):
        for name in written:
            require_name(name)
        return Paths(frozenset(written))
    if written == "zero":
        return NOTHING
    if isinstance(written, str) and written in MECHANISMS:
        return MECHANISMS[written]()
    kinds = ", ".join([*MECHANISMS, "zero"])
    raise HeadwayError(
        f"circuit: mechanism = {shown(written)} is not allowed: it must be {kinds},"
        " a list of relations or an object of relations and rows"
    )


def refuse(mechanism: object) -> NoReturn:
    """Raises `HeadwayError`: no mechanism, or no fill of rows without a path."""
    kinds = f"{', '.join([*MECHANISMS, 'zero'])}, Paths or KnockOut"
    raise HeadwayError(
        f"circuit: mechanism = {shown(mechanism)} is not allowed: it must be {kinds},"
        f" and what stands in rows without a path {', '.join(ABLATIONS)}"
    )
