"""The places of a task's roles, their names in figures, and how heads join them."""

from collections.abc import Sequence

from headway.judge.discovery import Discovery, standing_of
from headway.relations.paths import AttentionPath, ends_of
from headway.relations.roles import Cast, Place, cast_of_paths, places_of
from headway.replace.circuit import Circuit
from headway.tasks import Batch, Task


def places(task: Task | Cast) -> list[Place]:
    """The roles of one chain in the order of their places; perhaps none."""
    return list(task.places) if isinstance(task, Cast) else places_of(standing_of(task))


def cast_of(shown: Circuit | Discovery) -> Cast:
    """The roles of a discovery or a circuit, and the hops if they are known.

    A discovery tells the roles and where they stand. A circuit by itself names only
    roles that have paths, in no order; as heads look back, a role that is looked at
    stands before.
    """
    if isinstance(shown, Circuit):
        return cast_of_paths(shown.paths, ())
    return Cast(tuple(places_of(shown.standing)), tuple(shown.evidence.intact))


def joins_roles(task: Task | Cast, paths: Sequence[AttentionPath]) -> bool:
    """True if every path stays in its chain, so that roles can be columns."""
    roles = {place.role for place in places(task)}
    return bool(roles) and ends_of(paths) <= roles


def position_labels(task: Task, batch: Batch) -> list[str]:
    """A name for every position of the batch's first sequence.

    A token by its name or number. Of vectors the symbol and its chain, if the symbols
    are known: a letter for the chain and the number of the symbol, `a0 a1 … b0`, or the
    symbol and the number of the chain, `x1`; otherwise the role and its chain.
    Positions outside all chains get `·`.
    """
    if task.vocabulary is not None:
        return [task.token_name(token) for token in batch.inputs[0].tolist()]
    labels = ["·"] * task.length
    for place in places(task):
        row = batch.roles[0, task.roles.index(place.role)].tolist()
        for chain, position in enumerate(row):
            labels[position] = place.label(chain, len(row))
    return labels


def symbol_order(task: Task | Cast) -> list[str]:
    """All symbols, those nearest to the query first."""
    symbols = [place.symbol for place in reversed(places(task)) if place.symbol]
    return list(dict.fromkeys(symbols))
