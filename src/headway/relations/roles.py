"""The places of roles: where those of one chain stand, and what they are called."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headway.relations.paths import AttentionPath


@dataclass(frozen=True)
class Place:
    """A role as a column of a figure.

    Attributes:
        role: its name, e.g. `s2`.
        symbol: what stands there, such as `x_1`; empty if the task's flow does not say.
        group: a name that it has in common with the other roles of its pair, fact or
            row.
    """

    role: str
    symbol: str
    group: str

    def label(self, chain: int, chains: int) -> str:
        """A name for the place in one of so many chains."""
        number = self.symbol.partition("_")[2]
        if number:
            return chain_letter(chain) + number
        if self.symbol:
            return f"{self.symbol}{chain + 1}"
        return f"{self.role} {chain_letter(chain)}" if chains > 1 else self.role


@dataclass(frozen=True)
class Cast:
    """A task as a drawing needs it, where the task itself is not at hand.

    Attributes:
        places: the roles of one chain in the order in which they stand in a sequence.
        hops: what is asked for, in chain order; empty if that is not known.
    """

    places: tuple[Place, ...]
    hops: tuple[str, ...] = ()


def places_of(standing: Mapping[str, Sequence[str]]) -> list[Place]:
    """The places of roles, from what each starts with.

    Symbols and groups are given only if every role starts with one symbol, and perhaps
    the one code of its group.
    """
    places = list[Place]()
    for role, pieces in standing.items():
        codes = [piece for piece in pieces if is_code(piece)]
        symbols = [piece for piece in pieces if not is_code(piece)]
        if len(symbols) != 1 or len(codes) > 1:
            return [Place(role, "", role) for role in standing]
        group = codes[0] if codes else role
        places.append(Place(role, symbols[0], group))
    return places


def cast_of_paths(paths: list[AttentionPath], hops: tuple[str, ...]) -> Cast:
    """The roles that the paths join, each after all that it reads, where that is
    possible.

    Among roles that read others, one whose name comes early in the alphabet is put
    later.
    """
    looks = set[tuple[str, str]]()
    for path in paths:
        ends = path.relation.ends
        if ends is None:
            return Cast((), hops)
        looks.add(ends)
    left = sorted({role for ends in looks for role in ends}, reverse=True)
    places = list[Place]()
    while left:
        waiting = {role for role, read in looks if role != read and read in left}
        free = [role for role in left if role not in waiting]
        role = free[0] if free else left[0]
        places.append(Place(role, "", role))
        left.remove(role)
    return Cast(tuple(places), hops)


def chain_letter(chain: int) -> str:
    """a, b, …, z, a', b', …"""
    return chr(ord("a") + chain % 26) + "'" * (chain // 26)


def is_code(piece: str) -> bool:
    """Tell the code of a position or of its pair from a symbol."""
    return piece.startswith(("p_", "n_"))
