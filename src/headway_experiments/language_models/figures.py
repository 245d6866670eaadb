"""Which heads of a language model follow the chain, in which layers, and what they contribute."""

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.ticker import MaxNLocator

from headway.figures import FAINT, PALETTE, PAPER, draw_intervals, hop_lines, look, styled

FOLLOWING = ("look-up", "induction", "read-out")
SIDES = {"from the text": ("look-up", "induction"), "from the answer": ("read-out",)}
MEASURES = {"argmax": "argmax right", "margin": "margin of the right answer"}
KINDS = {
    "top": "the best heads",
    "matched": "drawn, same layers",
    "random": "drawn from all layers",
}


@styled
def draw_heads(found: Mapping[str, Any]) -> Figure:
    """How much more attention every head gives its own chain; the same by layer, a line per hop;
    and the answers without the best heads, beside those without random heads.

    Args:
        found: what `heads.json` holds.
    """
    figure = Figure(figsize=(8.2, 5.2), layout="constrained")
    layout: list[Any] = [["map"] * 4, [*SIDES, *MEASURES]]
    axes = figure.subplot_mosaic(layout, height_ratios=(1, 1.15))
    _draw_map(axes["map"], found)
    first, second = (axes[side] for side in SIDES)
    second.sharey(first)
    for side, kinds in SIDES.items():
        _draw_layers(axes[side], found, side, kinds)
    first.set_ylabel("more to one's own chain")
    second.legend(fontsize=7)
    for measure, name in MEASURES.items():
        _draw_effects(axes[measure], found, measure, name)
    axes["argmax"].set_ylabel("dashed: the whole model")
    handles = axes["argmax"].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower right", ncols=3, fontsize=7)
    return figure


@styled
def draw_relations(found: Mapping[str, Any]) -> Figure:
    """A map of all heads for every relation: how much more attention goes to one's own chain, or
    how much attention there is where other chains have no such role.

    Args:
        found: what `heads.json` holds.
    """
    relations, across = found["relations"], 4
    down = -(-len(relations) // across)
    figure = Figure(figsize=(8.2, 1.7 * down), layout="constrained")
    axes = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False)
    for one, place in zip_longest(relations, axes.flat):
        place.set_visible(one is not None)
        if one is not None:
            alone = one["others"] is None
            values = np.array(one["own"]) if alone else np.subtract(one["own"], one["others"])
            layer, head = np.unravel_index(values.argmax(), values.shape)
            _shade(place, values)
            place.set_title(f"{one['name']}: {values.max():.3f} in {layer}.{head}", fontsize=7)
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


def _draw_map(axes: Axes, found: Mapping[str, Any]) -> None:
    values = more(found, FOLLOWING)
    image = _shade(axes, values)
    for i, one in enumerate(found["ranking"][:5]):
        at = one["layer"], one["head"]
        ink = PAPER if values[at] > 0.6 * values.max() else "black"
        axes.text(*at, str(i + 1), ha="center", va="center", fontsize=6.5, color=ink)
    axes.set(
        title="more attention to one's own chain (1 to 5: ranks)", xlabel="layer", ylabel="head"
    )
    bar = axes.figure.colorbar(image, ax=axes, aspect=12, pad=0.01)
    bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue]


def _shade(axes: Axes, values: Float[np.ndarray, "layer head"]) -> AxesImage:
    """Draws a map whose full shade is the largest value, but at least 0.05: noise stays pale."""
    shades = LinearSegmentedColormap.from_list("more", [PAPER, PALETTE[0]])
    image = axes.imshow(
        values.T,
        cmap=shades,
        vmin=0,
        vmax=max(float(values.max()), 0.05),
        interpolation="none",
        aspect="auto",
    )
    for side in axes.spines.values():
        side.set_visible(True)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True))
    return image


def _draw_layers(axes: Axes, found: Mapping[str, Any], name: str, kinds: tuple[str, ...]) -> None:
    hops = sorted({one["hop"] for one in found["relations"] if one["kind"] in kinds})
    lines = hop_lines([f"hop {hop}" for hop in hops])
    for hop in hops:
        look = lines[f"hop {hop}"]
        best = more(found, kinds, hop).max(1)
        axes.plot(best, color=look.colour, ls=look.dashes, lw=1.4, label=f"hop {hop}")
    axes.axhline(0, color=FAINT, lw=0.7)
    axes.set_title(name, fontsize=8.5, weight="normal")
    axes.set_xlabel("layer (its best head)")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def _draw_effects(axes: Axes, found: Mapping[str, Any], measure: str, name: str) -> None:
    tops = sorted({one["top"] for one in found["effects"]} - {0})
    whole = found["effects"][0]["found"][measure][0]
    axes.axhline(whole, color=FAINT, lw=1, ls=(0, (4, 2)))
    for i, (kind, label) in enumerate(KINDS.items()):
        rows = [one["found"][measure] for one in found["effects"] if one["kind"] == kind]
        placed = [(at + 0.16 * (i - 1), *found) for at, found in enumerate(rows)]
        width = {"ms": 4, "lw": 0, "elinewidth": 0.9, "capsize": 2}
        draw_intervals(axes, placed, label=label, **{**look(i), "ls": "-"}, **width)
    axes.set_xticks(range(len(tops)), [str(top) for top in tops])
    if measure == "argmax":
        axes.set_ylim(0, None)
    axes.set_title(name, fontsize=8.5, weight="normal")
    axes.set_xlabel("heads out")
