"""What is learned: tasks whose answer lies several attention hops away."""

from headway.tasks.associations import Associations, AssociationsConfig
from headway.tasks.base import NONE, UNASKED, Batch, Relation, Task, path_name
from headway.tasks.bigrams import Bigrams, BigramsConfig
from headway.tasks.conditional import Conditional, ConditionalConfig
from headway.tasks.hops import Hops, HopsConfig
from headway.tasks.labelled import Labelled
from headway.tasks.recall import Recall, RecallConfig
from headway.tasks.retrieval import Retrieval, RetrievalConfig

TaskConfig = (
    RetrievalConfig
    | ConditionalConfig
    | AssociationsConfig
    | RecallConfig
    | BigramsConfig
    | HopsConfig
)

TASKS = {
    "retrieval": (RetrievalConfig, Retrieval),
    "conditional": (ConditionalConfig, Conditional),
    "associations": (AssociationsConfig, Associations),
    "recall": (RecallConfig, Recall),
    "bigrams": (BigramsConfig, Bigrams),
    "hops": (HopsConfig, Hops),
}


def make_task(config: TaskConfig, device: str = "cpu") -> Task:
    """Builds the task that a config describes, with its tables on `device`."""
    return next(task for kind, task in TASKS.values() if isinstance(config, kind))(config, device)


def task_kind(config: TaskConfig) -> str:
    """The name of a config's task, as written in `config.json`."""
    return next(name for name, (kind, _) in TASKS.items() if isinstance(config, kind))


__all__ = [
    "NONE",
    "TASKS",
    "UNASKED",
    "Associations",
    "AssociationsConfig",
    "Batch",
    "Bigrams",
    "BigramsConfig",
    "Conditional",
    "ConditionalConfig",
    "Hops",
    "HopsConfig",
    "Labelled",
    "Recall",
    "RecallConfig",
    "Relation",
    "Retrieval",
    "RetrievalConfig",
    "Task",
    "TaskConfig",
    "make_task",
    "path_name",
    "task_kind",
]
