"""The figure of five behaviours: what of the logit difference each head takes away.

python benchmarks/prompts_figure.py FILE … --out FIGURE

Every file is one that prompts.py has left.
"""

import json
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from frame import options
from headway.report.figures.style import FAINT, PALETTE, TEXT_WIDTH, styled

HEIGHT = 2.3
"""Of a behaviour, in inches."""
MOST = 12
"""Heads of a circuit that are drawn."""


def title_of(row: dict[str, Any]) -> str:
    """The behaviour, and what its circuit keeps."""
    name = row["behaviour"].replace("_", " ")
    heads = len(row["cuts"])
    return f"{name}, {row['model']}: {heads} heads, {row['gap_kept']:.0%} of the gap"


def draw(axes: Axes, row: dict[str, Any]) -> None:
    """Draws the heads of a circuit, and the strongest beside it in grey."""
    own = sorted(row["cuts"], key=lambda cut: -abs(cut["lost"]))[:MOST]
    cuts = [*own, *row["others"]]
    colours = [PALETTE[0]] * len(own) + [FAINT] * len(row["others"])
    lost = [cut["lost"] for cut in cuts]
    off = [cut["interval"][1] - cut["lost"] for cut in cuts]
    axes.bar(range(len(cuts)), lost, yerr=off, color=colours, error_kw={"lw": 0.7})
    axes.axhline(0, color=FAINT, lw=0.7)
    heads = [cut["head"] for cut in cuts]
    axes.set_xticks(range(len(cuts)), heads, rotation=90, fontsize=6.5)
    axes.set_title(title_of(row), fontsize=8)


@styled
def figure_of(studied: list[dict[str, dict[str, Any]]]) -> Figure:
    """The figure: a column for every file, a row for every behaviour."""
    behaviours = list(dict.fromkeys(name for rows in studied for name in rows))
    size = (TEXT_WIDTH * len(studied) / 1.5, HEIGHT * len(behaviours))
    figure = Figure(figsize=size)
    places = figure.subplots(len(behaviours), len(studied), squeeze=False)
    for column, rows in enumerate(studied):
        for line, behaviour in enumerate(behaviours):
            axes = places[line][column]
            if behaviour in rows:
                draw(axes, rows[behaviour])
            else:
                axes.set_axis_off()
    places[0][0].set_ylabel("logit difference lost")
    figure.tight_layout()
    return figure


def main() -> None:
    """Draw the figure."""
    asked = options(__doc__, files=[Path])
    studied = list[dict[str, dict[str, Any]]]()
    for file in asked.files:
        found = json.loads(file.read_text("utf-8"))["found"]
        rows = {row["behaviour"]: row for row in found if "cuts" in row}
        studied.append(rows)
    figure_of(studied).savefig(asked.out, dpi=130)


if __name__ == "__main__":
    main()
