"""The roles of a circuit as columns of a figure, where its task is not at hand.

Findings about a circuit tell the roles and where they stand. A circuit by itself names only roles
that have paths, in no order; as heads look back, a role that is looked at stands before.
"""

from headway.circuits import Circuit, Discovery, Path, Timeline
from headway.circuits.roles import Cast, Place, places_of


def cast_of(shown: Circuit | Discovery | Timeline) -> Cast:
    """The roles of a finding or circuit, perhaps none, and the hops if they are known."""
    match shown:
        case Circuit():
            return _of_paths(shown.paths, ())
        case Timeline():
            return _of_paths([history.path for history in shown.paths], tuple(shown.hops))
        case Discovery():
            return Cast(tuple(places_of(shown.standing)), tuple(shown.evidence.intact))


def _of_paths(paths: list[Path], hops: tuple[str, ...]) -> Cast:
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
