"""The places of a task's roles, their names in figures, and how heads join them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headway.circuits.discovery import Discovery, standing_of
from headway.circuits.emergence import Timeline
from headway.circuits.mechanism import Circuit
from headway.relations.paths import AttentionPath
from headway.tasks import Batch, Task
from headway.theory import is_code


@dataclass(frozen=True)
class Place:
    """A role as a column of a figure.

    Attributes:
        role: its name, e.g. `s2`.
        symbol: what stands there, such as `x_1`; empty if the task's flow does not say.
        group: a name that it has in common with the other roles of its pair, fact or row.
    """

    role: str
    symbol: str
    group: str


@dataclass(frozen=True)
class Cast:
    """A task as a drawing needs it, where the task itself is not at hand (see `cast_of`).

    Attributes:
        places: the roles of one chain in the order in which they stand in a sequence.
        hops: what is asked for, in chain order; empty if that is not known.
    """

    places: tuple[Place, ...]
    hops: tuple[str, ...] = ()


def places(task: Task | Cast) -> list[Place]:
    """The roles of one chain in the order in which they stand in a sequence; perhaps none."""
    return list(task.places) if isinstance(task, Cast) else places_of(standing_of(task))


def places_of(standing: Mapping[str, Sequence[str]]) -> list[Place]:
    """The places of roles, from what each starts with.

    Symbols and groups are given only if every role starts with one symbol, and perhaps the one code
    of its group.
    """
    found = []
    for role, pieces in standing.items():
        codes = [piece for piece in pieces if is_code(piece)]
        symbols = [piece for piece in pieces if not is_code(piece)]
        if len(symbols) != 1 or len(codes) > 1:
            return [Place(role, "", role) for role in standing]
        found.append(Place(role, symbols[0], codes[0] if codes else role))
    return found


def cast_of(shown: Circuit | Discovery | Timeline) -> Cast:
    """The roles of a finding or circuit, perhaps none, and the hops if they are known.

    Findings about a circuit tell the roles and where they stand. A circuit by itself names only
    roles that have paths, in no order; as heads look back, a role that is looked at stands before.
    """
    match shown:
        case Circuit():
            return _of_paths(shown.paths, ())
        case Timeline():
            return _of_paths([history.path for history in shown.paths], tuple(shown.hops))
        case Discovery():
            return Cast(tuple(places_of(shown.standing)), tuple(shown.evidence.intact))


def _of_paths(paths: list[AttentionPath], hops: tuple[str, ...]) -> Cast:
    """The roles that the paths join, each after all that it reads, where that is possible.

    Among roles that read others, one whose name comes early in the alphabet is put later.
    """
    looks = {path.relation.ends for path in paths}
    if None in looks:
        return Cast((), hops)
    left = sorted({role for ends in looks if ends for role in ends}, reverse=True)
    order: list[str] = []
    while left:
        waiting = {ends[0] for ends in looks if ends and ends[0] != ends[1] and ends[1] in left}
        free = [role for role in left if role not in waiting] or left
        order.append(free[0])
        left.remove(free[0])
    return Cast(tuple(Place(role, "", role) for role in order), hops)


def joins_roles(task: Task | Cast, paths: Sequence[AttentionPath]) -> bool:
    """True if every path leads from a role to a role of its chain, so that these can be columns."""
    roles = {place.role for place in places(task)}
    return bool(roles) and all(set(path.relation.ends or [""]) <= roles for path in paths)


def position_labels(task: Task, batch: Batch) -> list[str]:
    """A name for every position of the batch's first sequence.

    A token by its name or number. Of vectors the symbol and its chain, if the symbols are known: a
    letter for the chain and the number of the symbol, `a0 a1 … b0`, or the symbol and the number of
    the chain, `x1`; otherwise the role and its chain. Positions outside all chains get `·`.
    """
    if task.vocabulary is not None:
        return [task.token_name(token) for token in batch.inputs[0].tolist()]
    labels = ["·"] * task.length
    for place in places(task):
        row = batch.roles[0, task.roles.index(place.role)].tolist()
        for chain, position in enumerate(row):
            labels[position] = _label(place, chain, len(row))
    return labels


def block_starts(task: Task, batch: Batch) -> list[int]:
    """The positions at which a new block of pairs, facts or rows begins, but the first."""
    standing = places(task)
    if not all(place.symbol for place in standing):
        return []
    starts: dict[str, int] = {}
    for place in standing:
        first = int(batch.roles[:, task.roles.index(place.role)].min())
        starts[place.group] = min(first, starts.get(place.group, first))
    return sorted(start for start in starts.values() if start > 0)


def symbol_order(task: Task | Cast) -> list[str]:
    """All symbols, those nearest to the query first."""
    found = (place.symbol for place in reversed(places(task)) if place.symbol)
    return list(dict.fromkeys(found))


def _label(place: Place, chain: int, chains: int) -> str:
    number = place.symbol.partition("_")[2]
    if number:
        return chain_letter(chain) + number
    if place.symbol:
        return f"{place.symbol}{chain + 1}"
    return f"{place.role} {chain_letter(chain)}" if chains > 1 else place.role


def chain_letter(chain: int) -> str:
    """a, b, …, z, a', b', …"""
    return chr(ord("a") + chain % 26) + "'" * (chain // 26)
