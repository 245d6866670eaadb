"""The verdicts on a circuit, as data: their reasons, and what to do next.

Every view shows this list.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from headway.judge.discovery import Discovery
from headway.judge.judgement import LIMIT as LIMIT
from headway.judge.judgement import Beside, Cost, Judgement, costless, costly
from headway.judge.yardstick import percent
from headway.relations.paths import AttentionPath
from headway.replace.heads import Head, name_of
from headway.text import command, counted, enumerated

CLOSE = 1.25
"""A cost within this factor of the limit is close to it: other sequences might say
otherwise."""

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
        is_close: True if the cost that decides is close to the limit.
    """

    name: str
    holds: bool | None
    because: str
    next: Next | None = None
    is_close: bool = False


def verdicts(discovery: Discovery) -> list[Verdict]:
    """The verdicts on a circuit, always the same three in the same order.

    A change *costs* the answers that it changes, as a share of those that change when
    every head is exchanged, or the rise of the loss as a share of its rise then,
    whichever is larger, of the hop that suffers most.

    - *enough*: all that is beside the circuit carries what it carries in other
      sequences, the paths stay or are all that heads attend along, and that costs less
      than the limit.
    - *complete*: no row without a path costs as much when it alone carries what it
      carries in other sequences; nor does a head without a path, unless it is by place;
      and no such head is missed when it carries nothing (`Beside.role`).
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


def _if_close(verdict: Verdict, cost: float, judgement: Judgement) -> Verdict:
    """A verdict that says so if the cost that decides it is close to the limit."""
    ratio = cost / judgement.limit
    if not 1 / CLOSE < ratio < CLOSE:
        return verdict
    because = f"{verdict.because}; that is close, and other sequences may say otherwise"
    return replace(verdict, because=because, is_close=True)


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
        return _if_close(_not_enough(discovery, because), cost.most, judgement)
    shapes = judgement.costly_shapes
    if not shapes:
        return _if_close(Verdict("enough", True, because), cost.most, judgement)
    shape = max(shapes, key=lambda shape: shape.cost.most)
    stands_in = f"{name_of(shape.twin)} stands in for {name_of(shape.head)}"
    attending = "while it is exchanged, attending along its paths alone"
    because = f"{stands_in}; {attending} {_costs(shape.cost, judgement)}"
    verdict = Verdict("enough", False, because, _map(shape.head))
    return _if_close(verdict, shape.cost.most, judgement)


def _stays(cost: Cost) -> str:
    """The answers that stay in spite of a change."""
    answers = percent(1 - cost.answers)
    sequences = percent(1 - cost.sequences)
    return (
        f"{answers} of the worst hop's answers stay, and {sequences} of whole sequences"
    )


def _not_enough(discovery: Discovery, because: str) -> Verdict:
    """The verdict where exchanging all else costs: it names the worst head."""
    alone = _costly_alone(discovery)
    if alone:
        head = max(alone, key=alone.__getitem__)
        yardstick = discovery.yardstick
        before = yardstick.measured(discovery.intact_loss)
        after = yardstick.measured(alone[head])
        takes = f"takes the {yardstick.metric} from {before:.3f} to {after:.3f}"
        because += f"; replacing {name_of(head)} alone {takes}"
        return Verdict("enough", False, because, _map(head))
    more = 4 * discovery.evidence.sequences
    again = Next("circuit", {**discovery.asked, "sequences": more})
    return Verdict("enough", False, because, again)


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
        verdict = Verdict("complete", False, because, _map(head))
        return _if_close(verdict, rows[head].most, judgement)
    because = "; ".join(_reasons_for_complete(judgement)) or "nothing is beside it"
    most = max(_costs_beside(judgement), default=0.0)
    return _if_close(Verdict("complete", True, because), most, judgement)


def _votes_too(judgement: Judgement) -> Verdict:
    """The verdict where heads without a path change answers: it names the worst."""
    votes = judgement.votes
    worst = max(votes, key=lambda beside: beside.cost.most)
    votes_too = f"{name_of(worst.head)}, which has no path, votes too"
    because = f"{votes_too}: {worst.change} it {_costs(worst.cost, judgement)}"
    if len(votes) > 1:
        heads = counted(len(votes), "head")
        because += f"; {heads} without a path in all"
    verdict = Verdict("complete", False, because, _map(worst.head))
    return _if_close(verdict, worst.cost.most, judgement)


def _reasons_for_complete(judgement: Judgement) -> list[str]:
    """The costs of all beside a circuit, and the heads that attend by place."""
    by_place, _ = _split_by_place(judgement.heads)
    costs = _costs_beside(judgement)
    reasons = list[str]()
    if costs:
        parts = "exchanging the heads without a path of any layer, or such rows of any"
        parts += " head,"
        reasons.append(f"{parts} costs at most {max(costs):.3f} {_limit(judgement)}")
    if by_place:
        names = enumerated([name_of(beside.head) for beside in by_place], "and")
        verb = "attends" if len(by_place) == 1 else "attend"
        reasons.append(f"{names} {verb} by place")
    return reasons


def _costs_beside(judgement: Judgement) -> list[float]:
    """The costs of heads and rows without a path, but for heads that attend by
    place.
    """
    _, others = _split_by_place(judgement.heads)
    costs = [beside.cost.most for beside in others]
    return costs + [cost.most for cost in judgement.rows.values()]


def _split_by_place(heads: list[Beside]) -> tuple[list[Beside], list[Beside]]:
    """The heads that attend by place, whose exchange costs, and the others."""
    by_place = [beside for beside in heads if beside.role == "by place"]
    others = [beside for beside in heads if beside.role != "by place"]
    return by_place, others


def _nothing_spare(_: Discovery, judgement: Judgement) -> Verdict:
    """The verdict on each of the paths, and each head by table."""
    costs = judgement.parts
    if not costs:
        return Verdict("nothing spare", None, "the circuit has no path")
    least = min(costs, key=lambda part: costs[part].most)
    lowest = costs[least].most
    spare = costless(costs, judgement.limit)
    if not spare:
        costly = f"{_each_part(judgement)} costs {lowest:.3f} or more"
        limit = f"(least: {least}; limit {judgement.limit:g})"
        verdict = Verdict(
            "nothing spare", True, f"exchanging or cutting {costly} {limit}"
        )
        return _if_close(verdict, lowest, judgement)
    parts = enumerated(spare, "or")
    cheapest = f"costs {lowest:.3f} at the least {_limit(judgement)}"
    again = _without(least, judgement)
    because = f"exchanging or cutting {parts} {cheapest}"
    return _if_close(Verdict("nothing spare", False, because, again), lowest, judgement)


def _without(part: str, judgement: Judgement) -> Next | None:
    """Try the circuit without a path; None if the part is a head by table."""
    for path in judgement.paths:
        if str(path) == part:
            return Next("circuit", without=path)
    return None


def _each_part(judgement: Judgement) -> str:
    """Each of the things that a circuit consists of, in words."""
    number = len(judgement.parts)
    if number == 1:
        return "its path" if judgement.paths else "its head by table"
    kind = "paths"
    if judgement.tables:
        kind = "parts" if judgement.paths else "heads by table"
    return f"any one of its {number} {kind}"


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
