"""Where the roles of a task stand, what they are called in figures, and how heads join them."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from headway.tasks import Batch, Conditional, Retrieval, Task
from headway.theory import flow_of, is_code


@dataclass(frozen=True)
class Place:
    """A role as a column of a figure.

    Attributes:
        role: its name, e.g. `s2`.
        symbol: what stands there, e.g. `x_1`; empty if the task does not say.
        group: a name that it has in common with the other roles of its pair, fact or row.
    """

    role: str
    symbol: str
    group: str


@dataclass(frozen=True)
class Cast:
    """What a drawing needs to know of a task, where the task itself is not at hand (see `casting`).

    Attributes:
        places: the roles of one chain in the order in which they stand in a sequence.
        hop_names: what is asked for, in chain order; empty if that is not known.
    """

    places: tuple[Place, ...]
    hop_names: tuple[str, ...] = ()


def places(task: Task | Cast) -> list[Place]:
    """The roles of one chain in the order in which they stand in a sequence, the query last."""
    if isinstance(task, Cast):
        return list(task.places)
    if not isinstance(task, Retrieval | Conditional):
        return [Place(role, "", role) for role in reversed(task.role_names)]
    flow = flow_of(task.config)
    found = []
    for role, pieces in zip(flow.roles, flow.starts, strict=True):
        code, symbol = sorted(pieces, key=lambda piece: not is_code(piece))
        found.append(Place(role, symbol, code))
    return found


def position_labels(task: Task, batch: Batch) -> list[str]:
    """What to call every position of the batch's first sequence: its symbol and its chain.

    In the retrieval problem a letter for the chain and the symbol's place in it, `a0 a1 … b0`;
    otherwise the symbol and the number of the chain, `x1`. Positions outside all chains get `·`.
    """
    labels = ["·"] * task.length
    for place in places(task):
        index = task.role_names.index(place.role)
        for chain, position in enumerate(batch.roles[0, index].tolist()):
            labels[position] = _label(place, chain)
    return labels


def block_starts(task: Task, batch: Batch) -> list[int]:
    """The positions at which a new block of pairs, facts or rows begins, but the first."""
    starts: dict[str, int] = {}
    for place in places(task):
        first = int(batch.roles[:, task.role_names.index(place.role)].min())
        starts[place.group] = min(first, starts.get(place.group, first))
    return sorted(start for start in starts.values() if start > 0)


def role_attention(
    patterns: Float[Tensor, "batch layer head query key"], task: Task, batch: Batch
) -> Float[Tensor, "layer head role role"]:
    """Mean attention from every role to every role of the same chain, itself included.

    Roles in the order of `places`; averaged over sequences and chains.
    """
    order = [task.role_names.index(place.role) for place in places(task)]
    roles = batch.roles[:, order]
    rows = torch.arange(len(patterns), device=patterns.device)[:, None, None, None]
    along = patterns[rows, :, :, roles[:, :, None], roles[:, None, :]]
    return along.mean((0, 3)).permute(2, 3, 0, 1)


def gained(
    task: Task | Cast, paths: Sequence[tuple[int, int, str]]
) -> dict[tuple[int, str], tuple[str, ...]]:
    """The symbols that a role comes by in a layer, if heads copy all that stands where they look.

    Returns: by layer and role; roles that gain nothing in a layer are left out.
    """
    held = {place.role: {place.symbol} for place in places(task)}
    order = symbol_order(task)
    gains: dict[tuple[int, str], tuple[str, ...]] = {}
    for layer in sorted({layer for layer, _, _ in paths}):
        before = {role: set(symbols) for role, symbols in held.items()}
        for at, _, relation in paths:
            query, _, key = relation.partition("→")
            if at == layer and query in held and key in held:
                held[query] |= before[key]
        for role, symbols in held.items():
            new = [symbol for symbol in order if symbol in symbols - before[role]]
            if new:
                gains[layer, role] = tuple(new)
    return gains


def symbol_order(task: Task | Cast) -> list[str]:
    """All symbols, those nearest to the query first."""
    return list(dict.fromkeys(place.symbol for place in reversed(places(task))))


def _label(place: Place, chain: int) -> str:
    number = place.symbol.partition("_")[2]
    if number:
        return chain_letter(chain) + number
    return f"{place.symbol or place.role}{chain + 1}"


def chain_letter(chain: int) -> str:
    """a, b, …, z, a', b', …"""
    return chr(ord("a") + chain % 26) + "'" * (chain // 26)
