"""What decides a run, in a few words: the task and the model."""

from dataclasses import fields

from headway.models import TransformerConfig
from headway.report.labels import shortened
from headway.report.page.html import counted
from headway.tasks import Task
from headway.training.modules import Module
from headway.words import said


def task_parts(task: Task) -> list[str]:
    """A task's kind, its size, and the fields that are not as they are by default, as text."""
    label = task.label
    parts = [f"{task.kind.replace('_', ' ')} problem", label.replace("=", " = ", 1)]
    return [*filter(None, parts), *(f"{name} = {value}" for name, value in changes(task).items())]


def task_words(task: Task) -> str:
    """The same in one cell of a table."""
    changed = (f"{name}={value}" for name, value in changes(task).items())
    return " ".join(filter(None, [task.kind, task.label, *changed]))


def changes(task: Task) -> dict[str, str]:
    """The fields that are not as they are by default, but for the one that the label tells."""
    told = label_field(task)
    return {
        field.name: shortened(said(getattr(task, field.name)), 40)
        for field in fields(task)
        if field.name != told and getattr(task, field.name) != field.default
    }


def label_field(task: Task) -> str | None:
    """The field whose value the task's label tells; none if it tells no field's."""
    value = task.label.partition("=")[2].replace(",", ":")
    names = (field.name for field in fields(task))
    return next((name for name in names if value and said(getattr(task, name)) == value), None)


def model_parts(model: TransformerConfig | Module) -> list[str]:
    """A model's size and mask, as text."""
    return [
        f"{counted(model.n_layers, 'layer')} × {counted(model.n_heads, 'head')}",
        model.size,
        "causal mask" if model.causal else "no mask",
    ]
