"""Which heads of a language model follow the chain, on the terminal."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

from headway.terminal import columns, console
from headway.text import WIDTH, width

SHOWN = 10
"""How many of the ranked heads are printed; `heads.json` has all."""

KINDS = {
    "none": "whole model",
    "top": "top {top}",
    "matched": "{top}, same layers",
    "random": "{top}, any layer",
}
"""What is knocked out: the best heads, or as many others drawn at random."""


def print_heads(found: Mapping[str, Any]) -> None:
    """The best heads, what the model answers without them, and the order of hops.

    Args:
        found: what `heads.json` holds.
    """
    out = console()
    told_on = found["n"] - found["ranked_on"]
    out.print(
        f"{found['model']}, {found['formulation']} D={found['depth']}, {found['layers']} ×"
        f" {found['heads']} heads: ranked on {found['ranked_on']} questions, measured on {told_on}"
    )
    out.print()
    out.print(_ranking(found["ranking"][:SHOWN]))
    out.print()
    out.print(_effects(found["effects"], found["ablation"]))
    out.print("the top less heads drawn at random, the same questions:")
    for line in differences(found["effects"]):
        out.print(f"  {line}")
    out.print()
    for order in found["orders"]:
        out.print("\n".join(told_order(order)))


def _ranking(ranked: Sequence[Mapping[str, Any]]) -> Table:
    numbers = "attention", "other\nchains", "more, 95 %"
    table = columns(("layer.\nhead", "relation"), numbers, wrap=False)
    for one in ranked:
        table.add_row(
            f"{one['layer']}.{one['head']}",
            one["relation"],
            f"{one['attention']:.3f}",
            f"{one['others']:.3f}",
            told((one["more"], *one["interval"]), 3),
        )
    return table


def _effects(effects: Sequence[Mapping[str, Any]], ablation: str) -> Table:
    name = {"knock-out": "knocked out", "uniform": "made uniform"}[ablation]
    table = columns((name,), ("argmax", "expected", "margin"), wrap=False)
    for one in effects:
        found = one["found"]
        kind = KINDS[one["kind"]].format(top=one["top"])
        shares = [told(found[measure], 2) for measure in ("argmax", "expectation", "margin")]
        if width() < WIDTH:  # intervals go into a line of their own
            shares = [share.replace(" ", "\n", 1) for share in shares]
        table.add_row(kind, *shares)
    return table


def differences(effects: Sequence[Mapping[str, Any]]) -> list[str]:
    """A line per kind and number of drawn heads: what the top costs more than these."""
    found = []
    for one in effects:
        if one["top_less"] is not None:
            kind = KINDS[one["kind"]].format(top=one["top"])
            less = one["top_less"]
            found.append(
                f"{kind}: argmax {told(less['argmax'], 2)}, margin {told(less['margin'], 2)}"
            )
    return found


def told_order(order: Mapping[str, Any]) -> list[str]:
    """An order of hops in words, a line per hop."""
    lines = [f"followed from the {order['name']}:"]
    for hop in order["hops"]:
        heads = hop["heads"]
        many = "no head for sure"
        if heads:
            several = "heads" if len(heads) > 1 else "head"
            many = f"{len(heads)} {several}, mean layer {hop['layer']:.1f}"
        lines.append(f"  hop {hop['hop']}: {many}; best {hop['best']} ({hop['best_more']:+.3f})")
    if len(order["hops"]) == 1:
        lines.append("  one hop has no order")
    elif order["correlation"] is None:
        lines.append("  order of hops and layers: too few heads to say")
    else:
        rho = told((order["correlation"], *order["interval"]), 2)
        lines.append(f"  order of hops and layers: rank correlation {rho}")
    return lines


def told(estimate: Sequence[float], digits: int) -> str:
    """A mean with its interval, in brackets."""
    mean, low, high = (f"{value:.{digits}f}".replace("-", "−") for value in estimate)
    return f"{mean} [{low}, {high}]"
