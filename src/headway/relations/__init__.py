"""Relations, which heads may look along: roles of a task, and relations composed of few words."""

from headway.relations.composed import Composed, Related
from headway.relations.edges import (
    NO_KEY,
    Edges,
    between_roles,
    general_relations,
    own_position,
    previous_token,
)

__all__ = [
    "NO_KEY",
    "Composed",
    "Edges",
    "Related",
    "between_roles",
    "general_relations",
    "own_position",
    "previous_token",
]
