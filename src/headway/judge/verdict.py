"""The verdicts on a circuit, as data: their reasons, and what to do next.

Every view shows this list.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from headway.judge.discovery import Discovery
from headway.judge.judgement import (
    CLEARLY,
    Beside,
    Cost,
    Judgement,
    costless,
    costly,
)
from headway.judge.judgement import LIMIT as LIMIT
from headway.judge.yardstick import percent
from headway.relations.paths import AttentionPath
from headway.replace.heads import Head, name_of
from headway.text import command, counted, enumerated

IN_RUN = "RUN/"
"""The start of the name of a file that `discover` left in the run's folder."""


@dataclass(frozen=True)
class Next:
    """A verb of headway, and what it is to be called with.

    Attributes:
        verb: that takes the run's folder.
        options: of the verb, by name; the run's folder is `RUN` in the file of a
            circuit.
        without: a path of the circuit that is left out; only Python can say that.
        look: the head to look at on the page.
    """

    verb: Literal["circuit", "report"]
    options: Mapping[str, int | float | str] = field(default_factory=dict)
    without: AttentionPath | None = None
    look: Head | None = None

    def in_shell(self, folder: object) -> str | None:
        """The line for the shell, about the run in a folder; of Python if that says
        more.
        """
        if self.without is not None:
            return self.in_python()
        words = [self.verb, str(folder)]
        for name, value in self.options.items():
            written = str(value)
            if written.startswith(IN_RUN):
                written = f"{folder}/{written.removeprefix(IN_RUN)}"
            words += [f"--{name}", written]
        line = command(*words)
        if self.look is not None:
            line += f"  # Look inside, {name_of(self.look)}"
        return line

    def in_python(self) -> str | None:
        """The line of Python; None if there must be a run."""
        if self.verb != "circuit":
            return None
        arguments = ["model", "task"]
        for name, value in self.options.items():
            if name != "step":  # the model is a checkpoint already
                written = "found.circuit" if name == "circuit" else repr(value)
                arguments.append(f"{name}={written}")
        if self.without is not None:
            path = str(self.without)
            arguments.append(f"circuit=found.circuit.without({path!r})")
        return f"headway.discover({', '.join(arguments)})"


@dataclass(frozen=True)
class Verdict:
    """One verdict on a circuit.

    Attributes:
        name: what the circuit is, or is not.
        holds: None if that cannot be said.
        because: the reason, with its numbers.
        next: what helps on; None if there is nothing.
        cost: that decides, of those that are kept; 0 if nothing does.
    """

    name: str
    holds: bool | None
    because: str
    next: Next | None = None
    cost: float = 0.0

    @property
    def is_close(self) -> bool:
        """True if the cost that decides is close to the usual limit: other sequences
        might say otherwise.
        """
        return LIMIT / CLEARLY < self.cost < LIMIT * CLEARLY


def verdicts(discovery: Discovery) -> list[Verdict]:
    """The verdicts on a circuit, always the same three in the same order.

    A change *costs* the answers that it changes, as a share of those that change when
    every head is exchanged, or the rise of the loss as a share of its rise then,
    whichever is larger, of the hop that suffers most.

    - *enough*: all that is beside the circuit carries what it carries in other
      sequences, the paths stay or are all that heads attend along, and that costs less
      than the limit. So does a head that another stands in for, attending along its
      paths alone while that one is exchanged (`Shape`).
    - *complete*: no row without a path costs as much when it alone carries what it
      carries in other sequences; nor does a head without a path, unless it is by place;
      nor, where such a head is missed when it carries nothing, does what it carries in
      another layout (`Beside.role`).
    - *nothing spare*: each path costs as much in one of four ways: exchanged; cut; with
      values of another layout; exchanged together with its head's rows without a path
      and all that is beside the circuit.

    Args:
        discovery: the circuit, and the evidence for it.
    """
    judgement = discovery.evidence.judgement
    if judgement is None:
        return [Verdict(name, None, discovery.evidence.unjudged) for name in VERDICTS]
    return [verdict(discovery, judgement) for verdict in VERDICTS.values()]


def roles_of(beside: list[Beside]) -> dict[str, list[Head]]:
    """The heads without a path, by what they do all the same."""
    heads = dict[str, list[Head]]()
    for judged in beside:
        heads.setdefault(judged.role, []).append(judged.head)
    return heads


def _enough(discovery: Discovery, judgement: Judgement) -> Verdict:
    """The verdict on what is left when all else is exchanged."""
    tried = judgement.enough
    worst = max(tried, key=lambda what: tried[what].most)
    cost = tried[worst]
    because = f"with {worst}, {_stays(cost)}; {_costs(cost, judgement)}"
    if cost.most >= judgement.limit:
        return _not_enough(discovery, because, cost.most)
    shapes = judgement.costly_shapes
    if not shapes:
        hard = [shape.cost.most for shape in judgement.shapes]
        return Verdict("enough", True, because, cost=max([cost.most, *hard]))
    shape = max(shapes, key=lambda shape: shape.cost.most)
    stands_in = f"{name_of(shape.twin)} stands in for {name_of(shape.head)}"
    attending = "while it is exchanged, attending along its paths alone"
    because = f"{stands_in}; {attending} {_costs(shape.cost, judgement)}"
    return Verdict("enough", False, because, _map(shape.head), shape.cost.most)


def _stays(cost: Cost) -> str:
    """The answers that stay in spite of a change."""
    answers = percent(1 - cost.answers)
    sequences = percent(1 - cost.sequences)
    return (
        f"{answers} of the worst hop's answers stay, and {sequences} of whole sequences"
    )


def _not_enough(discovery: Discovery, because: str, cost: float) -> Verdict:
    """The verdict where exchanging all else costs: it names the worst head."""
    alone = _costly_alone(discovery)
    if alone:
        head = max(alone, key=alone.__getitem__)
        yardstick = discovery.yardstick
        before = yardstick.measured(discovery.intact_loss)
        after = yardstick.measured(alone[head])
        takes = f"takes the {yardstick.metric} from {before:.3f} to {after:.3f}"
        because += f"; replacing {name_of(head)} alone {takes}"
        return Verdict("enough", False, because, _map(head), cost)
    more = 4 * discovery.evidence.sequences
    again = Next("circuit", {**discovery.asked, "sequences": more})
    return Verdict("enough", False, because, again, cost)


def _costly_alone(discovery: Discovery) -> dict[Head, float]:
    """The losses with one head replaced, where they are above the model's own."""
    own = discovery.intact_loss
    alone = discovery.evidence.alone
    return {head: loss for head, loss in alone.items() if loss > own}


def _complete(_: Discovery, judgement: Judgement) -> Verdict:
    """The verdict on what is beside the circuit, part by part."""
    if judgement.votes:
        return _votes_too(judgement)
    rows = judgement.rows
    if costly(rows, judgement.limit):
        head = max(rows, key=lambda head: rows[head].most)
        those = f"the rows of {name_of(head)} without a path, exchanged alone,"
        because = f"{those} {_costs(rows[head], judgement)}"
        return Verdict("complete", False, because, _map(head), rows[head].most)
    costs = _costs_beside(judgement)
    reasons = _reasons_for_complete(judgement, costs)
    because = "; ".join(reasons) or "nothing is beside it"
    most = max(costs, default=0.0)
    return Verdict("complete", True, because, cost=most)


def _votes_too(judgement: Judgement) -> Verdict:
    """The verdict where heads without a path change answers: it names the worst."""
    votes = judgement.votes
    worst = max(votes, key=lambda beside: beside.cost.most)
    votes_too = f"{name_of(worst.head)}, which has no path, votes too"
    because = f"{votes_too}: {worst.change} it {_costs(worst.cost, judgement)}"
    if len(votes) > 1:
        heads = counted(len(votes), "head")
        because += f"; {heads} without a path in all"
    return Verdict("complete", False, because, _map(worst.head))


def _reasons_for_complete(
    judgement: Judgement, costs: Sequence[float]
) -> Iterator[str]:
    """The costs of all beside a circuit, and the heads that attend by place."""
    if costs:
        each = "heads without a path, by layers or singly, and such rows of each head,"
        most = f"{max(costs):.3f} {_limit(judgement)}"
        yield f"exchanging {each} costs at most {most}"
    by_place = roles_of(judgement.heads).get("by place", [])
    if by_place:
        verb = "attends" if len(by_place) == 1 else "attend"
        yield f"{enumerated(map(name_of, by_place))} {verb} by place"


def _costs_beside(judgement: Judgement) -> list[float]:
    """The costs of heads and rows without a path, but for heads by place."""
    others = [beside for beside in judgement.heads if beside.role != "by place"]
    costs = [beside.cost.most for beside in others]
    costs += [cost.most for cost in judgement.rows.values()]
    return costs


def _nothing_spare(_: Discovery, judgement: Judgement) -> Verdict:
    """The verdict on each of the paths, and each head by table."""
    costs = judgement.parts
    if not costs:
        return Verdict("nothing spare", None, "the circuit has no path")
    least = min(costs, key=lambda part: costs[part].most)
    cost = costs[least]
    if cost.most < judgement.limit:
        return _something_spare(judgement, least, cost)
    each = _each_part(judgement)
    lowest = f"{cost.most:.3f} or more {_limit(judgement)}"
    changed = f"{percent(cost.answers)} of the answers"
    because = f"exchanging or cutting {each} costs {lowest}: {least}, {changed}"
    return Verdict("nothing spare", True, because, cost=cost.most)


def _something_spare(judgement: Judgement, least: str, cost: Cost) -> Verdict:
    """The verdict where parts can be spared, given the one that costs least."""
    parts = enumerated(costless(judgement.parts, judgement.limit), "or")
    most = f"costs {cost.most:.3f} at the least {_limit(judgement)}"
    by_name = {str(path): path for path in judgement.paths}
    without = by_name.get(least)
    again = without and Next("circuit", without=without)
    because = f"exchanging or cutting {parts} {most}"
    return Verdict("nothing spare", False, because, again, cost.most)


def _each_part(judgement: Judgement) -> str:
    """Each of the things that a circuit consists of, in words."""
    number = len(judgement.parts)
    kind = "part" if judgement.tables else "path"
    return f"its {kind}" if number == 1 else f"any one of its {number} {kind}s"


def _costs(cost: Cost, judgement: Judgement) -> str:
    """The cost of a change beside its limit."""
    return f"costs {cost.most:.3f} {_limit(judgement)}"


def _limit(judgement: Judgement) -> str:
    """The limit that stands behind a cost."""
    return f"(limit {judgement.limit:g})"


def _map(head: Head) -> Next:
    """Look where a head looks."""
    return Next("report", look=head)


VERDICTS = {"enough": _enough, "complete": _complete, "nothing spare": _nothing_spare}
"""The verdicts, in the order in which they are given, and what makes each of them."""
