"""How a circuit gets its answer: by what its paths find their keys, and what they bring.

As in `headway.theory`, every position starts with its symbol and the code of its pair or row, and
a path copies all that stands where it looks. A path can find its key by what both positions hold
before the layer. So the paths below that a path needs can be traced: those that brought one of its
two positions what both have in common.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headway.circuits.roles import Cast, joins_roles, places, symbol_order
from headway.paths import Path
from headway.tasks import Task


@dataclass(frozen=True)
class Leg:
    """One path of a circuit, by what it can be found by and what it brings.

    Attributes:
        path: layer, head and relation.
        together: whether the two positions stand in one pair, fact or row, and so share its code
            from the start.
        by: the symbols that both positions hold before the layer.
        codes: the codes of pairs and rows that both hold.
        brings: the symbols that are new to the position that attends.
    """

    path: Path
    together: bool
    by: tuple[str, ...]
    codes: tuple[str, ...]
    brings: tuple[str, ...]


@dataclass(frozen=True)
class Join:
    """A path whose key is found by several symbols, each brought by paths of its own.

    Attributes:
        path: where they meet.
        branches: for every such symbol, the paths that it alone of them depends on.
        key_side: the other paths that brought these symbols to the position attended to.
    """

    path: Path
    branches: dict[str, tuple[Path, ...]]
    key_side: tuple[Path, ...]


@dataclass(frozen=True)
class Routes:
    """How the symbols that a query is asked for come to it.

    Attributes:
        legs: every path of the circuit, in the order in which information flows.
        arrivals: for every symbol that comes to the query, the paths that bring it there.
        needs: for the same symbols, all paths that this depends on, `arrivals` included.
        missing: the hops that are symbols and never reach the query.
        joins: where branches meet on the way to an answer; empty if the way is a chain.
        idle: the paths that no answer depends on, by this account.
    """

    legs: dict[Path, Leg]
    arrivals: dict[str, tuple[Path, ...]]
    needs: dict[str, tuple[Path, ...]]
    missing: tuple[str, ...]
    joins: tuple[Join, ...]
    idle: tuple[Path, ...]

    def gains(self) -> dict[tuple[int, str], tuple[str, ...]]:
        """The symbols that are new to a role after a layer, by layer and role; none are empty."""
        found: dict[tuple[int, str], dict[str, None]] = {}
        for path, leg in self.legs.items():
            if leg.brings:
                new = found.setdefault((path.layer, _ends(path)[0]), {})
                new |= dict.fromkeys(leg.brings)
        return {place: tuple(symbols) for place, symbols in found.items()}

    def last_join(self) -> Join | None:
        """The join nearest to the answer."""
        return max(self.joins, key=lambda join: join.path) if self.joins else None


def trace(task: Task | Cast, paths: Sequence[Path]) -> Routes | None:
    """Traces every symbol asked for back through a circuit.

    None if the task names no symbols, or a path leads elsewhere than from role to role.
    """
    standing = places(task)
    if not all(place.symbol for place in standing) or not joins_roles(task, paths):
        return None
    order = symbol_order(task)
    group = {place.role: place.group for place in standing}
    held = {place.role: {place.symbol, place.group} for place in standing}
    origin: dict[tuple[str, str], list[Path]] = {}
    legs: dict[Path, Leg] = {}
    for layer in sorted({path.layer for path in paths}):
        before = {role: set(pieces) for role, pieces in held.items()}
        for path in (path for path in paths if path.layer == layer):
            query, key = _ends(path)
            shared, new = before[query] & before[key], before[key] - before[query]
            legs[path] = Leg(
                path=path,
                together=group[query] == group[key],
                by=tuple(symbol for symbol in order if symbol in shared),
                codes=tuple(sorted(shared - set(order))),
                brings=tuple(symbol for symbol in order if symbol in new),
            )
            for piece in new:
                origin.setdefault((query, piece), []).append(path)
            held[query] |= new
    tracer = _Tracer(legs, origin)
    query = standing[-1].role
    arrivals = {s: tuple(origin[query, s]) for s in order if (query, s) in origin}
    needs = {symbol: tuple(sorted(tracer.support(query, symbol))) for symbol in arrivals}
    asked = [symbol for symbol in order if symbol in task.hops]
    used = {path for symbol in asked or needs for path in needs.get(symbol, ())}
    joins = (tracer.join(path) for path in legs if path in used)
    return Routes(
        legs=legs,
        arrivals=arrivals,
        needs=needs,
        missing=tuple(symbol for symbol in asked if symbol not in needs),
        joins=tuple(join for join in joins if join is not None),
        idle=tuple(path for path in legs if path not in used),
    )


def _ends(path: Path) -> tuple[str, str]:
    """The role that attends and the role attended to, of a path between roles."""
    assert path.relation.ends is not None
    return path.relation.ends


class _Tracer:
    """Follows pieces back along the paths that first brought them to a role."""

    def __init__(self, legs: Mapping[Path, Leg], origin: Mapping[tuple[str, str], Sequence[Path]]):
        self.legs, self.origin = legs, origin
        self._supports: dict[tuple[str, str], frozenset[Path]] = {}

    def support(self, role: str, piece: str) -> frozenset[Path]:
        """The paths along which a piece moved to a role, and all that they were found by."""
        if (role, piece) not in self._supports:
            found: set[Path] = set()
            for path in self.origin.get((role, piece), ()):
                query, key = _ends(path)
                found |= {path} | self.support(key, piece)
                for other in self.found_by(path):
                    found |= self.support(query, other) | self.support(key, other)
            self._supports[role, piece] = frozenset(found)
        return self._supports[role, piece]

    def found_by(self, path: Path) -> tuple[str, ...]:
        """The pieces that a path depends on to find its key; empty within a pair or row."""
        leg = self.legs[path]
        return () if leg.together else leg.by or leg.codes

    def join(self, path: Path) -> Join | None:
        """The path as a join, if it is one."""
        query, key = _ends(path)
        pieces = self.found_by(path)
        supports = {piece: self.support(query, piece) for piece in pieces}
        branches: dict[str, tuple[Path, ...]] = {}
        for piece, support in supports.items():
            others = frozenset[Path]().union(*(s for p, s in supports.items() if p != piece))
            if support - others:
                branches[piece] = tuple(sorted(support - others))
        if len(branches) < 2:
            return None
        key_side = frozenset[Path]().union(*(self.support(key, piece) for piece in branches))
        own = {path for paths in branches.values() for path in paths}
        return Join(path, branches, tuple(sorted(key_side - own)))
