"""Every circuit among some candidate paths, by judging sets of paths, the smallest first.

A set of paths *serves* if the loss with every head replaced is below the threshold. It is *minimal*
if it serves and no proper subset does. Losses need not fall as paths are added, so that nothing is
concluded from one set about another, but for what holds by definition:

- A set that holds a smaller one that serves is not minimal, and is not judged.

It must serve with the layers above any layer free, too, as the search asks of one circuit. Whether
it does depends on its paths up to that layer alone, and where those fail, no set that has them is
judged.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

from headway.circuits.mechanism import Circuit, Head, Mechanism, Paths
from headway.paths import Path

Losses = Callable[[list[dict[Head, Mechanism]], float], list[float]]
"""The loss of every candidate, or infinity if it is not below the limit."""

Watch = Callable[[int, int, int], None]
"""Called with a number of paths, how many sets were judged and how many minimal ones found."""

AT_ONCE = 1024
"""Sets that are judged between two reports of progress."""

NOTHING = Paths(frozenset())


class Exhaustive:
    """All minimal sets of paths that serve. Sets are bits, in the order of `paths`.

    Attributes:
        judged: how many sets were judged so far, those of the lower layers alone included.
        searched: all minimal sets of up to so many paths are known: -1 if not even the empty set
            was judged, the number of candidates if no set is missing.

    Args:
        losses: judges mechanisms.
        candidates: the paths to choose from.
        idle: what every head does that has none of its paths chosen.
        threshold: the loss to stay below with every head replaced.
        most: the search ends before more sets than this are judged; by default never.
        watch: told after every size, and now and then within.
    """

    def __init__(
        self,
        losses: Losses,
        candidates: Sequence[Path],
        idle: Mapping[Head, Mechanism],
        threshold: float,
        most: int | None = None,
        watch: Watch | None = None,
    ):
        self.losses, self.idle, self.threshold = losses, dict(idle), threshold
        self.most, self.watch = most, watch or (lambda *_: None)
        self.paths = sorted(set(candidates))
        self.choosing = {path.at for path in self.paths}
        self.layers: dict[int, list[int]] = {layer: [] for layer, _ in sorted(self.idle)}
        for i, path in enumerate(self.paths):
            self.layers[path.layer].append(1 << i)
        self.free = dict.fromkeys(self.layers, threshold)
        self.minimal: list[int] = []
        self.judged, self.searched = 0, -1
        self._lower: dict[int, list[list[int]]] = {layer: [] for layer in self.layers}

    def allow(self, circuit: Circuit) -> None:
        """Lets sets lose as much with the layers above one free as a circuit does that is known."""
        chosen = sum(1 << i for i, path in enumerate(self.paths) if path in circuit.paths)
        known = self.losses([self.mechanisms(chosen, layer) for layer in self.free], math.inf)
        for layer, loss in zip(self.free, known, strict=True):
            self.free[layer] = max(self.threshold, math.nextafter(loss, math.inf))

    def search(self, first: bool = False) -> list[frozenset[Path]]:
        """The minimal sets, the smallest first; ends early if there would be too much to judge.

        With `first`, the smallest size at which a set serves is the last.
        """
        for size in range(len(self.paths) + 1):
            sets = self._served_below(size)
            serving = None if sets is None else self._serve(sets, None, size)
            if serving is None:
                break
            self.minimal += serving
            self.searched = size
            self.watch(size, self.judged, len(self.minimal))
            if first and serving:
                break
        return [frozenset(self._chosen(circuit)) for circuit in self.minimal]

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
        limit = self.threshold if above is None else self.free[above]
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
