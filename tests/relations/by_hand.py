"""Tables of keys that were worked out by hand, one name a line."""

from collections.abc import Mapping


def read(text: str) -> Mapping[str, list[str]]:
    """The keys of every query, by the name of the relation.

    A line is a name, a colon, and what stands for every query in turn: the places of
    its keys, a digit each, or - for none.
    """
    pairs = [line.rsplit(": ", 1) for line in text.strip().splitlines()]
    return {name: keys.split() for name, keys in pairs}


def keys_of(mask):
    """The keys of every query in a mask [query, key], as a table writes them."""
    keys = [row.nonzero()[:, 0].tolist() for row in mask]
    digits = ["".join(map(str, numbers)) for numbers in keys]
    return [text or "-" for text in digits]
