"""Tasks: answers that lie several attention hops away."""

from headway.relations import (
    NO_KEY,
    Edges,
    general_relations,
    own_position,
    previous_token,
)
from headway.tasks.base import Batch, Task
from headway.tasks.checking import Finding, check_task
from headway.tasks.conditional import Conditional
from headway.tasks.hops import Hops, SeveralHops
from headway.tasks.registry import KINDS, task_from_json, task_in, task_to_json
from headway.tasks.retrieval import Retrieval, sinusoid
from headway.tasks.targets import IGNORE_INDEX, Targets, Tokens, Vectors

__all__ = [
    "IGNORE_INDEX",
    "KINDS",
    "NO_KEY",
    "Batch",
    "Conditional",
    "Edges",
    "Finding",
    "Hops",
    "Retrieval",
    "SeveralHops",
    "Targets",
    "Task",
    "Tokens",
    "Vectors",
    "check_task",
    "general_relations",
    "own_position",
    "previous_token",
    "sinusoid",
    "task_from_json",
    "task_in",
    "task_to_json",
]
