"""The costs of changes of a model, as data from which verdicts follow."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeVar

from headway.replace.heads import WrittenHead, WrittenLoss, WrittenPath, name_of

LIMIT = 0.05
"""A change costs if it changes so large a share of the answers that change when every
head is exchanged, or raises the loss by so large a share of its rise then."""

CLEARLY = 1.25
"""A cost so many times the limit is clearly above it."""

EXCHANGED = "exchanged alone"
MOVED = "given what it carries in another layout"

Role = Literal["not needed", "by place", "the same in all sequences", "votes too"]


@dataclass(frozen=True)
class Cost:
    """The cost of a change, against the outputs before it, in the worst hop.

    Attributes:
        answers: the share of answers that change.
        sequences: the share of sequences in which an answer of the hop changes.
        changed: the answers that change, as a share of those that change when every
            head is exchanged.
        rise: the rise of the loss, as a share of the rise when every head is exchanged.
    """

    answers: float
    sequences: float
    changed: float
    rise: WrittenLoss

    @property
    def most(self) -> float:
        """The number that is held against the limit."""
        return max(self.changed, self.rise)


@dataclass(frozen=True)
class Beside:
    """A head without a path, and what it does all the same.

    Attributes:
        head: layer and number.
        role: *not needed* if neither an exchange of all that it carries costs anything,
            nor its absence; *the same in all sequences* if its absence does, but not
            what it carries in another layout; *by place* if the circuit says so, and
            attention of a sequence of another layout with its own values costs nothing;
            else *votes too*.
        cost: of the change that tells.
        change: this change, in words.
    """

    head: WrittenHead
    role: Role
    cost: Cost
    change: str = EXCHANGED


@dataclass(frozen=True)
class Shape:
    """A head that another stands in for: only its paths can cost something.

    Attributes:
        head: layer and number.
        twin: the other head, which is exchanged.
        cost: of the head's attending along its paths alone meanwhile.
    """

    head: WrittenHead
    twin: WrittenHead
    cost: Cost


K = TypeVar("K")


def costly(costs: Mapping[K, Cost], limit: float) -> list[K]:
    """The keys of costs that reach the limit."""
    return [what for what, cost in costs.items() if cost.most >= limit]


def costless(costs: Mapping[K, Cost], limit: float) -> list[K]:
    """The keys of costs below the limit."""
    return [what for what, cost in costs.items() if cost.most < limit]


@dataclass(frozen=True)
class Judgement:
    """The costs that verdicts on a circuit follow from.

    Attributes:
        enough: of all that is beside the circuit exchanged, its paths and heads by
            table as they are; then hard; then hard in the layers up to each but the
            last alone.
        heads: heads without a path.
        rows: of exchanging the rows without a path, of every head with paths.
        shapes: of hard paths of heads that others stand in for, while these are
            exchanged.
        paths: of the exchange of each path, in the way that costs most of those that
            were tried: until one clearly cost something.
        tables: of the exchange of each head that attends by table.
        everything: the rise of the loss when every head is exchanged, by hop.
        passes: forward passes that it took.
        limit: the share from which a change costs.
    """

    enough: dict[str, Cost]
    heads: list[Beside]
    rows: dict[WrittenHead, Cost]
    shapes: list[Shape]
    paths: dict[WrittenPath, Cost]
    tables: dict[WrittenHead, Cost]
    everything: list[WrittenLoss]
    passes: int
    limit: float = LIMIT

    @property
    def parts(self) -> dict[str, Cost]:
        """The costs of all that the circuit consists of, by path or by head."""
        paths = {str(path): cost for path, cost in self.paths.items()}
        tables = {name_of(head): cost for head, cost in self.tables.items()}
        return paths | tables

    @property
    def votes(self) -> list[Beside]:
        """The heads without a path that change answers all the same."""
        return [beside for beside in self.heads if beside.role == "votes too"]

    @property
    def costly_shapes(self) -> list[Shape]:
        """The heads whose paths cost something while another is exchanged."""
        return [shape for shape in self.shapes if shape.cost.most >= self.limit]

    @property
    def broken(self) -> dict[str, list[str]]:
        """The verdicts that are no, each with what breaks it."""
        enough = costly(self.enough, self.limit)
        for shape in self.costly_shapes:
            twin = name_of(shape.twin)
            enough.append(f"{name_of(shape.head)} hard while {twin} is exchanged")
        complete = [name_of(beside.head) for beside in self.votes]
        for head in costly(self.rows, self.limit):
            complete.append(f"{name_of(head)}, rows without a path")
        spare = costless(self.parts, self.limit)
        by_verdict = {"enough": enough, "complete": complete, "nothing spare": spare}
        return {verdict: why for verdict, why in by_verdict.items() if why}
