"""The cast of a circuit whose task is not at hand, told from the names of its roles.

A circuit names only roles, and what was found out about it the hops as well. The tasks of headway
give their roles names of their own, so that from these follow the symbols and their order; of other
tasks only the names are shown.
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence

from headway.circuits import Circuit, Discovery, Path, Timeline
from headway.report.roles import Cast, Place, places
from headway.report.routes import ends
from headway.tasks import Conditional, ConditionalConfig, Retrieval, RetrievalConfig, Task
from headway.tasks.base import Order

ORDERS: tuple[Order, ...] = ("deep-first", "shallow-first")

Looks = set[tuple[str, str]]
"""Pairs of a role that attends, and the role attended to."""


def cast_of(shown: Circuit | Discovery | Timeline) -> Cast | None:
    """The roles that something was found out about; none if it names none.

    A discovery knows every role, a circuit and a timeline only those that have paths.
    """
    match shown:
        case Circuit():
            return _of_paths(shown.paths, ())
        case Timeline():
            return _of_paths([history.path for history in shown.paths], tuple(shown.hops))
        case Discovery():
            roles = {ends((0, 0, name))[0]: None for name in shown.attention if "→" in name}
            looks = {
                (query, key)
                for name, layers in shown.attention.items()
                for query, key in [ends((0, 0, name))]
                if key in roles and max(map(max, layers)) > 0
            }
            return _cast(tuple(roles), looks, tuple(shown.certificate.intact)) if roles else None


def _of_paths(paths: Iterable[Path], hop_names: tuple[str, ...]) -> Cast | None:
    looks = {ends(path) for path in paths}
    named = {role for look in looks for role in look}
    if not named or "" in named:
        return None
    if all(re.fullmatch(r"s[0-9]+", role) for role in named):
        depth = max(1, math.ceil(max(int(role[1:]) for role in named) / 2))
        return _cast(Retrieval(RetrievalConfig(depth)).role_names, looks, hop_names)
    if named <= set(Conditional.role_names):
        return _cast(Conditional.role_names, looks, hop_names)
    return _cast(sorted(named, reverse=True), looks, hop_names)


def _cast(roles: Sequence[str], looks: Looks, hop_names: tuple[str, ...]) -> Cast:
    """The cast of the first known task with these roles in which no look is cast ahead.

    Without a mask roles look ahead in every order; then the first order is taken.
    """
    known = [places(task) for task in _known(tuple(roles))]
    if not known:
        return Cast(tuple(Place(role, "", role) for role in reversed(roles)), hop_names)

    def ahead(standing: Sequence[Place]) -> bool:
        rank = {place.role: i for i, place in enumerate(standing)}
        return any(rank[key] > rank[query] for query, key in looks)

    return Cast(tuple(min(known, key=ahead)), hop_names)


def _known(roles: tuple[str, ...]) -> Iterator[Task]:
    """The tasks of headway that have just these roles."""
    for order in ORDERS:
        if roles == Conditional.role_names:
            yield Conditional(ConditionalConfig(order=order))
        elif len(roles) > 2:
            task = Retrieval(RetrievalConfig(depth=len(roles) // 2, order=order))
            if roles == task.role_names:
                yield task
