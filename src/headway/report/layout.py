"""Where everything stands in the drawing of a circuit."""

from dataclasses import dataclass

from headway.circuits import Circuit, Path
from headway.report.roles import Cast, Place, places
from headway.report.routes import ends
from headway.tasks import Task

USEFUL_HEIGHT, USELESS_HEIGHT = 1.3, 0.42

GROUPS = {1: "query", 2: "pair", 3: "row"}
"""What roles that stand together are called, by how many they are."""


@dataclass(frozen=True)
class Grid:
    """Where columns (roles) and rows (the residual stream before and after layers) stand."""

    places: list[Place]
    columns: dict[str, float]
    rows: list[float]

    @property
    def right(self) -> float:
        """Of the last column."""
        return max(self.columns.values())

    @property
    def top(self) -> float:
        """Of the last row."""
        return self.rows[-1]


def grid_of(circuit: Circuit, task: Task | Cast) -> Grid:
    """The grid of a circuit; layers without a useful head are low."""
    standing = places(task)
    columns: dict[str, float] = {}
    x = 0.0
    for i, place in enumerate(standing):
        if i:
            x += 1.0 if place.group == standing[i - 1].group else 1.45
        columns[place.role] = x
    rows, useful = [0.0], set(circuit.useful_layers)
    for layer in sorted({layer for layer, _ in circuit.mechanisms}):
        rows.append(rows[-1] + (USEFUL_HEIGHT if layer in useful else USELESS_HEIGHT))
    return Grid(standing, columns, rows)


def arrow_name(path: tuple[int, int, str]) -> str:
    """The name of a path's group in the SVG."""
    layer, head, relation = path
    return f"arrow-{layer}-{head}-{relation.replace('→', '-')}"


def arrow_ends(grid: Grid, path: Path) -> tuple[tuple[float, float], tuple[float, float]]:
    """Where an arrow starts and ends."""
    query, key = ends(path)
    layer = path[0]
    return (grid.columns[key], grid.rows[layer]), (grid.columns[query], grid.rows[layer + 1])


def bend_of(circuit: Circuit, path: Path) -> float:
    """How much an arrow is bent, so that those of several heads on one way lie side by side."""
    layer, head, relation = path
    twins = [h for at, h, name in circuit.paths if (at, name) == (layer, relation)]
    return 0.3 * (twins.index(head) - (len(twins) - 1) / 2)


def point_on(grid: Grid, circuit: Circuit, path: Path, at: float) -> tuple[float, float]:
    """The point of an arrow `at` so much of its way, 0 where it starts and 1 where it ends."""
    (x, y), (x_end, y_end) = arrow_ends(grid, path)
    run, rise, bend = x_end - x, y_end - y, bend_of(circuit, path)
    aside = 2 * at * (1 - at) * bend
    return x + at * run + aside * rise, y + at * rise - aside * run
