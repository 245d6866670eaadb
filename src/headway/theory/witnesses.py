"""A circuit with the fewest layers, and as few attention paths as can be found.

It is traced back from the goal. A role that holds a piece after a layer held it before,
or took it over along a path. That path takes a key that held the piece, and a piece
that both shared, by which the key was found. If these branches shared no paths, the
number of paths would be a sum. The least such sum is found layer by layer; then the
circuit is read off, and paths that it does not need are left out.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from headway.errors import require
from headway.relations.paths import AttentionPath, Relation
from headway.theory.counting import solves
from headway.theory.flow import Flow

Costs = Float[np.ndarray, "role piece"]
"""For every role and piece, the least number of paths that it takes to hold it; inf if
none is enough."""


@dataclass(frozen=True)
class Witness:
    """A circuit that brings the goal to the query.

    Attributes:
        flow: the problem.
        causal: whether the paths keep to the causal mask.
        layers: how many it has.
        paths: the circuit. Every head has at most one path from each role.
        least: paths that any circuit must have, in any number of layers.
    """

    flow: Flow
    causal: bool
    layers: int
    paths: tuple[AttentionPath, ...]
    least: int

    @property
    def heads(self) -> int:
        return len({path[:2] for path in self.paths})

    @property
    def fewest(self) -> bool:
        """True if no circuit at all has fewer paths."""
        return len(self.paths) == self.least


def witness(flow: Flow, causal: bool = True, layers: int | None = None) -> Witness:
    """A circuit with so many layers, and as few paths as can be found.

    Args:
        flow: the problem.
        causal: whether a position sees only itself and what stands before it.
        layers: at least as many as are needed; by default just as many.

    Raises:
        HeadwayError: if no circuit with so many layers can answer.
    """
    least = flow.minimum_layers(causal)
    require(least is not None, "goal", flow.goal, "a piece that can reach the query")
    assert least is not None
    layers = least if layers is None else layers
    require(
        layers >= least,
        "layers",
        layers,
        f"at least {least}, as information flows no faster",
    )
    paths = _Trace(flow, causal, layers).paths()
    assert solves(flow, sorted(paths), causal), (
        "a circuit was traced that does not answer"
    )
    for path in sorted(paths, reverse=True):
        fewer = paths - {path}
        if solves(flow, sorted(fewer), causal):
            paths = fewer
    # Were such a role attended to by none, the query would never hold the goal, in
    # however many layers. So every circuit has at least one path for each.
    others = flow.roles[:-1]
    needed = [
        role for role in others if flow.minimum_layers(causal, hidden=[role]) is None
    ]
    return Witness(flow, causal, layers, _with_heads(flow, paths), len(needed))


class _Trace:
    """The fewest paths by which each role can hold each piece, layer by layer."""

    def __init__(self, flow: Flow, causal: bool, layers: int):
        self.flow = flow
        self.layers = layers
        itself = np.eye(len(flow.roles), dtype=bool)
        self.allowed = flow.visible(causal) & ~itself
        held: Costs = np.where(flow.start(), 0.0, np.inf)
        self.costs = [held]
        self.finding = list[Float[np.ndarray, "query key"]]()
        for layer in range(layers):
            before = self.costs[layer]
            finding = self._finding(before, layer)
            bringing = 1 + finding
            after = np.stack([(row[:, None] + before).min(0) for row in bringing])
            self.finding.append(finding)
            self.costs.append(np.minimum(before, after))

    def _finding(self, costs: Costs, layer: int) -> Float[np.ndarray, "query key"]:
        """The number of paths until a query can find a key, for every pair."""
        finders = self.flow.finders(layer)
        usable = np.where(finders, costs, np.inf)
        finding = np.stack([(usable + row).min(1) for row in usable])
        for looking_in, needed in self.flow.guards:
            if finders[needed].any():
                finding = np.where(looking_in, 0.0, finding)
        for looking_in, needed in self.flow.guards:
            alone = costs[:, needed].sum(1)
            together = finding + np.add.outer(alone, alone)
            finding = np.where(looking_in, together, finding)
        finding[self.flow.known] = 0.0
        return np.where(self.allowed, finding, np.inf)

    def _found_by(self, query: int, key: int, layer: int) -> list[int]:
        """The pieces that a query finds a key by in a layer."""
        if self.flow.known[query, key]:
            return []
        finders = self.flow.finders(layer)
        pieces = np.zeros_like(finders)
        for looking_in, needed in self.flow.guards:
            if looking_in[query, key]:
                pieces |= needed
        if not (pieces & finders).any():
            costs = np.where(finders, self.costs[layer], np.inf)
            both = costs[query] + costs[key]
            pieces[both.argmin()] = True
        return np.flatnonzero(pieces).tolist()

    def paths(self) -> frozenset[AttentionPath]:
        """A cheapest circuit, its heads not told apart."""
        self._found: set[AttentionPath] = set()
        self._asked: set[tuple[int, int, int]] = set()
        query = len(self.flow.roles) - 1
        goal = self.flow.pieces.index(self.flow.goal)
        self._hold(query, goal, self.layers)
        return frozenset(self._found)

    def _hold(self, role: int, piece: int, layers: int) -> None:
        """Adds the paths by which a role holds a piece after so many layers."""
        while (
            layers
            and self.costs[layers][role, piece] == self.costs[layers - 1][role, piece]
        ):
            layers -= 1
        if layers == 0 or (role, piece, layers) in self._asked:
            return
        self._asked.add((role, piece, layers))
        layer = layers - 1
        bringing = self.finding[layer][role] + self.costs[layer][:, piece]
        key = int(bringing.argmin())
        roles = self.flow.roles
        relation = Relation.between(roles[role], roles[key])
        self._found.add(AttentionPath(layer, 0, relation))
        self._hold(key, piece, layer)
        for shared in self._found_by(role, key, layer):
            self._hold(role, shared, layer)
            self._hold(key, shared, layer)


def _with_heads(
    flow: Flow, paths: frozenset[AttentionPath]
) -> tuple[AttentionPath, ...]:
    """The paths, those of one role in one layer given to different heads."""
    taken: dict[tuple[int, str], int] = {}
    numbered = []
    for path in sorted(paths):
        place = (path.layer, flow.ends(path)[0])
        head = taken.get(place, 0)
        taken[place] = head + 1
        numbered.append(path._replace(head=head))
    return tuple(sorted(numbered))
