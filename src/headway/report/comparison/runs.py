"""The rows of the comparison's table of runs, as data."""

from collections.abc import Sequence
from typing import Any

from headway.report.comparison.members import Member
from headway.report.settings import label_field, task_words, varied_in_all
from headway.training.config import flat
from headway.words import said, short_names

SHOWN = ("task.kind", "seed", "model.n_layers", "model.n_heads", "model.d_model", "model.causal")
"""Fields that have columns of their own."""


def the_runs(members: Sequence[Member]) -> dict[str, Any]:
    """Every run with its task in words and the values of the other fields that vary."""
    configs = [flat(member.findings.run.config) for member in members]
    told = [f"task.{label_field(member.findings.run.config.task)}" for member in members]
    names = [name for name in varied_in_all(configs) if name not in (*SHOWN, *told)]
    rows = [
        (member, task_words(member.findings.run.config.task), [_said(config[n]) for n in names])
        for member, config in zip(members, configs, strict=True)
    ]
    return {"rows": rows, "other_fields": list(short_names(names).values())}


def _said(value: Any) -> str:
    """A field's value; computed numbers are rounded."""
    return f"{value:.6g}" if isinstance(value, float) else said(value)
