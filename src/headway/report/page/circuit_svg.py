"""The circuit as the page shows it: roles across, layers upwards, an arrow per path.

Where paths do not join roles, there are two columns, and every arrow bears its relation's name.

Every arrow is a button named by its path (`data-path`). Its width and strength follow the custom
property `--a`, the attention along the path, which the page's script sets as time moves.
"""

import math
from collections.abc import Sequence

from markupsafe import Markup

from headway.circuits import Circuit, Discovery, Head, Path
from headway.circuits.roles import Cast
from headway.circuits.routes import Join, trace
from headway.report.labels import answer_of, few, shortened, typeset
from headway.report.layout import CHARACTER, Grid, grid_of, heads_in
from headway.report.page.canvas import ABOVE, BELOW, Canvas, at_point, text
from headway.report.page.html import joined, path_key, tag
from headway.report.page.looks import Look, path_looks
from headway.tasks import Task
from headway.text import counted, rounded

LEFT, RIGHT = 78, 40
"""Pixels, at least, left of the first column and right of the last."""

LETTER = 6.6
"""Pixels, about, of a character of the labels to the left."""


def circuit_svg(
    circuit: Circuit,
    task: Task | Cast,
    discovery: Discovery | None = None,
    pressable: bool = True,
    bare: bool = False,
) -> Markup:
    """The drawing of a circuit, as an `<svg>` element.

    Args:
        circuit: a mechanism for every head.
        task: that it was found on, or its cast.
        discovery: what is known of the circuit: the attention along its paths, and of the heads
            without a path the evidence that they do nothing. Without it, all paths are drawn at
            full strength.
        pressable: whether the arrows are buttons; if not, there is no script to press them for.
        bare: whether to leave out what is written beside the layers and positions, so that the
            drawing can be read when it is small.
    """
    grid = grid_of(circuit, task, CHARACTER * (1.5 if bare else 1))
    looks = path_looks(task, circuit.paths)
    attention = {}
    if discovery is not None:
        attention = {n.path: n.attention for n in discovery.evidence.necessity}
    layers = range(len(grid.rows) - 1)
    texts = {i: [] if bare else _layer_texts(circuit, i, discovery, grid) for i in layers}
    longest = max((len(text) for lines in texts.values() for text, *_ in lines), default=0)
    left = max(LEFT, 36 + LETTER * longest) + (34 if not grid.by_role else 0)
    canvas = Canvas(grid, left)
    width = canvas.x(grid.right) + RIGHT
    height = canvas.base + (BELOW if grid.braces else BELOW / 2)
    routes = trace(task, circuit.paths)
    join = None if routes is None else routes.last_join()
    inner = [
        _layers(canvas, circuit, texts, width),
        _columns(canvas),
        None if join is None else _branches(canvas, join),
        [
            _arrow(canvas, circuit, path, looks[path], attention.get(path, 1.0), pressable, bare)
            for path in circuit.paths
        ],
        None if join is None else _meeting(canvas, join),
        None if bare else _answer(canvas, task),
    ]
    most = width if grid.by_role else 1.4 * width
    top, bottom = (ABOVE - 16, height - (28 if grid.braces else 5)) if bare else (0, height)
    return tag(
        "svg",
        inner,
        class_="circuit",
        viewBox=f"0 {top:.0f} {width:.0f} {bottom - top:.0f}",
        style=f"max-width:{most:.0f}px",
        role="group",
        aria_label=described(circuit),
    )


def described(circuit: Circuit) -> str:
    """The circuit in words, for those who do not see it."""
    paths = "; ".join(f"layer {p.layer} head {p.head} {p.relation}" for p in circuit.paths)
    return f"Circuit of {len(circuit.useful_heads)} heads. Paths: {paths or 'none'}"


def _columns(canvas: Canvas) -> Markup:
    grid, parts = canvas.grid, []
    base = canvas.base
    for place in grid.places:
        x = canvas.x(grid.columns[place.role])
        parts.append(tag("line", class_="stream", x1=x, x2=x, y1=base, y2=canvas.y(grid.top)))
        kind = "role" if grid.by_role else "small quiet"
        parts.append(text(x, base + 22, typeset(shortened(place.role)), class_=kind))
        if place.symbol:
            parts.append(text(x, base + 40, typeset(shortened(place.symbol)), class_="quiet"))
    for x, y in map(canvas.point, grid.joints):
        parts.append(tag("circle", class_="joint", cx=x, cy=y, r=2.6))
    for first, last, name in grid.braces:
        low, high, y = canvas.x(first) - 14, canvas.x(last) + 14, base + 49
        brace = f"M{low:.1f},{y:.1f}v4H{high:.1f}v-4"
        parts.append(tag("path", class_="brace", d=brace))
        parts.append(text((low + high) / 2, y + 18, name, class_="small quiet"))
    return joined(parts)


def _layers(
    canvas: Canvas, circuit: Circuit, texts: dict[int, list[tuple[str, str, str]]], width: float
) -> Markup:
    parts, rows = [], canvas.grid.rows
    useful = set(circuit.useful_layers)
    for layer, lines in texts.items():
        top, bottom = canvas.y(rows[layer + 1]), canvas.y(rows[layer])
        middle = (top + bottom) / 2 + 4
        if layer in useful:
            size = {"width": round(width), "height": bottom - top - 2}
            parts.append(tag("rect", class_="band", x=0, y=top + 1, **size))
        tone = "layer" if layer in useful else "layer quiet"
        parts.append(text(10, middle - 7 * len(lines), f"layer {layer}", class_=tone))
        for i, (words, evidence, tone) in enumerate(lines, start=1):
            y = middle + 14 * i - 7 * len(lines)
            title = tag("title", evidence) if evidence else None
            parts.append(text(10, y, words, title, class_=f"does {tone}"))
    return joined(parts)


def _layer_texts(
    circuit: Circuit, layer: int, discovery: Discovery | None, grid: Grid
) -> list[tuple[str, str, str]]:
    """What stands below a layer's name: words, the evidence for them, and their class.

    Where arrows have names, nothing more is to be said of heads that have paths.
    """
    useful, idle = heads_in(circuit, layer)
    several = len(useful) + sum(map(len, idle.values())) > 1
    lines = [
        (f"h{head}: " * several + counted(paths, "path"), "", "")
        for head, paths in useful
        if grid.by_role
    ]
    for kind, heads in idle.items():
        words = f"{len(heads)} {kind}" if several else kind
        lines.append((words, alone_told(heads, discovery), "idle"))
    return lines


def alone_told(heads: Sequence[Head], discovery: Discovery | None) -> str:
    """What it costs the model to replace each of these heads alone by its mechanism."""
    alone = {} if discovery is None else discovery.evidence.alone
    known = [(head, alone[head]) for head in heads if head in alone]
    if discovery is None or not known:
        return ""
    told = "; ".join(f"head {layer}.{h} {rounded(loss)}" for (layer, h), loss in known)
    intact = rounded(discovery.evidence.intact_loss)
    return f"loss of the model with this head alone replaced: {told} (as it is: {intact})"


def _arrow(
    canvas: Canvas,
    circuit: Circuit,
    path: Path,
    look: Look,
    attention: float,
    pressable: bool,
    bare: bool,
) -> Markup:
    arrow = canvas.grid.arrows[path]
    start, control, end = canvas.curve(path)
    angle = math.atan2(end[1] - control[1], end[0] - control[0])
    back = end[0] - 11 * math.cos(angle), end[1] - 11 * math.sin(angle)
    shaft = f"M{at_point(start)}Q{at_point(control)} {at_point(back)}"
    tip = "M" + "L".join(
        at_point((end[0] - size * math.cos(angle + turn), end[1] - size * math.sin(angle + turn)))
        for size, turn in ((3, 0), (14, 0.36), (14, -0.36))
    )
    carries = f", carries {', '.join(look.carries)}" if look.carries else ""
    name = f"layer {path.layer} head {path.head} {path.relation}{carries}"
    button = {"tabindex": "0", "role": "button", "aria_pressed": "false", "aria_label": name}
    return tag(
        "g",
        tag("title", name),
        tag("path", class_="hit", d=shaft),
        tag("path", class_="shaft", d=shaft),
        tag("path", class_="tip", d=tip + "Z"),
        _on_arrow(canvas, circuit, path, arrow.name, attention),
        None if bare or not look.carries else _gain(canvas, path, look),
        class_=f"arrow {look.colour}",
        data_path=path_key(path),
        **(button if pressable else {}),
        style=f"--a:{attention:.3f}",
    )


def _on_arrow(
    canvas: Canvas, circuit: Circuit, path: Path, name: str, attention: float
) -> Markup | None:
    """The head, where its layer has several, and of an arrow with a name that and its strength."""
    arrow = canvas.grid.arrows[path]
    x, y = canvas.point(arrow.point(0.5))
    if not name:
        several = sum(at == path.layer for at, _ in circuit.useful_heads) > 1
        return text(x, y + 3, f"h{path.head}", class_="small onarrow") if several else None
    several = any(head for _, head in circuit.mechanisms)
    strength = tag("tspan", f"{attention:.2f}", class_="strength", dx="6")
    words = text(x, y - 7, typeset(name), strength, class_="onarrow")
    x, y = canvas.point(arrow.start)
    head = text(x - 8, y + 4, f"h{path.head}", class_="small head") if several else None
    return joined(words, head)


def _gain(canvas: Canvas, path: Path, look: Look) -> Markup:
    """What the path brings, at its end; above what other paths bring there in the same layer."""
    end = canvas.grid.arrows[path].end
    here = [other for other, arrow in canvas.grid.arrows.items() if arrow.end == end]
    x, y = canvas.point(end)
    return text(x - 7, y - 7 - 12 * here.index(path), "+" + few(look.carries), class_="gain")


def _branches(canvas: Canvas, join: Join) -> Markup:
    """A band under every path of a branch that ends in the join, and one for what readies it."""
    parts = []
    kinds = [(f"branch{i}", paths) for i, paths in enumerate(join.branches.values())]
    for kind, paths in [*kinds, ("ready", join.key_side)]:
        for path in paths:
            start, control, end = canvas.curve(path)
            curve = f"M{at_point(start)}Q{at_point(control)} {at_point(end)}"
            parts.append(tag("path", class_=f"branch {kind}", d=curve))
    return joined(parts)


def _meeting(canvas: Canvas, join: Join) -> Markup:
    """The names of the branches on their paths, and a ring where they meet."""
    parts = []
    for symbol, paths in join.branches.items():
        for path in paths:
            x, y = canvas.point(canvas.grid.arrows[path].point(0.27))
            parts.append(text(x, y + 4, typeset(symbol), class_="branchname"))
    arrow = canvas.grid.arrows[join.path]
    x, y = canvas.point(arrow.point(0.7))
    names = " + ".join(map(typeset, join.branches))
    key = join.path.relation.key or ""
    parts.append(text(x, y + 4, names, class_="branchname", data_key=key))
    x, y = canvas.point(arrow.end)
    parts.append(tag("circle", class_="meeting", cx=x, cy=y, r=9))
    return joined(parts)


def _answer(canvas: Canvas, task: Task | Cast) -> Markup:
    x = canvas.x(canvas.grid.columns[canvas.grid.places[-1].role])
    y = canvas.y(canvas.grid.top)
    stem = f"M{x:.1f},{y - 4:.1f}v-14m-4,5l4,-6l4,6"
    words = text(x + 12, y - 25, answer_of(task.hops), class_="answer")
    return joined(tag("path", class_="out", d=stem), words)
