"""The arrows of a circuit between the roles of a chain, and the symbols that places
keep, as a figure draws them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headway.judge.roles import Cast
from headway.relations.paths import AttentionPath
from headway.report.looks import NOTHING, path_looks
from headway.tasks import Task


@dataclass(frozen=True)
class Way:
    """The heads of a layer that attend from one role to another, as one arrow.

    Attributes:
        layer: theirs.
        key: the column of the role attended to.
        query: the column of the role that attends.
        paths: of every head.
        stripes: the number of the colour of every symbol that is carried; of no name
            where they are not known, or nothing new is brought.
    """

    layer: int
    key: int
    query: int
    paths: list[AttentionPath]
    stripes: dict[str, int]


@dataclass(frozen=True)
class Upright:
    """A symbol that a place keeps.

    Attributes:
        column: of the place.
        symbol: its name; empty if it is not known.
        first: the layer before which it begins.
        last: the layer before which it ends.
    """

    column: int
    symbol: str
    first: int
    last: int


def ends_of(
    path: AttentionPath | None, columns: Mapping[str, int]
) -> tuple[int, int] | None:
    """The columns that a path leads from, attended to, and to; None if it does not join
    roles.
    """
    ends = path.relation.ends if path else None
    if ends is None or not columns.keys() >= {*ends}:
        return None
    query, key = ends
    return columns[key], columns[query]


def ways_of(
    task: Task | Cast,
    paths: Sequence[AttentionPath],
    columns: Mapping[str, int],
    colours: Mapping[str, int],
) -> list[Way]:
    """The arrows of a circuit, lower layers first; other paths have none.

    Args:
        task: whose symbols are carried.
        paths: of the circuit.
        columns: of every role.
        colours: the number of every symbol's colour.
    """
    ways: dict[tuple[int, int, int], Way] = {}
    joining = [path for path in paths if ends_of(path, columns) is not None]
    for path, look in path_looks(task, joining).items():
        key, query = ends_of(path, columns) or (0, 0)
        at = path.layer, key, query
        way = ways.setdefault(at, Way(*at, [], {}))
        way.paths.append(path)
        if not look.carries:
            way.stripes[""] = min(look.colour, 0)  # 0, or `NOTHING`, which is negative
        for symbol in look.carries:
            way.stripes.setdefault(symbol, colours[symbol])
    return list(ways.values())


def uprights_of(ways: Sequence[Way], answer: int, n_layers: int) -> list[Upright]:
    """The symbols that places keep: from the layer where one arrives, or the first, to
    that where it is last read.

    Args:
        ways: all arrows.
        answer: the column of the query, which keeps all.
        n_layers: of the model.
    """
    spans: dict[tuple[int, str], list[int]] = {}
    for way in ways:
        arrives = way.layer + 1
        until = n_layers
        if way.query != answer:
            until = _last_read(ways, way)
        for symbol, colour in way.stripes.items():
            if colour == NOTHING:
                continue
            if until > arrives:
                spans.setdefault((way.query, symbol), []).extend((arrives, until))
            if way.layer and not _is_brought(ways, way, symbol):
                spans.setdefault((way.key, symbol), []).extend((0, way.layer))
    return [Upright(*at, min(span), max(span)) for at, span in spans.items()]


def _last_read(ways: Sequence[Way], way: Way) -> int:
    """The layer that last reads the place that an arrow leads to; 0 if none does."""
    reads = [0]
    for other in ways:
        if other.layer > way.layer and way.query in (other.key, other.query):
            reads.append(other.layer)
    return max(reads)


def _is_brought(ways: Sequence[Way], way: Way, symbol: str) -> bool:
    """True if an arrow below brings a symbol to where another takes it."""
    return any(
        other.layer < way.layer and other.query == way.key and symbol in other.stripes
        for other in ways
    )


def lanes_of(ways: Sequence[Way], order: Sequence[str]) -> dict[tuple[int, str], float]:
    """By column and symbol how far a line stands beside the middle of its column, in
    lanes: what a place keeps stands where it arrives and where it is taken from.

    Args:
        ways: all arrows.
        order: all symbols, from left to right.
    """
    used = set[tuple[int, str]]()
    for way in ways:
        for symbol in way.stripes:
            used |= {(way.key, symbol), (way.query, symbol)}
    lanes = dict[tuple[int, str], float]()
    for column in {column for column, _ in used}:
        symbols = [symbol for symbol in order if (column, symbol) in used]
        for i, symbol in enumerate(symbols):
            lanes[column, symbol] = i - (len(symbols) - 1) / 2
    return lanes
