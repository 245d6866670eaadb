"""Which paths depend on which, as a drawing: the predicted and the measured graph side by side.

The drawing brings its own looks, so that it is the same on a page and in a file of its own.
"""

from collections.abc import Sequence

from markupsafe import Markup

from headway.circuits import Path
from headway.circuits.dependence import Dependence
from headway.report.page.canvas import text
from headway.report.page.html import joined, tag

ROW, GAP, MARGIN, TOP = 92, 40, 62, 30
"""Pixels: from layer to layer, between two paths, left of them, and above."""

LETTER, TALL = 7.4, 26
"""Pixels: of a character, and of a path's box."""

ODD = "#d55e00"
"""The colour of dependences that nobody predicted."""

LOOKS = {
    "plain": {"stroke": "currentColor", "marker_end": "url(#dependence-head)"},
    "missed": {
        "stroke": "currentColor",
        "marker_end": "url(#dependence-head)",
        "stroke_dasharray": "5 4",
    },
    "odd": {"stroke": ODD, "marker_end": "url(#dependence-odd)"},
}
"""Of arrows: of what was predicted and measured, predicted only, and measured only."""


def dependence_svg(found: Dependence) -> Markup:
    """The drawing, as an `<svg>` element that also stands alone.

    An arrow leads from a path to one that needs it. Where nothing is predicted, only one graph.
    """
    graphs = [("measured", [pair for pair in found.pairs if pair.formed is False], "odd")]
    if found.predicts:
        graphs.insert(0, ("predicted", [pair for pair in found.pairs if pair.needs], "missed"))
    board = _Board(found.circuit)
    inner = [_heads()]
    for number, (title, pairs, otherwise) in enumerate(graphs):
        arrows = [
            board.arrow(pair.clamped, pair.other, otherwise if pair.agrees is False else "plain")
            for pair in pairs
        ]
        drawn = text(board.width / 2, 20, title, style="font-weight:600"), arrows, board.boxes()
        inner.append(tag("g", drawn, transform=f"translate({number * (board.width + GAP):.0f} 0)"))
    width = len(graphs) * (board.width + GAP) - GAP
    return tag(
        "svg",
        inner,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width:.0f} {board.height:.0f}",
        width=round(width),
        style="max-width:100%;height:auto;font:12px system-ui,sans-serif;text-anchor:middle",
        fill="currentColor",
        role="img",
        aria_label=described(found),
    )


def described(found: Dependence) -> str:
    """The drawing in words."""
    needed = [f"{p.other} needs {p.clamped}" for p in found.pairs if p.formed is False]
    return "Dependences that were measured: " + ("; ".join(needed) or "none")


def _heads() -> Markup:
    """The two kinds of arrowheads."""
    heads = []
    for name, colour in (("head", "currentColor"), ("odd", ODD)):
        tip = tag("path", d="M0,0 L7,3.5 L0,7 z", fill=colour)
        size = {"markerWidth": 7, "markerHeight": 7, "refX": 6.5, "refY": 3.5}
        units = {"markerUnits": "userSpaceOnUse", "orient": "auto"}
        heads.append(tag("marker", tip, id=f"dependence-{name}", **size, **units))
    return tag("defs", heads)


class _Board:
    """Where the paths of a circuit stand: a row per layer, the last on top.

    Args:
        circuit: its paths.
    """

    def __init__(self, circuit: Sequence[Path]):
        several = any(path.head for path in circuit)
        self.names = {path: f"H{path.head} " * several + path.relation for path in circuit}
        self.box = LETTER * max(map(len, self.names.values())) + 12
        self.layers = sorted({path.layer for path in circuit}, reverse=True)
        rows = [[path for path in circuit if path.layer == layer] for layer in self.layers]
        most = max(map(len, rows))
        self.width = MARGIN + most * (self.box + GAP)
        self.height = TOP + ROW * len(rows) - 20
        self.places: dict[Path, tuple[float, float]] = {}
        for down, row in enumerate(rows):
            room = (self.width - MARGIN) / len(row)
            for across, path in enumerate(row):
                x = MARGIN + room * (across + 0.5)
                self.places[path] = x, TOP + ROW * down + ROW / 2 - 12

    def boxes(self) -> Markup:
        """Every path, and the names of the layers."""
        drawn = []
        for down, layer in enumerate(self.layers):
            y = TOP + ROW * down + ROW / 2 - 8
            drawn.append(text(MARGIN / 2 - 4, y, f"layer {layer}", opacity=0.65))
        look = {"style": "fill:var(--card,#fff)", "stroke": "currentColor", "stroke_width": 1.2}
        for path, (x, y) in self.places.items():
            place = {"x": x - self.box / 2, "y": y - TALL / 2}
            drawn.append(tag("rect", **place, width=self.box, height=TALL, rx=6, **look))
            drawn.append(text(x, y + 4, self.names[path]))
        return joined(drawn)

    def arrow(self, needed: Path, needing: Path, look: str) -> Markup:
        """From a path to one that needs it; `look` is one of `LOOKS`."""
        (x0, y0), (x1, y1) = self.places[needed], self.places[needing]
        side = (x1 - x0) * 0.12
        if y0 == y1:
            lift = y0 - TALL / 2 - 26
            start, bend, end = (x0, y0 - TALL / 2), ((x0 + x1) / 2, lift), (x1, y1 - TALL / 2)
        else:
            up = TALL / 2 if y1 < y0 else -TALL / 2
            shift = -8 if y1 < y0 else 8  # so that arrows both ways do not lie on each other
            start, end = (x0 + side + shift, y0 - up), (x1 - side + shift, y1 + up)
            skips = abs(y1 - y0) > ROW
            out = self.box * (0.75 if x1 >= x0 else -0.75) if skips else 0
            bend = (start[0] + end[0]) / 2 + out, (start[1] + end[1]) / 2
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in (bend, end))
        course = f"M{start[0]:.1f},{start[1]:.1f} Q{points}"
        return tag("path", d=course, fill="none", stroke_width=1.5, **LOOKS[look])
