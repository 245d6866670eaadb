"""Which heads of a language model follow the chain, in which layers, and what they contribute."""

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from headway.figures import PALETTE, PAPER, styled
from headway_experiments.figures import Panel, Series, draw_panels, hop_curves, numbered

FOLLOWING = ("look-up", "induction", "read-out")
SIDES = {"from the text": ("look-up", "induction"), "from the answer": ("read-out",)}
MEASURES = {"argmax": "argmax right", "margin": "margin of the right answer"}
KINDS = {
    "top": "the best heads",
    "matched": "drawn, same layers",
    "random": "drawn from all layers",
}


def draw_heads(found: Mapping[str, Any]) -> Figure:
    """How much more attention goes to one's own chain by layer, a line per hop; and the answers
    without the best heads, beside those without random heads.

    Args:
        found: what `heads.json` holds.
    """
    panels = []
    for side, kinds in SIDES.items():
        hops = sorted({one["hop"] for one in found["relations"] if one["kind"] in kinds})
        best = {f"hop {hop}": more(found, kinds, hop).max(1) for hop in hops}
        lines = hop_curves(range(found["layers"]), best)
        panels.append(Panel(side, lines, "layer (its best head)", "more to one's own chain"))
    tops = [str(top) for top in sorted({one["top"] for one in found["effects"]} - {0})]
    for measure, name in MEASURES.items():
        series = []
        for i, (kind, label) in enumerate(KINDS.items()):
            rows = [one["found"][measure] for one in found["effects"] if one["kind"] == kind]
            places = [at + 0.16 * (i - 1) for at in range(len(rows))]
            ends = [(low, high) for _, low, high in rows]
            look = numbered(i, marker=True, ms=4, ls="none")
            series.append(Series(places, [mean for mean, _, _ in rows], look, label, ends))
        levels = {"the whole model": found["effects"][0]["found"][measure][0]}
        limits = {"xlim": (-0.5, len(tops) - 0.5)}
        panels.append(Panel(name, series, "heads out", name, levels, limits=limits, names=tops))
    return draw_panels(panels, columns=2)


@styled
def draw_relations(found: Mapping[str, Any]) -> Figure:
    """A map of all heads, with the best five by their ranks, and one for every relation: how much
    more attention goes to one's own chain, or how much there is where other chains have no such
    role. The full shade is the largest value, but at least 0.05: noise stays pale.

    Args:
        found: what `heads.json` holds.
    """
    maps = {"all that follow": more(found, FOLLOWING)}
    for one in found["relations"]:
        own = np.array(one["own"])
        maps[one["name"]] = own if one["others"] is None else own - np.array(one["others"])
    across, shades = 4, LinearSegmentedColormap.from_list("more", [PAPER, PALETTE[0]])
    down = -(-len(maps) // across)
    figure = Figure(figsize=(8.2, 1.7 * down), layout="constrained")
    axes = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False)
    for name, place in zip_longest(maps, axes.flat):
        place.set_visible(name is not None)
        if name is not None:
            values = maps[name]
            layer, head = np.unravel_index(values.argmax(), values.shape)
            top = max(float(values.max()), 0.05)
            place.imshow(values.T, cmap=shades, vmin=0, vmax=top, aspect="auto")
            place.set_title(f"{name}: {values.max():.3f} in {layer}.{head}", fontsize=7)
    for rank, one in enumerate(found["ranking"][:5], start=1):
        axes.flat[0].text(one["layer"], one["head"], str(rank), ha="center", va="center", size=6)
    figure.supxlabel("layer", fontsize=8)
    figure.supylabel("head", fontsize=8)
    return figure


def more(found: Mapping[str, Any], kinds: Sequence[str], hop: int | None = None) -> Any:
    """How much more attention a head gives its own chain, along the relation that it follows best,
    [layer, head].

    Args:
        found: what `heads.json` holds.
        kinds: of relations.
        hop: that they lead to; by default any.
    """
    maps = [
        np.subtract(one["own"], one["others"])
        for one in found["relations"]
        if one["kind"] in kinds and hop in (None, one["hop"])
    ]
    best: Float[np.ndarray, "layer head"] = np.max(maps, axis=0)
    return best
