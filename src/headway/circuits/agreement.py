"""What the flow of information predicts of clamped training, and how often it comes true.

The prediction was written down before any clamped run was looked at. Path P of a circuit is
clamped. Information flows along the other paths (`theory.flow`); a path that does not find its key
any more brings nothing, so what it brought is missing above it, too. For another path Q

finds     Q does not find its key: nothing that its two ends still hold singles it out. P
          brought what Q looks for or is found by, itself or through others.
carries   Q finds its key, but a symbol that it brought in the whole circuit is not there: P
          brought something that Q carries, itself or through others.
serves    Q finds and carries all that it did, but no answer that it served is reached without
          P.
apart     none of these.

A path needs those that bring what it looks for and what it carries. So Q is predicted not to form
in the cases `finds` and `carries`, and to form in `serves` and `apart`. In `serves` one may argue
for the opposite: what is of no use is not rewarded. So these pairs are counted by themselves.

Codes of positions and pairs that a path brings do not count as carried, as nobody asks for them. A
path that finds its key in the model although the flow does not say how (it is broken in the whole
circuit) is taken to find it whatever else is clamped.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from headway.circuits.mechanism import WrittenPath
from headway.paths import Path
from headway.tasks import Task
from headway.theory import Flow, Holdings, is_code

Kind = Literal["finds", "carries", "serves", "apart"]
KINDS: tuple[Kind, ...] = ("finds", "carries", "serves", "apart")

MEANINGS: dict[Kind, str] = {
    "finds": "P brings what Q finds its key by",
    "carries": "P brings something that Q carries",
    "serves": "Q is of no use without P",
    "apart": "none of these",
}
NEEDS: tuple[Kind, ...] = ("finds", "carries")
"""The kinds in which a path is predicted not to form."""

Kinds = dict[tuple[Path, Path], Kind]
"""By the path that is clamped and another one."""


@dataclass(frozen=True)
class Pair:
    """A path that was clamped and another one of the circuit.

    Attributes:
        clamped: P.
        other: Q.
        kind: what the flow says of them; None if the task's flow is not known, or Q is a stay.
        formed: whether Q formed in the training with P clamped; None if it does not form in the
            training without a clamp either, by the same measure.
    """

    clamped: WrittenPath
    other: WrittenPath
    kind: Kind | None
    formed: bool | None

    @property
    def needs(self) -> bool | None:
        """Whether Q is predicted to need P; None if nothing is predicted."""
        return None if self.kind is None else self.kind in NEEDS

    @property
    def agrees(self) -> bool | None:
        """Whether the prediction came true; None if there is none, or nothing was measured."""
        if self.needs is None or self.formed is None:
            return None
        return self.needs is not self.formed


@dataclass(frozen=True)
class Share:
    """How many of several pairs came out as predicted.

    Attributes:
        right: how many came out as predicted.
        count: how many pairs there are.
    """

    right: int
    count: int

    @classmethod
    def of(cls, pairs: Iterable[Pair], *kinds: Kind) -> "Share":
        """The share among pairs that have a prediction and a measurement."""
        judged = [pair.agrees for pair in pairs if pair.kind in kinds]
        judged = [agrees for agrees in judged if agrees is not None]
        return cls(sum(judged), len(judged))

    def __str__(self):
        return f"{self.right} of {self.count}"


def predicted(task: Task, paths: Sequence[Path], causal: bool) -> Kinds | None:
    """What the flow of a task says of every two paths of a circuit.

    None if the task's flow is not known, or a path leads elsewhere than from role to role.

    Args:
        task: whose flow it is.
        paths: of the circuit.
        causal: whether a position sees only itself and what stands before it.
    """
    known = _known(task, paths)
    return None if known is None else predicted_by(known[0], paths, causal, known[1])


@dataclass(frozen=True)
class Lost:
    """What a circuit loses with one of its paths, by the flow of information.

    Attributes:
        paths: the others that then do not find their key, or lack something that they carried.
        answers: what the query is asked for and then does not get.
    """

    paths: tuple[Path, ...]
    answers: tuple[str, ...]


def lost_without(task: Task, paths: Sequence[Path], causal: bool) -> dict[Path, Lost] | None:
    """What is lost with every path of a circuit; None where `predicted` says nothing.

    Args:
        task: whose flow it is.
        paths: of the circuit.
        causal: whether a position sees only itself and what stands before it.
    """
    if (known := _known(task, paths)) is None:
        return None
    whole = _Rest(known[0], paths, causal, known[1])
    found = {}
    for cut in paths:
        rest = whole.without(cut)
        needing = (path for path in whole.paths if path != cut and _needs(whole, rest, path))
        found[cut] = Lost(tuple(needing), tuple(sorted(whole.answers - rest.answers)))
    return found


def _known(task: Task, paths: Sequence[Path]) -> tuple[Flow, frozenset[str]] | None:
    """A task's flow, and the pieces that it asks for; None if that says nothing of the paths."""
    flow = task.flow()
    ends = {end for path in paths for end in path.relation.ends or ("",)}
    if flow is None or not ends <= set(flow.roles):
        return None
    return flow, frozenset({*task.hops, flow.goal} & set(flow.pieces))


def predicted_by(
    flow: Flow, paths: Sequence[Path], causal: bool, asked: frozenset[str] = frozenset()
) -> Kinds:
    """What a flow says of every two paths of a circuit.

    Args:
        flow: of the task.
        paths: of the circuit, between roles of the flow.
        causal: whether a position sees only itself and what stands before it.
        asked: the pieces that the query is asked for, beside the goal.
    """
    whole = _Rest(flow, paths, causal, asked | {flow.goal})
    kinds: Kinds = {}
    for clamped in paths:
        rest = whole.without(clamped)
        for other in paths:
            if other != clamped:
                kinds[clamped, other] = _kind(whole, rest, other)
    return kinds


def _kind(whole: "_Rest", rest: "_Rest", path: Path) -> Kind:
    if (need := _needs(whole, rest, path)) is not None:
        return need
    return "serves" if whole.uses(path) and not rest.uses(path) else "apart"


def _needs(whole: "_Rest", rest: "_Rest", path: Path) -> Kind | None:
    """In which way a path needs what the rest of the circuit lacks; None if it does not."""
    if path not in rest.paths:
        return "finds"
    return "carries" if whole.brought(path) - rest.offered(path) else None


class _Rest:
    """What is left of a circuit: paths that find their keys, and what they bring.

    Args:
        flow: of the task.
        paths: that are not clamped.
        causal: whether the mask is causal.
        asked: the pieces that the query is asked for.
        unexplained: paths that find their keys whatever the flow says.
    """

    def __init__(
        self,
        flow: Flow,
        paths: Sequence[Path],
        causal: bool,
        asked: frozenset[str],
        unexplained: Sequence[Path] | None = None,
    ):
        self.flow, self.causal, self.asked = flow, causal, asked
        self.paths, along = tuple(paths), flow.along(paths, causal)
        self.unexplained = along.broken if unexplained is None else unexplained
        while lost := set(along.broken) - set(self.unexplained):
            self.paths = tuple(path for path in self.paths if path not in lost)
            along = flow.along(self.paths, causal)
        self.stages = along.stages

    def without(self, path: Path) -> "_Rest":
        """What is left if one more path is clamped."""
        left = [other for other in self.paths if other != path]
        return _Rest(self.flow, left, self.causal, self.asked, self.unexplained)

    def _before(self, layer: int) -> Holdings:
        """What every role holds before a layer."""
        return self.stages[min(layer, len(self.stages) - 1)]

    def offered(self, path: Path) -> frozenset[str]:
        """What the position holds that a path reads."""
        return self._before(path.layer)[self.flow.ends(path)[1]]

    def brought(self, path: Path) -> frozenset[str]:
        """The symbols that a path brings and that were not there before."""
        new = self.offered(path) - self._before(path.layer)[self.flow.ends(path)[0]]
        return frozenset(piece for piece in new if not is_code(piece))

    @property
    def answers(self) -> frozenset[str]:
        """The pieces that the query is asked for and gets."""
        return self.stages[-1][self.flow.query] & self.asked

    def uses(self, path: Path) -> bool:
        """Whether an answer is lost without a path."""
        return self.without(path).answers != self.answers
