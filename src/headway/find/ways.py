"""Ways to a circuit: by name, and open to others.

    way = told          a search among what the task says that heads may look at
    way = blind         heads are read by effect, told nothing
    way = corrupted     attribution by corrupted sequences, for models of many heads
    way = exchanged     the same, where values are of corrupted sequences, too

A way of your own is a frozen dataclass that derives from `Way` and has a `kind`. An
installed package offers it under its kind, by an entry point of the group
`headway.ways`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, ClassVar

from headway.errors import require
from headway.find.search import (
    CANDIDATE_ATTENTION,
    candidates_among,
    search,
    uses_stays,
    worst_of,
)
from headway.judge.yardstick import Yardstick
from headway.replace.ablation import Bench
from headway.replace.circuit import Circuit
from headway.tasks import Task
from headway.tasks.registry import Offered

FEW_CANDIDATES = 16
"""Among so many candidate paths all sets are judged if the search finds no circuit."""

WAYS: "Offered[type[Way]]" = Offered("headway.ways", "way", {})
"""Every way by its kind."""


@dataclass(frozen=True)
class Way:
    """A way to a circuit, gone on some sequences.

    Attributes:
        kind: the name by which `discover` calls it.
        rows: what stands in rows without a path (`ABLATIONS`) unless an ablation is
            asked for.
    """

    kind: ClassVar[str] = ""
    rows: ClassVar[str] = "zero"

    def __init_subclass__(cls):
        if cls.kind:
            WAYS.known[cls.kind] = cls

    def prepare(self, bench: Bench) -> None:
        """Does what must not happen while other threads call the model."""

    def require_rows(self, rows: str) -> None:
        """Raises `HeadwayError` if the way cannot be gone with a fill of rows."""

    def circuit(self, bench: Bench, yardstick: Yardstick) -> Circuit:
        """A mechanism for every head, on a bench's sequences.

        Args:
            bench: judges candidates.
            yardstick: says when a circuit is good enough.
        """
        raise NotImplementedError

    def again(self, bench: Bench, circuit: Circuit) -> "Way":
        """The way on other sequences, after it has led to a circuit on a bench's."""
        return self


class Sparing(Way):
    """A way on which heads that can be spared are looked for."""

    def prepare(self, bench: Bench) -> None:
        """Looks for heads that can be spared, which taps the model anew."""
        from headway.find.spared import spared_once  # with all that exchanges parts

        spared_once(bench)


@dataclass(frozen=True)
class Told(Sparing):
    """A search among what the task says that heads may look at.

    Attributes:
        candidate_attention: see `search.search`.
        stays: whether to search among paths from roles to themselves at once.
    """

    kind = "told"

    candidate_attention: Sequence[float] = CANDIDATE_ATTENTION
    stays: bool = False

    def circuit(self, bench: Bench, yardstick: Yardstick) -> Circuit:
        """See `searched`."""
        return searched(bench, yardstick, self.candidate_attention, self.stays)

    def again(self, bench: Bench, circuit: Circuit) -> "Told":
        """The way that searches paths from roles to themselves from the start, if the
        circuit has some.
        """
        return replace(self, stays=uses_stays(bench.patterns, circuit))


@dataclass(frozen=True)
class Blind(Sparing):
    """Heads are read by effect, told nothing of what they may look at."""

    kind = "blind"
    rows = "mean"

    def circuit(self, bench: Bench, yardstick: Yardstick) -> Circuit:
        """See `blind.read`."""
        from headway.find.blind import read  # with more than a search needs
        from headway.find.spared import spared_once

        return read(bench, spared_once(bench))


@dataclass(frozen=True)
class ByCorruption(Way):
    """Attribution by corrupted sequences, which the task lays out.

    Attributes:
        candidate_attention: see `corrupted.circuit_for`.
    """

    kind = "corrupted"
    rows = "corrupted"

    candidate_attention: Sequence[float] = CANDIDATE_ATTENTION

    def circuit(self, bench: Bench, yardstick: Yardstick) -> Circuit:
        """See `corrupted.circuit_for`."""
        from headway.find import corrupted  # few tasks have corrupted sequences

        return corrupted.circuit_for(bench, yardstick, self.candidate_attention)


@dataclass(frozen=True)
class ByExchange(Way):
    """Attribution between clean and corrupted sequences; heads beside the circuit carry
    what they carry in the corrupted ones.
    """

    kind = "exchanged"
    rows = "exchanged"

    def require_rows(self, rows: str) -> None:
        """No others than its own."""
        require(rows == self.rows, "ablation", rows, "exchanged, in this way")

    def circuit(self, bench: Bench, yardstick: Yardstick) -> Circuit:
        """See `exchanged.circuit_for`."""
        from headway.find import exchanged  # few tasks have corrupted sequences

        return exchanged.circuit_for(bench, yardstick)


@dataclass(frozen=True)
class Given(Way):
    """No way at all: the circuit is given.

    Attributes:
        given: the circuit.
    """

    given: Circuit

    def circuit(self, bench: Bench, yardstick: Yardstick) -> Circuit:
        """The circuit itself."""
        return self.given


def way_for(task: Task, asked: str | Way | None, **options: Any) -> Way:
    """The way that is asked for, or the one that suits a task.

    Args:
        task: of the model.
        asked: a way, or its name.
        options: that a way gets if it takes them.

    Raises:
        HeadwayError: if there is none of this name.
    """
    if isinstance(asked, Way):
        return asked
    name = asked or task.way or _suiting(task)
    allowed = f"one of {', '.join(WAYS)}, or a Way"
    require(isinstance(name, str) and name in WAYS, "way", name, allowed)
    kind = WAYS[name]
    accepted = {field.name for field in fields(kind)}
    taken = {name: value for name, value in options.items() if name in accepted}
    return kind(**taken)


def _suiting(task: Task) -> str:
    """The name of the way that suits a task which names none."""
    if task.is_corrupted:
        return "corrupted"
    return "blind" if task.is_read_blind else "told"


def searched(
    bench: Bench,
    yardstick: Yardstick,
    candidate_attention: Sequence[float] = CANDIDATE_ATTENTION,
    stays: bool = False,
) -> Circuit:
    """A circuit among what a task says that heads may look at.

    Heads that can be spared get their mean pattern. The circuit is below the least
    limit that one is found below, with every head replaced and with its useful heads
    free. If paths do not serve, heads may keep some of what stands at a position beside
    what they bring there: paths from roles to themselves. The last resort is to judge
    all sets of paths, if there are few, for the smallest that serves.

    Args:
        bench: with the sequences to search on.
        yardstick: has the limits.
        candidate_attention: see `search.search`.
        stays: whether to search among paths from roles to themselves at once.
    """
    from headway.find.spared import spared_once

    paths = bench.patterns.used_as("path")
    own = bench.patterns.used_as("stay")
    among = [] if stays else [paths]
    if own:
        among.append([*paths, *own])
    spared = spared_once(bench)
    limits = yardstick.limits(bench)
    tried = list[Circuit]()
    for limit in limits:
        circuit = search(bench, limit, among, candidate_attention, spared)
        if worst_of(bench, circuit) < limit:
            return circuit
        tried.append(circuit)
    smallest = smallest_serving(bench, tried[-1], limits[-1])
    return min(smallest or tried, key=partial(worst_of, bench))


def smallest_serving(bench: Bench, circuit: Circuit, limit: float) -> list[Circuit]:
    """The smallest circuits among a circuit's candidate paths that serve; none if there
    are too many sets to judge.
    """
    from headway.find.exhaustive import Exhaustive

    candidates = candidates_among(bench, circuit)
    if len(candidates) > FEW_CANDIDATES:
        return []
    sets = Exhaustive(bench.losses, candidates, circuit, limit)
    return [Circuit.of(chosen, sets.idle) for chosen in sets.search(first=True)]
