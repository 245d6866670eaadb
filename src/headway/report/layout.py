"""Where everything stands in the drawing of a circuit."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from headway.circuits import Circuit, Head, Path
from headway.circuits.roles import Cast, Place, joins_roles, places
from headway.report.labels import shortened
from headway.tasks import Task

USEFUL_HEIGHT, USELESS_HEIGHT = 1.3, 0.42
LINE_HEIGHT = 0.5
"""The room that an arrow with a name takes."""

CHARACTER = 0.12
"""The width, about, of a character of a name."""

GROUPS = {1: "query", 2: "pair", 3: "row"}
"""The name of roles that stand together, by their number."""

KEY, QUERY = "attended to", "attending"
"""The columns of a circuit whose paths do not join roles."""

Point = tuple[float, float]


@dataclass(frozen=True)
class Arrow:
    """Where a path is drawn.

    Attributes:
        start: at the position attended to, before the layer.
        end: at the position that attends, after it.
        bend: how much it is bent, so that arrows of several heads between the same ends lie side by
            side.
        name: what is written on it; empty if its ends say it all.
    """

    start: Point
    end: Point
    bend: float = 0.0
    name: str = ""

    def point(self, at: float) -> Point:
        """The point `at` so much of its way, 0 where it starts and 1 where it ends."""
        (x, y), (x_end, y_end) = self.start, self.end
        run, rise = x_end - x, y_end - y
        aside = 2 * at * (1 - at) * self.bend
        return x + at * run + aside * rise, y + at * rise - aside * run


@dataclass(frozen=True)
class Grid:
    """Where columns, rows and arrows stand.

    Attributes:
        places: what the columns are, from the left.
        columns: where they stand, by role.
        rows: where the residual stream stands before the first layer and after each.
        arrows: of every path.
        joints: points of the streams to mark.
        by_role: whether the columns are roles; else the arrows have names.
    """

    places: list[Place]
    columns: dict[str, float]
    rows: list[float]
    arrows: dict[Path, Arrow]
    joints: list[Point]
    by_role: bool

    @property
    def right(self) -> float:
        """Of the last column."""
        return max(self.columns.values())

    @property
    def top(self) -> float:
        """Of the last row."""
        return self.rows[-1]

    @property
    def braces(self) -> list[tuple[float, float, str]]:
        """Groups of columns: where they begin and end, and what they are called."""
        if not all(place.symbol for place in self.places):
            return []
        found = []
        for _, group in groupby(self.places, lambda place: place.group):
            members = [self.columns[place.role] for place in group]
            found.append((min(members), max(members), GROUPS.get(len(members), "row")))
        return found


def grid_of(circuit: Circuit, task: Task | Cast, character: float = CHARACTER) -> Grid:
    """The grid of a circuit; layers without a useful head are low.

    There is a column per role if all paths join roles. If not, all arrows lead from the column of
    what is attended to, to that of what attends, one below the other, and bear the relation's name.

    Args:
        circuit: a mechanism for every head.
        task: that it was found on, or its cast.
        character: the width of a character of the names.
    """
    if joins_roles(task, circuit.paths):
        return _by_role(circuit, places(task), character)
    return _by_relation(circuit, character)


def _by_role(circuit: Circuit, standing: Sequence[Place], character: float) -> Grid:
    columns: dict[str, float] = {}
    widest = max(len(shortened(place.role)) for place in standing)
    grouped, x = all(place.symbol for place in standing), 0.0
    for i, place in enumerate(standing):
        if i:
            apart = 1.45 if grouped and place.group != standing[i - 1].group else 1.0
            x += max(apart, character * (widest + 2))
        columns[place.role] = x
    useful = set(circuit.useful_layers)
    rows = _rows(circuit, dict.fromkeys(useful, USEFUL_HEIGHT))
    arrows = {}
    for path in circuit.paths:
        query, key = path.relation.ends or ("", "")
        start, end = (columns[key], rows[path.layer]), (columns[query], rows[path.layer + 1])
        same = (path.layer, path.relation)
        twins = [p.head for p in circuit.paths if (p.layer, p.relation) == same]
        bend = 0.3 * (twins.index(path.head) - (len(twins) - 1) / 2)
        arrows[path] = Arrow(start, end, bend)
    touched = {row for layer in useful for row in (layer, layer + 1)} | {0, len(rows) - 1}
    joints = [(x, rows[row]) for x in columns.values() for row in sorted(touched)]
    return Grid(list(standing), columns, rows, arrows, joints, by_role=True)


def _by_relation(circuit: Circuit, character: float) -> Grid:
    names = {path: shortened(path.relation, 36) for path in circuit.paths}
    width = max(2.4, character * (max(map(len, names.values()), default=0) + 8))
    in_layer = {
        layer: [path for path in circuit.paths if path.layer == layer]
        for layer in circuit.useful_layers
    }
    heights = {layer: LINE_HEIGHT * len(paths) + 0.2 for layer, paths in in_layer.items()}
    rows = _rows(circuit, heights)
    arrows = {}
    for layer, paths in in_layer.items():
        for i, path in enumerate(reversed(paths)):
            y = rows[layer] + 0.1 + LINE_HEIGHT * (i + 0.36)
            arrows[path] = Arrow((0.0, y), (width, y), name=names[path])
    columns = {KEY: 0.0, QUERY: width}
    joints = [point for arrow in arrows.values() for point in (arrow.start, arrow.end)]
    sides = [Place(name, "", name) for name in columns]
    return Grid(sides, columns, rows, arrows, joints, by_role=False)


def heads_in(circuit: Circuit, layer: int) -> tuple[list[tuple[int, int]], dict[str, list[Head]]]:
    """What the heads of a layer do: useful ones with their number of paths, the others by kind."""
    useful = [
        (head, sum(path.at == (at, head) for path in circuit.paths))
        for at, head in circuit.useful_heads
        if at == layer
    ]
    idle = {
        kind: [head for head in heads if head[0] == layer]
        for kind, heads in circuit.idle_heads.items()
    }
    return useful, {kind: heads for kind, heads in idle.items() if heads}


def _rows(circuit: Circuit, heights: dict[int, float]) -> list[float]:
    """Where every layer begins and the last one ends; layers without a height are low."""
    rows = [0.0]
    for layer in range(1 + max((layer for layer, _ in circuit.mechanisms), default=-1)):
        rows.append(rows[-1] + heights.get(layer, USELESS_HEIGHT))
    return rows


def arrow_name(path: Path) -> str:
    """The name of a path's group in the SVG."""
    relation = "-".join(path.relation.replace("←", " ").split())
    return f"arrow-{path.layer}-{path.head}-{relation}"
