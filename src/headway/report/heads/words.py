"""What was found about heads, in words."""

from collections.abc import Mapping, Sequence
from typing import Any

from headway.report.page.html import listed, named

KINDS = {
    "none": "the whole model",
    "top": "the best {top}",
    "matched": "{top} drawn from the same layers",
    "random": "{top} drawn from all layers",
}


def name_of(one: Mapping[str, Any]) -> str:
    """A head as it is called: layer.head."""
    return f"{one['layer']}.{one['head']}"


def kind_of(one: Mapping[str, Any]) -> str:
    """Which heads were out."""
    return KINDS[one["kind"]].format(top=one["top"])


def between(interval: Sequence[float], digits: int = 2) -> str:
    """An interval."""
    low, high = (f"{value:.{digits}f}".replace("-", "−") for value in interval)
    return f"{low} to {high}"


def signed(value: float, digits: int = 3) -> str:
    """A difference with its sign."""
    return f"{value:+.{digits}f}".replace("-", "−")


def sure(one: Mapping[str, Any]) -> bool:
    """Whether a ranked head follows its relation on the other questions as well."""
    return one["interval"][0] > 0


def verdict(found: Mapping[str, Any]) -> str:
    """The findings in three sentences, as HTML."""
    best = found["ranking"][0]
    told = (
        f"Head {name_of(best)} follows the chain best, along {named(best['relation'])}: on fresh"
        f" questions it gives {best['attention']:.2f} of its attention to its own chain and"
        f" {best['others']:.2f} to each of the others. "
    )
    if not sure(best):
        told = "No head follows the chain beyond doubt on fresh questions. "
    return " ".join([told.strip(), _knows(found), _cost(found), *_orders(found)])


def _knows(found: Mapping[str, Any]) -> str:
    """Whether there is anything for a knock-out to take away."""
    whole = found["effects"][0]["found"]
    shares = f"argmax {whole['argmax'][0]:.2f}, guessing {1 / found['chains']:.2f}"
    if whole["margin"][1] > 0:
        return f"The whole model tells the right answer from the wrong ones ({shares})."
    return (
        f"The whole model does not tell the right answer from the wrong ones ({shares}), so there"
        " is little that a knock-out could take away."
    )


def _orders(found: Mapping[str, Any]) -> list[str]:
    if found["depth"] == 1:
        return ["One hop has no order."]
    return [order_told(one) for one in found["orders"]]


def _cost(found: Mapping[str, Any]) -> str:
    costly = [
        f"{one['top']}"
        for one in found["effects"]
        if one["kind"] == "matched" and one["top_less"]["margin"][2] < 0
    ]
    if not costly:
        return (
            "Knocking the best heads out does not lower the margin of the right answer more"
            " than knocking out as many others of the same layers, as far as these questions tell."
        )
    return (
        f"Knocking out the best {listed(costly, 'or')} lowers the margin of the right answer over"
        " the wrong ones more than knocking out as many others of the same layers."
    )


def order_told(order: Mapping[str, Any]) -> str:
    """Whether later hops are followed in later layers, in a sentence."""
    side = {"text": "Within the text", "answer": "From the place of the answer"}[order["name"]]
    if order["correlation"] is None:
        return f"{side}, too few heads follow a hop to say whether hops come in order."
    low, high = order["interval"]
    followers = [head for hop in order["hops"] for head in hop["heads"]]
    heads = set(followers)
    several = sum(followers.count(head) > 1 for head in heads)
    rho = (
        f"(rank correlation {signed(order['correlation'], 2)}; {several} of {len(heads)} heads"
        " follow several hops)"
    )
    if low > 0:
        return f"{side}, later hops tend to be followed in later layers {rho}."
    if high < 0:
        return f"{side}, later hops tend to be followed in earlier layers {rho}."
    return f"{side}, the order of hops and that of layers are not related beyond doubt {rho}."
