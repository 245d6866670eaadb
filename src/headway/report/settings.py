"""What decides a run, in a few words: the task and the model."""

from collections.abc import Sequence
from dataclasses import fields

from headway.models import TransformerConfig
from headway.report.labels import shortened
from headway.tasks import Task
from headway.text import counted
from headway.training import RunConfig
from headway.training.modules import Module
from headway.words import said


def task_parts(task: Task) -> list[str]:
    """A task's kind, its size, and the fields that differ from their defaults, as text."""
    label = task.label
    parts = [f"{task.kind.replace('_', ' ')} problem", label.replace("=", " = ", 1)]
    return [*filter(None, parts), *(f"{name} = {value}" for name, value in changes(task).items())]


def task_words(task: Task) -> str:
    """The same in one cell of a table."""
    changed = (f"{name}={value}" for name, value in changes(task).items())
    return " ".join(filter(None, [task.kind, task.label, *changed]))


def changes(task: Task) -> dict[str, str]:
    """The fields that differ from their defaults, except the one that the label tells."""
    told = label_field(task)
    return {
        field.name: shortened(said(getattr(task, field.name)), 40)
        for field in fields(task)
        if field.name != told and getattr(task, field.name) != field.default
    }


def label_field(task: Task) -> str | None:
    """The field whose value the task's label tells; None if it tells none."""
    value = task.label.partition("=")[2].replace(",", ":")
    names = (field.name for field in fields(task))
    return next((name for name in names if value and said(getattr(task, name)) == value), None)


def setting_of(config: RunConfig) -> list[str]:
    """What decides a run: its task, its model and the seed, in parts."""
    return [*task_parts(config.task), *model_parts(config.model), f"seed {config.seed}"]


def common_parts(configs: Sequence[RunConfig]) -> list[str]:
    """The parts of the setting that several runs have in common."""
    parts = [setting_of(config) for config in configs]
    return [part for part in parts[0] if all(part in others for others in parts)]


def model_parts(model: TransformerConfig | Module) -> list[str]:
    """A model's size and mask, as text."""
    return [
        f"{counted(model.n_layers, 'layer')} × {counted(model.n_heads, 'head')}",
        model.size,
        "causal mask" if model.causal else "no mask",
    ]
