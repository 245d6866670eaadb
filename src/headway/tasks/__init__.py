"""What is learned: tasks whose answer lies several attention hops away."""

from headway.tasks.associations import Associations, AssociationsConfig
from headway.tasks.base import NONE, UNASKED, Batch, Relation, Task, path_name
from headway.tasks.bigrams import Bigrams, BigramsConfig
from headway.tasks.composition import Composition, CompositionConfig
from headway.tasks.conditional import Conditional, ConditionalConfig
from headway.tasks.hops import Hops, HopsConfig
from headway.tasks.labelled import Labelled
from headway.tasks.recall import Recall, RecallConfig
from headway.tasks.retrieval import Retrieval, RetrievalConfig

ChainConfig = RetrievalConfig | ConditionalConfig
"""Of tasks whose positions play roles in chains, which flow of information is known for."""
TaskConfig = (
    ChainConfig | AssociationsConfig | RecallConfig | BigramsConfig | HopsConfig | CompositionConfig
)

TASKS = {
    "retrieval": (RetrievalConfig, Retrieval),
    "conditional": (ConditionalConfig, Conditional),
    "associations": (AssociationsConfig, Associations),
    "recall": (RecallConfig, Recall),
    "bigrams": (BigramsConfig, Bigrams),
    "hops": (HopsConfig, Hops),
    "composition": (CompositionConfig, Composition),
}


def make_task(config: TaskConfig, device: str = "cpu") -> Task:
    """Builds the task that a config describes, with its tables on `device`."""
    return next(task for kind, task in TASKS.values() if isinstance(config, kind))(config, device)


def task_size(config: TaskConfig) -> str:
    """A task's size in a few letters, such as `D=3`."""
    match config:
        case RetrievalConfig():
            return f"D={config.depth}"
        case ConditionalConfig():
            return f"M={config.n_values}"
        case AssociationsConfig():
            return f"N={config.n_items}"
        case RecallConfig():
            return f"S={config.n_subjects}"
        case BigramsConfig():
            return f"K={config.n_triggers}"
        case HopsConfig() | CompositionConfig():
            return "k=" + ",".join(map(str, config.hops))


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
    "ChainConfig",
    "Composition",
    "CompositionConfig",
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
    "task_size",
]
