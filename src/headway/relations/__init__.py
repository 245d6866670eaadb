"""Relations, which heads may look along: roles of a task, and relations composed of few
words.
"""

from typing import TYPE_CHECKING

from headway.late import late

if TYPE_CHECKING:
    from headway.relations.composed import Composed as Composed
    from headway.relations.composed import Related as Related
    from headway.relations.composed import general_relations as general_relations
    from headway.relations.edges import NO_KEY as NO_KEY
    from headway.relations.edges import Edges as Edges
    from headway.relations.edges import between_roles as between_roles
    from headway.relations.edges import own_position as own_position
    from headway.relations.edges import previous_token as previous_token
    from headway.relations.expressions import Expression as Expression
    from headway.relations.expressions import parse as parse
    from headway.relations.paths import AttentionPath as AttentionPath
    from headway.relations.paths import Relation as Relation
    from headway.relations.primitives import primitive as primitive

HOMES = {
    "composed": "Composed Related general_relations",
    "edges": "NO_KEY Edges between_roles own_position previous_token",
    "expressions": "Expression parse",
    "paths": "AttentionPath Relation",
    "primitives": "primitive",
}
__all__, __getattr__, __dir__ = late(__name__, HOMES)
