"""The circuit as the page shows it: positions across, layers upwards, an arrow a path.

Every arrow is a button named by its path (`data-path`). Its width and strength follow the custom
property `--a`, the attention along the path, which the page's script sets as time moves.
"""

import math
from collections.abc import Sequence
from itertools import groupby

from headway.circuits import Circuit, Discovery, Head, Path, Paths
from headway.report.labels import rounded, typeset
from headway.report.layout import GROUPS, Grid, arrow_ends, grid_of, point_on
from headway.report.page.html import escape, path_key, tag
from headway.report.page.looks import Look, path_looks
from headway.report.roles import Cast, gained
from headway.report.routes import Join, ends, trace
from headway.tasks import Task

UNIT = 62
"""Pixels between two roles of one pair."""

LEFT, RIGHT, BELOW, ABOVE = 78, 46, 78, 46
CHARACTER = 6.6
"""Pixels, about, of a character of the labels to the right."""

Point = tuple[float, float]


def circuit_svg(
    circuit: Circuit,
    task: Task | Cast,
    discovery: Discovery | None = None,
    pressable: bool = True,
) -> str:
    """The drawing of a circuit, as an `<svg>` element.

    Args:
        circuit: a mechanism for every head.
        task: that it was found on, or its cast.
        discovery: what is known of the circuit: the attention along its paths, and of the heads
            without a path the evidence that they do nothing. None draws all paths at full strength.
        pressable: whether the arrows are buttons; if not, there is no script to press them for.
    """
    grid, looks = grid_of(circuit, task), path_looks(task, circuit.paths)
    attention = {}
    if discovery is not None:
        attention = {n.path: n.attention for n in discovery.certificate.necessity}
    texts = {layer: _layer_texts(circuit, layer, discovery) for layer in range(len(grid.rows) - 1)}
    longest = max((len(text) for lines in texts.values() for text, *_ in lines), default=0)
    answer = len("answer " + _listed(task.hop_names))
    width = LEFT + UNIT * grid.right + max(RIGHT + CHARACTER * longest, 18 + CHARACTER * answer)
    height = ABOVE + UNIT * grid.top + BELOW
    canvas = _Canvas(grid, height)
    routes = trace(task, circuit.paths)
    join = None if routes is None else routes.last_join()
    inner = (
        _layers(canvas, circuit, texts, width)
        + _columns(canvas, circuit)
        + ("" if join is None else _branches(canvas, circuit, join))
        + "".join(
            _arrow(canvas, circuit, path, looks[path], attention.get(path, 1.0), pressable)
            for path in circuit.paths
        )
        + _gains(canvas, task, circuit)
        + ("" if join is None else _meeting(canvas, circuit, join))
        + _answer(canvas, task)
    )
    return tag(
        "svg",
        inner,
        class_="circuit",
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        style=f"max-width:{width:.0f}px",
        role="group",
        aria_label=described(circuit),
    )


def described(circuit: Circuit) -> str:
    """The circuit in words, for those who do not see it."""
    paths = "; ".join(f"layer {layer} head {head} {name}" for layer, head, name in circuit.paths)
    return f"Circuit of {len(circuit.useful_heads)} heads. Paths: {paths or 'none'}"


class _Canvas:
    """Pixels of the drawing, from places in the grid."""

    def __init__(self, grid: Grid, height: float):
        self.grid, self.height = grid, height

    def x(self, column: float) -> float:
        return LEFT + UNIT * column

    def y(self, row: float) -> float:
        return self.height - BELOW - UNIT * row

    def point(self, at: Point) -> Point:
        return self.x(at[0]), self.y(at[1])


def text(x: float, y: float, words: str, **look: str) -> str:
    """Words at a place; `words` are taken as HTML."""
    return tag("text", words, x=f"{x:.1f}", y=f"{y:.1f}", **look)


def _columns(canvas: _Canvas, circuit: Circuit) -> str:
    grid, parts = canvas.grid, []
    touched = {row for layer in circuit.useful_layers for row in (layer, layer + 1)}
    touched |= {0, len(grid.rows) - 1}
    base = canvas.y(0)
    for place in grid.places:
        x = canvas.x(grid.columns[place.role])
        ends_at = {"x1": f"{x:.1f}", "x2": f"{x:.1f}", "y1": f"{base:.1f}"}
        parts.append(tag("line", "", class_="stream", **ends_at, y2=f"{canvas.y(grid.top):.1f}"))
        for row in sorted(touched):
            at = {"cx": f"{x:.1f}", "cy": f"{canvas.y(grid.rows[row]):.1f}", "r": "2.6"}
            parts.append(tag("circle", "", class_="joint", **at))
        parts.append(text(x, base + 22, typeset(escape(place.role)), class_="role"))
        parts.append(text(x, base + 40, typeset(escape(place.symbol)), class_="quiet"))
    for _, group in groupby(grid.places, lambda place: place.group):
        members = [canvas.x(grid.columns[place.role]) for place in group]
        low, high, y = min(members) - 14, max(members) + 14, base + 49
        brace = f"M{low:.1f},{y:.1f}v4H{high:.1f}v-4"
        parts.append(tag("path", "", class_="brace", d=brace))
        name = GROUPS.get(len(members), "row")
        parts.append(text((low + high) / 2, y + 18, name, class_="small quiet"))
    return "".join(parts)


def _layers(
    canvas: _Canvas, circuit: Circuit, texts: dict[int, list[tuple[str, str, str]]], width: float
) -> str:
    parts, rows = [], canvas.grid.rows
    useful = set(circuit.useful_layers)
    for layer, lines in texts.items():
        top, bottom = canvas.y(rows[layer + 1]), canvas.y(rows[layer])
        middle = (top + bottom) / 2 + 4
        if layer in useful:
            box = {"y": f"{top + 1:.1f}", "height": f"{bottom - top - 2:.1f}"}
            parts.append(tag("rect", "", class_="band", x="0", width=f"{width:.0f}", **box))
        tone = "layer" if layer in useful else "layer quiet"
        parts.append(text(10, middle, f"layer {layer}", class_=tone))
        right = canvas.x(canvas.grid.right) + 40
        for i, (words, evidence, tone) in enumerate(lines):
            y = middle + 16 * (i - (len(lines) - 1) / 2)
            title = tag("title", escape(evidence)) if evidence else ""
            parts.append(text(right, y, escape(words) + title, class_=f"does {tone}"))
    return "".join(parts)


def _layer_texts(
    circuit: Circuit, layer: int, discovery: Discovery | None
) -> list[tuple[str, str, str]]:
    """What stands to the right of a layer: words, the evidence for them, and their class."""
    here = sorted((head, m) for head, m in circuit.mechanisms.items() if head[0] == layer)
    useful, lines = set(circuit.useful_heads), []
    rest: dict[str, list[Head]] = {}
    for head, mechanism in here:
        if isinstance(mechanism, Paths) and head in useful:
            name = f"h{head[1]}: " if len(here) > 1 else ""
            lines.append((f"{name}{len(mechanism)} path{'s' * (len(mechanism) != 1)}", "", ""))
        else:
            rest.setdefault(str(mechanism), []).append(head)
    for kind, heads in rest.items():
        words = kind if len(here) == 1 else f"{len(heads)} {kind}"
        lines.append((words, alone_told(heads, discovery), "idle"))
    return lines


def alone_told(heads: Sequence[Head], discovery: Discovery | None) -> str:
    """What it costs the model to replace these heads, each alone, by what they were found to do."""
    alone = {} if discovery is None else discovery.certificate.alone
    known = [(head, alone[head]) for head in heads if head in alone]
    if discovery is None or not known:
        return ""
    told = "; ".join(f"head {layer}.{h} {rounded(loss)}" for (layer, h), loss in known)
    intact = rounded(discovery.certificate.intact_loss)
    return f"loss of the model with this head alone replaced: {told} (as it is: {intact})"


def _arrow(
    canvas: _Canvas, circuit: Circuit, path: Path, look: Look, attention: float, pressable: bool
) -> str:
    start, end = (canvas.point(p) for p in arrow_ends(canvas.grid, path))
    middle = canvas.point(point_on(canvas.grid, circuit, path, 0.5))
    control = (
        2 * middle[0] - (start[0] + end[0]) / 2,
        2 * middle[1] - (start[1] + end[1]) / 2,
    )
    angle = math.atan2(end[1] - control[1], end[0] - control[0])
    back = (end[0] - 11 * math.cos(angle), end[1] - 11 * math.sin(angle))
    shaft = f"M{_at(start)}Q{_at(control)} {_at(back)}"
    tip = "M" + "L".join(
        _at((end[0] - size * math.cos(angle + turn), end[1] - size * math.sin(angle + turn)))
        for size, turn in ((3, 0), (14, 0.36), (14, -0.36))
    )
    layer, head, relation = path
    carries = f", carries {', '.join(look.carries)}" if look.carries else ""
    name = f"layer {layer} head {head} {relation}{carries}"
    several = sum(at == layer for at, _ in circuit.useful_heads) > 1
    label = text(middle[0], middle[1] + 3, f"h{head}", class_="small onarrow") if several else ""
    button = {"tabindex": "0", "role": "button", "aria_pressed": "false", "aria_label": name}
    return tag(
        "g",
        tag("title", escape(name))
        + tag("path", "", class_="hit", d=shaft)
        + tag("path", "", class_="shaft", d=shaft)
        + tag("path", "", class_="tip", d=tip + "Z")
        + label,
        class_=f"arrow {look.colour}",
        data_path=path_key(path),
        **(button if pressable else {}),
        style=f"--a:{attention:.3f}",
    )


def _gains(canvas: _Canvas, task: Task | Cast, circuit: Circuit) -> str:
    parts = []
    for (layer, role), symbols in gained(task, circuit.paths).items():
        x, y = canvas.x(canvas.grid.columns[role]), canvas.y(canvas.grid.rows[layer + 1])
        parts.append(text(x - 7, y - 7, "+" + _listed(symbols), class_="gain"))
    return "".join(parts)


def _branches(canvas: _Canvas, circuit: Circuit, join: Join) -> str:
    """A band under every path of a branch that ends in the join, and one for what readies it."""
    parts = []
    kinds = [(f"branch{i}", paths) for i, paths in enumerate(join.branches.values())]
    for kind, paths in [*kinds, ("ready", join.key_side)]:
        for path in paths:
            start, end = (canvas.point(p) for p in arrow_ends(canvas.grid, path))
            middle = canvas.point(point_on(canvas.grid, circuit, path, 0.5))
            control = (
                2 * middle[0] - (start[0] + end[0]) / 2,
                2 * middle[1] - (start[1] + end[1]) / 2,
            )
            curve = f"M{_at(start)}Q{_at(control)} {_at(end)}"
            parts.append(tag("path", "", class_=f"branch {kind}", d=curve))
    return "".join(parts)


def _meeting(canvas: _Canvas, circuit: Circuit, join: Join) -> str:
    """The names of the branches on their paths, and a ring where they meet."""
    parts = []
    for symbol, paths in join.branches.items():
        for path in paths:
            x, y = canvas.point(point_on(canvas.grid, circuit, path, 0.27))
            parts.append(text(x, y + 4, typeset(escape(symbol)), class_="branchname"))
    key = ends(join.path)[1]
    x, y = canvas.point(point_on(canvas.grid, circuit, join.path, 0.7))
    names = " + ".join(typeset(escape(symbol)) for symbol in join.branches)
    parts.append(text(x, y + 4, names, class_="branchname", data_key=key))
    x, y = canvas.point(arrow_ends(canvas.grid, join.path)[1])
    parts.append(tag("circle", "", class_="meeting", cx=f"{x:.1f}", cy=f"{y:.1f}", r="9"))
    return "".join(parts)


def _answer(canvas: _Canvas, task: Task | Cast) -> str:
    x = canvas.x(canvas.grid.columns[canvas.grid.places[-1].role])
    y = canvas.y(canvas.grid.top)
    stem = f"M{x:.1f},{y - 4:.1f}v-14m-4,5l4,-6l4,6"
    words = "answer " + _listed(task.hop_names)
    return tag("path", "", class_="out", d=stem) + text(x + 10, y - 16, words, class_="answer")


def _listed(symbols: Sequence[str]) -> str:
    names = [typeset(escape(symbol)) for symbol in symbols]
    return f"{names[0]}…{names[-1]}" if len(names) > 3 else " ".join(names)


def _at(point: Point) -> str:
    return f"{point[0]:.1f},{point[1]:.1f}"
