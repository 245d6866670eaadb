"""Random circuits planted in transformers, to score the discovery of circuits on.

Every symbol x_j that the query must name gets a random route on the labelled task: from
a role that holds it, over up to two roles that do not, to the query, through heads of
ever later layers. Every hop copies a register along one path, into a register of its
own, so that nothing else can disturb it, and that a head made uniform or identity
cannot do the same.
"""

import random
from dataclasses import dataclass, field

from headway.errors import require
from headway.relations import AttentionPath
from headway.replace import Head
from headway_experiments.arena.case import Known
from headway_experiments.arena.wiring import Labelled, Move, Wire, Wiring

HALVES = ("low", "high")


class _StuckError(Exception):
    """No head is left for what was drawn; another draw is needed."""


def planted(seed: int) -> Known:
    """A transformer with a random circuit, for the labelled task with N = 4, K = 4.

    Drawn at random: the depth (1 to 4), layers (3 to 8), heads in a layer (1 to 3), all
    routes, where roles without a path attend (to themselves, or evenly to their chain),
    and:

    - split symbols: two heads carry one half each;
    - told heads, which look in the right place only if an earlier head moved them a
      mark;
    - shared paths and heads, which carry several symbols;
    - spare routes, in models with MLPs: a second route for a symbol that the last MLP
      takes only if the first delivers nothing, so that either suffices
      (`Known.alternatives`);
    - decoys: heads that attend sharply and move nothing, or move symbols to where
      nobody reads them, and such paths in useful heads; and heads that attend evenly
      everywhere.

    Args:
        seed: of everything random; the same seed gives the same model.

    Raises:
        HeadwayError: if `seed` is negative.
    """
    require(seed >= 0, "seed", seed, "a whole number of at least 0")
    rng = random.Random(seed)
    depth = rng.randint(1, 4)
    while True:
        try:
            return _Draw(rng, depth).known()
        except _StuckError:
            continue


@dataclass(frozen=True)
class _Hop:
    """A hop of a symbol's route: a head fills `target` of the asker from `source` of
    its key.
    """

    symbol: int
    head: Head
    query: str
    source: str
    target: str


@dataclass
class _Draw:
    """One draw of a circuit; raises `_StuckError` where it runs out of heads."""

    rng: random.Random
    depth: int
    wiring: Wiring = field(init=False)
    required: set[AttentionPath] = field(init=False, default_factory=set)
    alternatives: list[tuple[frozenset[AttentionPath], ...]] = field(
        init=False, default_factory=list
    )
    decoys: set[AttentionPath] = field(init=False, default_factory=set)
    private: set[tuple[Head, str]] = field(init=False, default_factory=set)
    hops: list[_Hop] = field(init=False, default_factory=list)
    told: dict[Head, tuple[Head, str]] = field(init=False, default_factory=dict)
    """By head that must be told where to look: the head that tells, and the role it has
    seen.
    """

    def __post_init__(self):
        layers = self.rng.randint(3, 8)
        heads = self.rng.randint(1, 3)
        task = Labelled(depth=self.depth)
        self.wiring = Wiring(task, layers, heads)

    def known(self) -> Known:
        """Draws routes, then decoys, and builds the model."""
        each = range(1, self.depth + 1)
        symbols = self.rng.sample(each, self.depth)
        count = (self.depth + 1) // 2
        spared = symbols[:count] if self.rng.random() < 0.5 else []
        for symbol in symbols:
            if symbol in spared:
                self._spared_symbol(symbol)
            else:
                self._symbol(symbol)
        for wire in self.wiring.wires.values():
            wire.selfish = self.rng.random() < 0.5
        self._decoys()
        self._refuse_shortcuts()
        targets = []
        for symbol in each:
            name = "result" if symbol in spared else "x"
            targets += [f"{name}_{symbol}.{half}" for half in HALVES]
        return Known(
            self.wiring.build(targets),
            self.wiring.task,
            frozenset(self.required),
            tuple(self.alternatives),
            frozenset(self.decoys),
        )

    def _symbol(self, symbol: int) -> None:
        """The one route of a symbol to the query, or one route for each half."""
        moves = _moves(f"x_{symbol}")
        if self.rng.random() < 0.3:
            for move in moves:
                holder = self._holder(symbol)
                self.required |= self._route(symbol, holder, [move])
        else:
            holder = self._holder(symbol)
            self.required |= self._route(symbol, holder, moves, tells=True)

    def _spared_symbol(self, symbol: int) -> None:
        """Two routes of a symbol that share no path; the first carries a flag along."""
        flag = f"flag_{symbol}"
        start = self._holder(symbol)
        moves = [*_moves(f"x_{symbol}"), (start, flag)]
        first = self._route(symbol, start, moves, private=True)
        spare_start = self._holder(symbol)
        spare_moves = _moves(f"spare_{symbol}")
        second = self._route(symbol, spare_start, spare_moves, private=True)
        self.alternatives.append((frozenset(first), frozenset(second)))
        for half in HALVES:
            primary = f"x_{symbol}.{half}"
            backup = f"spare_{symbol}.{half}"
            self.wiring.gate(primary, backup, flag, f"result_{symbol}.{half}")

    @property
    def _order(self) -> list[str]:
        """The roles as they stand in a sequence: deepest pair first, the query last."""
        order = []
        for pair in range(self.depth, 0, -1):
            order += [f"s{2 * pair - 1}", f"s{2 * pair}"]
        return [*order, "s0"]

    def _holders(self, symbol: int) -> list[str]:
        """The roles that hold a symbol."""
        return [role for role in self._order if int(role[1:]) // 2 == symbol]

    def _holder(self, symbol: int) -> str:
        return self.rng.choice(self._holders(symbol))

    def _route(
        self,
        symbol: int,
        start: str,
        moves: list[Move],
        private: bool = False,
        tells: bool = False,
    ) -> set[AttentionPath]:
        """Carries registers of `start` to registers of the query; returns the paths.

        Args:
            symbol: the symbol carried.
            start: the role that the route starts from.
            moves: (register of `start`, register of the query).
            private: whether no other route may use the same paths.
            tells: whether hops may be by heads that must be told where to look.
        """
        roles, layers = self._stops(start)
        sources = [source for source, _ in moves]
        targets = [target for _, target in moves]
        paths: set[AttentionPath] = set()
        for hop, layer in enumerate(layers):
            key, query = roles[hop : hop + 2]
            is_last = hop == len(layers) - 1
            landings = (
                targets if is_last else [f"{target}@{query}" for target in targets]
            )
            carried = list(zip(sources, landings, strict=True))
            for source, landing in carried:
                self.wiring.register(landing, source)
            sources = landings
            if tells and layer > 0 and self.rng.random() < 0.3:
                head, teller = self._told_head(layer, query)
                paths.add(teller)
            else:
                head = self._head(layer, query, key, private)
            paths.add(self.wiring.path(head, query, key, carried))
            self.hops.append(_Hop(symbol, head, query, *carried[0]))
        return paths

    def _stops(self, start: str) -> tuple[list[str], list[int]]:
        """The roles that a route goes through, from one to s0, and the layers of its
        hops.
        """
        place = self._order.index(start)
        between = self._order[place + 1 : -1]
        count = min(self.rng.randint(0, 2), len(between))
        stops = sorted(self.rng.sample(between, count), key=self._order.index)
        every_layer = range(self.wiring.n_layers)
        layers = sorted(self.rng.sample(every_layer, count + 1))
        return [start, *stops, "s0"], layers

    def _head(self, layer: int, query: str, key: str, private: bool = False) -> Head:
        """A random head of a layer that can take a path; half the time one that has
        it.
        """
        free = []
        shared = []
        for head, wire in self.wiring.wires.items():
            if head[0] != layer or head in self.told:
                continue
            if query not in wire.keys:
                free.append(head)
            elif (
                wire.keys[query] == key
                and not private
                and (head, query) not in self.private
            ):
                shared.append(head)
        if not free and not shared:
            raise _StuckError
        candidates = free or shared
        if shared and self.rng.random() < 0.5:
            candidates = shared
        head = self.rng.choice(candidates)
        if private:
            self.private.add((head, query))
        return head

    def _told_head(self, layer: int, query: str) -> tuple[Head, AttentionPath]:
        """A head of its own for a hop, and the path that moves the mark which tells it
        to look.
        """
        wires = self.wiring.wires
        unused = [
            head for head, wire in wires.items() if head[0] == layer and not wire.keys
        ]
        if not unused:
            raise _StuckError
        head = self.rng.choice(unused)
        marked = self._seen_by(query)
        mark = f"mark_{head[0]}_{head[1]}"
        self.wiring.register(mark, marked)
        wires[head].told = mark
        lower = self.rng.randrange(layer)
        teller = self._head(lower, query, marked)
        self.told[head] = teller, marked
        return head, self.wiring.path(teller, query, marked, [(marked, mark)])

    def _seen_by(self, query: str) -> str:
        """Some role that stands before another."""
        place = self._order.index(query)
        return self.rng.choice(self._order[:place])

    def _refuse_shortcuts(self) -> None:
        """Refuses a hop to a position that already holds what it brings, by whatever
        path.
        """
        holding: dict[str, set[str]] = {}
        for hop in self.hops:
            holders = set(self._holders(hop.symbol))
            known = holding.get(hop.source, holders)
            if hop.query in known:
                raise _StuckError
            holding[hop.target] = self._reached(hop, known)

    def _reached(self, hop: _Hop, known: set[str]) -> set[str]:
        """The roles that hold a symbol after a hop, meant to or not."""
        wire = self.wiring.wires[hop.head]
        if hop.head not in self.told:
            reached = {query for query, key in wire.keys.items() if key in known}
            return reached | (known - wire.keys.keys()) if wire.selfish else reached
        if not known & {*wire.keys.values()}:
            return set()
        teller, marked = self.told[hop.head]
        tells = self.wiring.wires[teller]
        # All that get the mark look along the paths, meant to or not.
        asked = {query for query, key in tells.keys.items() if key == marked}
        if tells.selfish and marked not in tells.keys:
            asked.add(marked)
        return asked

    def _decoys(self) -> None:
        """Paths to no effect, in heads of their own and in heads that are of use."""
        symbols = [name for name in self.wiring.widths if name.endswith(HALVES)]
        self.wiring.register("unread", "token.low")
        for head, wire in self.wiring.wires.items():
            if head in self.told:
                continue
            if wire.keys:
                if self.rng.random() < 0.3:
                    self._decoy_path(head, wire)
            elif self.rng.random() < 0.6:
                if self.rng.random() < 0.7:
                    wire.moves.append((self.rng.choice(symbols), "unread"))
                for _ in range(self.rng.randint(1, 3)):
                    self._decoy_path(head, wire)

    def _decoy_path(self, head: Head, wire: Wire) -> None:
        askers = [role for role in self._order[1:] if role not in wire.keys]
        if askers:
            query = self.rng.choice(askers)
            key = self._seen_by(query)
            self.decoys.add(self.wiring.path(head, query, key))


def _moves(target: str) -> list[Move]:
    """Both halves of the token, to the halves of a register."""
    return [(f"token.{half}", f"{target}.{half}") for half in HALVES]
