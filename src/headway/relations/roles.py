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
    found = []
    for role, pieces in standing.items():
        codes = [piece for piece in pieces if is_code(piece)]
        symbols = [piece for piece in pieces if not is_code(piece)]
        if len(symbols) != 1 or len(codes) > 1:
            return [Place(role, "", role) for role in standing]
        found.append(Place(role, symbols[0], codes[0] if codes else role))
    return found


def cast_of_paths(paths: list[AttentionPath], hops: tuple[str, ...]) -> Cast:
    """The roles that the paths join, each after all that it reads, where that is
    possible.

    Among roles that read others, one whose name comes early in the alphabet is put
    later.
    """
    looks = {path.relation.ends for path in paths}
    if None in looks:
        return Cast((), hops)
    left = sorted({role for ends in looks if ends for role in ends}, reverse=True)
    order: list[str] = []
    while left:
        waiting = {
            ends[0] for ends in looks if ends and ends[0] != ends[1] and ends[1] in left
        }
        free = [role for role in left if role not in waiting] or left
        order.append(free[0])
        left.remove(free[0])
    return Cast(tuple(Place(role, "", role) for role in order), hops)


def chain_letter(chain: int) -> str:
    """a, b, …, z, a', b', …"""
    return chr(ord("a") + chain % 26) + "'" * (chain // 26)


def is_code(piece: str) -> bool:
    """Tell the code of a position or of its pair from a symbol."""
    return piece.startswith(("p_", "n_"))
