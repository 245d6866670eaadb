"""How names and numbers are printed, in figures and on the page."""

import re

SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
UNSEEN = "[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff]"


def plain(text: str) -> str:
    """A text with escapes for what is invisible or turns text round: names may be anything."""
    return re.sub(UNSEEN, lambda found: f"\\u{ord(found[0]):04x}", text)


def typeset(name: str) -> str:
    """A name of the code as it is printed: `x_1` as x₁, `s2←s1` as s₂←s₁, `find^2` as find²."""
    name = re.sub(r"\b([a-z])_?(\d+)\b", lambda m: m[1] + m[2].translate(SUBSCRIPTS), name)
    return re.sub(r"\^(\d+)", lambda m: m[1].translate(SUPERSCRIPTS), name)


def shortened(name: str, most: int = 18) -> str:
    """A name of at most so many characters, its end left out if it is longer."""
    return name if len(name) <= most else f"{name[: most - 1]}…"
