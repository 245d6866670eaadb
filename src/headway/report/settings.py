"""What decides a run, in a few words: the task and the model."""

from collections.abc import Sequence

from headway.tasks import Task
from headway.text import counted
from headway.training import RunConfig


def task_words(task: Task) -> str:
    """A task's kind and size."""
    return f"{task.kind.replace('_', ' ')} {task.label}".strip()


def setting_of(config: RunConfig) -> list[str]:
    """What decides a run: its task, its model's size and mask, and the seed, in parts."""
    model = config.model
    return [
        task_words(config.task),
        f"{counted(model.n_layers, 'layer')} × {counted(model.n_heads, 'head')}",
        model.size,
        "causal mask" if model.causal else "no mask",
        f"seed {config.seed}",
    ]


def common_parts(configs: Sequence[RunConfig]) -> list[str]:
    """The parts of the setting that several runs have in common."""
    parts = [setting_of(config) for config in configs]
    return [part for part in parts[0] if all(part in others for others in parts)]
