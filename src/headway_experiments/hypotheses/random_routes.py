"""Random circuits for comparison: routes through heads that lead to where answers are read.

A route is what Shi et al. (2024) call a random path from the input to the output. Their nodes are
heads and MLPs; here they are heads, as a path of a circuit is one head reading along one relation.
"""

from collections.abc import Callable, Collection
from itertools import groupby
from random import Random

from headway.circuits import Bench, Path
from headway.errors import HeadwayError
from headway_experiments.hypotheses.reach import Reach

TRIES = 100
"""How often a random circuit is drawn again if it holds the circuit."""


class RandomRoutes:
    """Draws random routes through a model's heads.

    Upwards from the input, the next node is any head of a higher layer or the output, each as
    likely. Then every head, from the top, gets any of the relations that bring something to where
    answers are read, or to where a higher head of the route looks.

    Attributes:
        paths: every path that can be on a route.
    """

    def __init__(self, bench: Bench, random: Random):
        self.random, self.reach = random, Reach(bench)
        self.heads = bench.heads
        known = bench.patterns.relations.items()
        self.relations = [name for name, edges in known if edges.use == "path"]
        live, self.paths = self.reach.read, list[Path]()
        for _, layer in groupby(reversed(self.heads), key=lambda head: head[0]):
            names = self._live(live)
            self.paths += [Path.of(*head, name) for head in layer for name in names]
            live |= self.reach.opened(names)

    def _live(self, live: int) -> list[str]:
        return [name for name in self.relations if self.reach.is_live(name, live)]

    def draw(self) -> list[Path]:
        """A route of one path at least."""
        heads = list[tuple[int, int]]()
        layer = -1
        while above := [head for head in self.heads if head[0] > layer]:
            at = self.random.randrange(len(above) + 1)
            if at < len(above):
                heads.append(above[at])
                layer = above[at][0]
            elif heads:
                break
        live, route = self.reach.read, list[Path]()
        for head in reversed(heads):
            name = self.random.choice(self._live(live))
            route.append(Path.of(*head, name))
            live |= self.reach.opened([name])
        return route

    def paths_of(self, enough: Callable[[set[Path]], bool]) -> set[Path]:
        """The paths of as many random routes as it takes until they are enough."""
        found = set[Path]()
        while not enough(found):
            found |= set(self.draw())
        return found

    def other(self, circuit: Collection[Path]) -> set[Path]:
        """The paths of random routes, at least as many as a circuit has.

        One that holds the whole circuit is drawn again, a hundred times at most: where there are
        few routes, nearly all might hold it.
        """
        size, found = min(len(circuit), len(self.paths)), set[Path]()
        for _ in range(TRIES):
            found = self.paths_of(lambda paths: len(paths) >= size)
            if not set(circuit) <= found:
                break
        return found

    def require_outside(self, circuit: Collection[Path]) -> None:
        """Makes sure that there is a path outside of a circuit to compare its paths with.

        Raises:
            HeadwayError: if there is none.
        """
        if set(self.paths) <= set(circuit):
            raise HeadwayError(
                f"circuit: it has all {len(self.paths)} paths along which these heads can bring"
                " something to an answer, so that there are none to compare its own with"
            )

    def outside(self, circuit: Collection[Path]) -> set[Path]:
        """The paths of a random route that a circuit does not have, at least one."""
        own = set(circuit)
        return self.paths_of(lambda found: not found <= own) - own
