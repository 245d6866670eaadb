"""The verdicts on a circuit, as data: what changes cost; which verdicts follow from that, and why.

Every view shows this list. `RUN` in a line to type stands for the run's folder; lines of Python
suppose a `model`, its `task`, and `found`, what `discover` found.
"""

import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from headway.judge.yardstick import percent
from headway.relations.paths import AttentionPath
from headway.replace.heads import Head, WrittenHead, WrittenLoss, WrittenPath, name_of
from headway.text import counted, enumerated

if TYPE_CHECKING:
    from headway.judge.discovery import Discovery

LIMIT = 0.05
"""A change costs if it changes so large a share of the answers that change when every head is
exchanged, or raises the loss by so large a share of its rise then."""

Role = Literal["not needed", "by place", "the same in all sequences", "votes too"]

NAMES = ("enough", "complete", "nothing spare")
"""The verdicts, in the order in which they are given."""


@dataclass(frozen=True)
class Cost:
    """The cost of a change, against the outputs before it; the hop that suffers most counts.

    Attributes:
        answers: the share of answers that change.
        sequences: the share of sequences in which an answer of the hop changes.
        changed: the answers that change, as a share of those that change when every head is
            exchanged.
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
        role: *not needed* if an exchange of all that it carries costs nothing; *the same in all
            sequences* if its absence does, but no exchange with a sequence of another layout, too;
            *by place* if the circuit says so, and attention of a sequence of another layout with
            its own values costs nothing; else *votes too*.
        cost: of the exchange that tells.
    """

    head: WrittenHead
    role: Role
    cost: Cost


@dataclass(frozen=True)
class Shape:
    """A head of a circuit that another stands in for: its absence costs nothing, its paths may do.

    Attributes:
        head: layer and number.
        twin: the other head, which is exchanged.
        cost: of the head's attending along its paths alone meanwhile.
    """

    head: WrittenHead
    twin: WrittenHead
    cost: Cost


@dataclass(frozen=True)
class Judgement:
    """The costs that verdicts on a circuit follow from.

    Attributes:
        enough: of all that is beside the circuit exchanged, its paths and heads by table as they
            are; then hard; then hard in the layers up to each but the last alone.
        heads: heads without a path.
        rows: of exchanging the rows without a path, of every head with paths.
        shapes: of hard paths of heads that others stand in for, while these are exchanged.
        paths: of the exchange of each path, in the way that costs most.
        tables: of the exchange of each head that attends by table.
        everything: the rise of the loss when every head is exchanged, by hop.
        passes: forward passes that it took.
    """

    enough: dict[str, Cost]
    heads: list[Beside]
    rows: dict[WrittenHead, Cost]
    shapes: list[Shape]
    paths: dict[WrittenPath, Cost]
    tables: dict[WrittenHead, Cost]
    everything: list[WrittenLoss]
    passes: int

    @property
    def parts(self) -> dict[str, Cost]:
        """The costs of all that the circuit consists of, by path or by head."""
        paths = {str(path): cost for path, cost in self.paths.items()}
        tables = {name_of(head): cost for head, cost in self.tables.items()}
        return paths | tables

    def broken(self, limit: float = LIMIT) -> dict[str, list[str]]:
        """The verdicts that are no, each with what breaks it."""
        votes = [name_of(one.head) for one in self.heads if one.role == "votes too"]
        rows = [name_of(head) for head, cost in self.rows.items() if cost.most >= limit]
        enough = [what for what, cost in self.enough.items() if cost.most >= limit]
        shapes = [
            f"{name_of(one.head)} hard while {name_of(one.twin)} is exchanged"
            for one in self.shapes
            if one.cost.most >= limit
        ]
        told = {
            "enough": [*enough, *shapes],
            "complete": [*votes, *(f"{name}, rows without a path" for name in rows)],
            "nothing spare": [name for name, cost in self.parts.items() if cost.most < limit],
        }
        return {verdict: why for verdict, why in told.items() if why}


@dataclass(frozen=True)
class Verdict:
    """One verdict on a circuit.

    Attributes:
        name: what the circuit is, or is not.
        holds: None if that cannot be said.
        because: the reason, with its numbers.
        next: a line to type that helps on; None if there is none.
    """

    name: str
    holds: bool | None
    because: str
    next: str | None = None


def verdicts(found: "Discovery") -> list[Verdict]:
    """The verdicts on a circuit, always the same three in the same order.

    A change *costs* the answers that it changes, as a share of those that change when every head is
    exchanged, or the rise of the loss as a share of its rise then, whichever is larger, of the hop
    that suffers most.

    - *enough*: all that is beside the circuit carries what it carries in other sequences, the paths
      stay or are all that heads attend along, and that costs less than the limit.
    - *complete*: no head without a path and no row without a path costs as much when it alone
      carries what it carries in other sequences.
    - *nothing spare*: each path costs as much when it is exchanged, or cut.

    Args:
        found: the circuit, and the evidence for it.
    """
    judgement = found.evidence.judgement
    if judgement is None:
        return [Verdict(name, None, found.evidence.unjudged) for name in NAMES]
    return [_enough(found, judgement), _complete(judgement), _nothing_spare(judgement)]


def _enough(found: "Discovery", judgement: Judgement) -> Verdict:
    """The verdict on what is left when all else is exchanged."""
    tried = judgement.enough
    worst = max(tried, key=lambda what: tried[what].most)
    cost = tried[worst]
    because = f"{_said_of(worst)} {_stays(cost)}"
    wrong = [one for one in judgement.shapes if one.cost.most >= LIMIT]
    if cost.most < LIMIT and wrong:
        shape = max(wrong, key=lambda one: one.cost.most)
        because = (
            f"{name_of(shape.twin)} stands in for {name_of(shape.head)}; while it is exchanged,"
            f" attending along its paths alone {_costs(shape.cost)}"
        )
        return Verdict("enough", False, because, _map(shape.head))
    if cost.most < LIMIT:
        return Verdict("enough", True, because)
    alone = {head: loss for head, loss in found.evidence.alone.items() if loss > found.intact_loss}
    if not alone:
        return Verdict("enough", False, because, _again(found, sequences=_more(found)))
    head = max(alone, key=alone.__getitem__)
    because += (
        f"; replacing {name_of(head)} alone takes the loss from {found.intact_loss:.3f} to"
        f" {alone[head]:.3f}"
    )
    return Verdict("enough", False, because, _map(head))


def _complete(judgement: Judgement) -> Verdict:
    """The verdict on what is beside the circuit, part by part."""
    voting = [one for one in judgement.heads if one.role == "votes too"]
    if voting:
        worst = max(voting, key=lambda one: one.cost.most)
        others = f"; {counted(len(voting), 'head')} without a path in all" * (len(voting) > 1)
        because = f"{name_of(worst.head)}, which has no path, votes too: exchanged alone it"
        return Verdict(
            "complete", False, f"{because} {_costs(worst.cost)}{others}", _map(worst.head)
        )
    costly = {head: cost for head, cost in judgement.rows.items() if cost.most >= LIMIT}
    if costly:
        head = max(costly, key=lambda one: costly[one].most)
        because = f"the rows of {name_of(head)} without a path, exchanged alone,"
        return Verdict("complete", False, f"{because} {_costs(costly[head])}", _map(head))
    parts = [one.cost for one in judgement.heads] + [*judgement.rows.values()]
    if not parts:
        return Verdict("complete", True, "nothing is beside it")
    least = max(parts, key=lambda cost: cost.most)
    because = f"no head or row without a path, exchanged alone, costs more than {least.most:.3f}"
    return Verdict("complete", True, f"{because} (limit {LIMIT:g})")


def _nothing_spare(judgement: Judgement) -> Verdict:
    """The verdict on each of the paths, and each head by table."""
    costs = judgement.parts
    if not costs:
        return Verdict("nothing spare", None, "the circuit has no path")
    spare = [part for part, cost in costs.items() if cost.most < LIMIT]
    least = min(costs, key=lambda part: costs[part].most)
    if not spare:
        kind = "heads by table" if not judgement.paths else "paths"
        kind = "parts" if judgement.paths and judgement.tables else kind
        each = f"any one of its {len(costs)} {kind}" if len(costs) > 1 else f"its {kind[:-1]}"
        because = f"exchanged or cut, {each} costs {costs[least].most:.2f} or more"
        return Verdict("nothing spare", True, f"{because} (least: {least}; limit {LIMIT:g})")
    because = (
        f"exchanged or cut, {enumerated(spare, 'or')} costs {costs[least].most:.3f} at the least"
        f" (limit {LIMIT:g})"
    )
    path = next((path for path in judgement.paths if str(path) == least), None)
    return Verdict("nothing spare", False, because, None if path is None else _without(path))


def roles_of(beside: list[Beside]) -> dict[str, list[Head]]:
    """The heads without a path, by what they do all the same."""
    heads = dict[str, list[Head]]()
    for one in beside:
        heads.setdefault(one.role, []).append(one.head)
    return heads


def _said_of(what: str) -> str:
    """What was exchanged for *enough*, in words."""
    return f"with {what}," if what.startswith("all") else f"with all else exchanged {what},"


def _stays(cost: Cost) -> str:
    """How much of the answers stays after a change."""
    return (
        f"{percent(1 - cost.answers)} of the worst hop's answers stay, and"
        f" {percent(1 - cost.sequences)} of whole sequences; {_costs(cost)}"
    )


def _costs(cost: Cost) -> str:
    """The cost of a change beside its limit."""
    return f"costs {cost.most:.3f} (limit {LIMIT:g})"


def to_type(line: str, run: object = None) -> str | None:
    """A line to type next: with a run's folder in it, or as Python where there is no run.

    None if it takes a run, and there is none.
    """
    if run is not None or " RUN" not in line:
        return line.replace(" RUN", f" {run}")
    if not line.startswith("headway circuit RUN"):
        return None
    called = "discover(model, task"
    for name, value in re.findall(r"--(\w+) (?!--)(\S+)", line):
        if name == "circuit":
            value = "found.circuit"
        elif not (value[0].isdigit() or value == "True"):
            value = repr(value)
        called += f", {name}={value}"
    return f"headway.{called})"


def _more(found: "Discovery") -> int:
    """Four times as many sequences."""
    return 4 * found.evidence.sequences


def _without(path: AttentionPath) -> str:
    """A line that measures the circuit without a path."""
    return f"headway.discover(model, task, circuit=found.circuit.without({str(path)!r}))"


def _again(found: "Discovery", **more: Any) -> str:
    """A line that studies the run again, by what was asked for and some more options."""
    words = ["headway circuit RUN"]
    for name, value in {**found.asked, **more}.items():
        words += [f"--{name}", shlex.quote(str(value))] if value != "" else [f"--{name}"]
    return " ".join(words)


def _map(head: Head) -> str:
    """A line that shows where a head looks."""
    return f"headway report RUN  # Look inside, {name_of(head)}"
