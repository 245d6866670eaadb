"""Every circuit among some candidate paths, by judging sets of paths, the smallest first.

A set of paths *serves* if the loss with every head replaced is below the threshold. It is *minimal*
if it serves and no proper subset does. Losses need not fall as paths are added, so that nothing is
concluded from one set about another, but for what holds by definition:

- A set that holds a smaller one that serves is not minimal, and is not judged.
- A path is dead if nothing that it brings can come to where answers are read, through the paths
  of its set and the heads without. A set with a dead path has the same loss as without it, so it is
  not minimal, and is not judged (`Reach`).

A set may be asked to serve with the layers above any layer free, too, as the search asks of one
circuit. Dead paths may then help free heads find their keys. But whether a set serves with all
above a layer free depends on its paths up to there alone, and where those fail, no set that has
them is judged.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice

from headway.circuits.mechanism import Circuit, Head, Mechanism, Paths
from headway.circuits.reach import Reach
from headway.paths import Path

Losses = Callable[[list[dict[Head, Mechanism]], float], list[float]]
"""The loss of every candidate, or infinity if it is not below the limit."""

Watch = Callable[[int, int, int], None]
"""Called with a number of paths, how many sets were judged and how many minimal ones found."""

AT_ONCE = 1024
"""Sets that are judged between two reports of progress."""

NOTHING = Paths(frozenset())


@dataclass(frozen=True)
class Found:
    """What an exhaustive search found.

    Attributes:
        circuits: the minimal sets of paths, the smallest first.
        judged: how many sets were judged, those of the lower layers alone included.
        searched: all minimal sets of up to so many paths are known: -1 if not even the empty set
            was judged, the number of candidates if no set is missing.
    """

    circuits: list[frozenset[Path]]
    judged: int
    searched: int


class Exhaustive:
    """All minimal sets of paths that serve. Sets are bits, in the order of `paths`.

    Args:
        losses: judges mechanisms.
        candidates: the paths to choose from.
        idle: what every head does that has none of its paths chosen.
        threshold: the loss to stay below with every head replaced.
        reach: where paths lead; by default any path may be of use to any other.
        free: for every layer, the loss to stay below with the layers above it free; by default
            this is not asked.
        most: the search ends before more sets than this are judged; by default never.
        watch: told after every size, and now and then within.
    """

    def __init__(
        self,
        losses: Losses,
        candidates: Sequence[Path],
        idle: Mapping[Head, Mechanism],
        threshold: float,
        reach: Reach | None = None,
        free: Sequence[float] | None = None,
        most: int | None = None,
        watch: Watch | None = None,
    ):
        self.losses, self.idle, self.threshold = losses, dict(idle), threshold
        self.reach, self.free = reach, free
        self.most, self.watch = most, watch or (lambda *_: None)
        self.paths = sorted(set(candidates))
        self.choosing = {path.at for path in self.paths}
        self.layers: dict[int, list[int]] = {layer: [] for layer, _ in sorted(self.idle)}
        for i, path in enumerate(self.paths):
            self.layers[path.layer].append(1 << i)
        self.minimal: list[int] = []
        self.judged = 0
        self._lower: dict[int, list[list[int]]] = {layer: [] for layer in self.layers}
        self._opened: dict[tuple[int, int], int] = {}

    def search(self) -> Found:
        """Goes through all sizes, and ends early if there would be too much to judge."""
        searched = -1
        for size in range(len(self.paths) + 1):
            sets = self._alive(size) if self.free is None else self._served_below(size)
            serving = None if sets is None else self._serve(sets, None, size)
            if serving is None:
                break
            self.minimal += serving
            searched = size
            self.watch(size, self.judged, len(self.minimal))
        circuits = [frozenset(self._chosen(circuit)) for circuit in self.minimal]
        return Found(circuits, self.judged, searched)

    def _alive(self, size: int) -> list[int] | None:
        """The sets of a size without dead paths that hold no minimal one; None if too many."""
        downwards = sorted(self.layers, reverse=True)
        within = [
            sum(len(self.layers[layer]) for layer in downwards[i:])
            for i in range(len(downwards) + 1)
        ]

        def grown(i: int, above: int, left: int, live: int) -> Iterator[int]:
            if left > within[i]:
                return
            if i == len(downwards):
                if self._is_open(above):
                    yield above
                return
            layer = downwards[i]
            bits = [bit for bit in self.layers[layer] if self._is_live(bit, live)]
            for count in range(min(left, len(bits)) + 1):
                for chosen in map(sum, combinations(bits, count)):
                    below = live | self._opening(layer, chosen)
                    yield from grown(i + 1, above | chosen, left - count, below)

        room = None if self.most is None else self.most - self.judged + 1
        sets = list(islice(grown(0, 0, size, self.reach.read if self.reach else 0), room))
        return None if len(sets) == room else sets

    def _is_live(self, bit: int, live: int) -> bool:
        """Whether a path is alive, as one is that changes what its head does elsewhere."""
        path = self.paths[bit.bit_length() - 1]
        if self.reach is None or self.idle[path.at] != NOTHING:
            return True
        return self.reach.is_live(path.relation, live)

    def _opening(self, layer: int, chosen: int) -> int:
        """The relations that become live below a layer with these paths."""
        if self.reach is None:
            return 0
        if (layer, chosen) not in self._opened:
            heads = self.mechanisms(chosen).items()
            there = [mechanism for head, mechanism in heads if head[0] == layer]
            self._opened[layer, chosen] = self.reach.opened(there)
        return self._opened[layer, chosen]

    def _served_below(self, size: int) -> list[int] | None:
        """The sets of a size whose lower layers serve with those above free; None if too many."""
        below: list[list[int]] = [[0], *([] for _ in range(size))]
        last = max((path.layer for path in self.paths), default=-1)
        for layer, bits in self.layers.items():
            if not bits:
                continue
            sets = [
                lower | sum(chosen)
                for count in range(min(size, len(bits)) + 1)
                for lower in below[size - count]
                for chosen in combinations(bits, count)
            ]
            sets = [one for one in sets if self._is_open(one)]
            served = sets if layer == last else self._serve(sets, layer, size)
            if served is None:
                return None
            self._lower[layer].append(served)
            below = self._lower[layer]
        return below[size]

    def _is_open(self, chosen: int) -> bool:
        """Whether a set holds no minimal one."""
        return not any(chosen & circuit == circuit for circuit in self.minimal)

    def _serve(self, sets: Sequence[int], above: int | None, size: int) -> list[int] | None:
        """Those of some sets that serve, with those above a layer free; None if too many."""
        if self.most is not None and self.judged + len(sets) > self.most:
            return None
        limit = self.threshold if above is None or self.free is None else self.free[above]
        serving: list[int] = []
        for start in range(0, len(sets), AT_ONCE):
            some = sets[start : start + AT_ONCE]
            found = self.losses([self.mechanisms(one, above) for one in some], limit)
            serving += [one for one, loss in zip(some, found, strict=True) if loss < limit]
            self.judged += len(some)
            self.watch(size, self.judged, len(self.minimal))
        return serving

    def mechanisms(self, chosen: int, above: int | None = None) -> dict[Head, Mechanism]:
        """What replaces which heads; those above a layer that have candidates are left free."""
        replaced = {**self.idle, **Circuit.of(self._chosen(chosen)).mechanisms}
        return {
            head: mechanism
            for head, mechanism in replaced.items()
            if above is None or head[0] <= above or head not in self.choosing
        }

    def _chosen(self, chosen: int) -> list[Path]:
        return [path for i, path in enumerate(self.paths) if chosen >> i & 1]


def idle_mechanisms(circuit: Circuit) -> dict[Head, Mechanism]:
    """What every head does that has no path chosen: nothing if it has some in a circuit.

    Otherwise what it does there. This is what is left of a circuit with all its paths cut.
    """
    return {
        head: NOTHING if isinstance(mechanism, Paths) else mechanism
        for head, mechanism in circuit.mechanisms.items()
    }
