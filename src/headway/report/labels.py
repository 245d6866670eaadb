"""How names and numbers are printed, in figures and on the page."""

import re
from collections.abc import Sequence


def typeset(name: str) -> str:
    """A name of the code as it is printed: `x_1` as x₁, `s2→s1` as s₂→s₁."""
    subscripts = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
    return re.sub(r"\b([a-z])_?(\d+)\b", lambda m: m[1] + m[2].translate(subscripts), name)


def rounded(value: float) -> str:
    """A measured number to three digits, zeros at the end included: 0.180, 3.20, 12.0."""
    return f"{value:#.3g}".rstrip(".")


def layers_told(layers: Sequence[int]) -> str:
    """Layers as they are asked for: `20`, `20..29`, `3,7`; the intact model has none."""
    if len(layers) > 2 and list(layers) == list(range(layers[0], layers[-1] + 1)):
        return f"{layers[0]}..{layers[-1]}"
    return ",".join(map(str, layers)) or "–"


def spread(places: Sequence[float], gap: float) -> list[float]:
    """Moves labels apart, as little as a sweep from below can, so that `gap` lies between any two.

    Args:
        places: where the labels would stand; any order.
        gap: the least distance between two labels, in the same unit.
    """
    moved = list(places)
    lowest = float("-inf")
    for index in sorted(range(len(places)), key=lambda i: places[i]):
        moved[index] = max(places[index], lowest + gap)
        lowest = moved[index]
    return moved
