"""An example of a task, and what a search for circuits knows of it."""

from collections import Counter

import torch

from headway.tasks import Batch, Task
from headway.text import width, wrapped

INDENT = 12


def print_task(task: Task) -> None:
    """Prints an example of a task, and what a search for circuits knows of it."""
    batch = task.sample(1, torch.Generator().manual_seed(0))
    uses = Counter(edges.use for edges in task.relations(batch).values())
    _say("task", task.title)
    _say("reading", task.reading)
    made_of = f"{task.d_input} numbers" if task.vocabulary is None else "a token"
    _say("sequence", f"{task.length} positions of {made_of}; the last {task.n_read} ask")
    for line in _example(task, batch):
        print(" " * INDENT + line)
    if task.vocabulary is not None:
        _say("vocabulary", f"{task.vocabulary} tokens")
    _say("hops", ", ".join(task.hops) + (f"; {task.n_depths} depths" if task.n_depths > 1 else ""))
    if task.roles:
        _say("roles", f"{', '.join(task.roles)}; chains: {batch.roles.shape[2]}")
    named = [f"{told}: {uses[use]}" for use, told in USES.items() if uses[use]]
    _say("relations", "; ".join(named) or "none")
    losses = [f"{name} {loss:.3f}" for name, loss in task.references().items()]
    _say("references", f"{task.targets.loss_name}: {', '.join(losses) or 'none is known'}")
    flow = task.flow()
    least = None if flow is None else flow.minimum_layers(causal=not task.looks_ahead)
    _say("flow", "not known" if least is None else f"an answer takes at least {least} layers")


USES = {"path": "paths", "stay": "stays", "measured": "only measured"}


def _example(task: Task, batch: Batch) -> list[str]:
    """The tokens of the first sequence, and below them the roles of its first chain."""
    if task.vocabulary is None:
        return []
    below = [""] * task.length
    if batch.roles.numel():
        for name, position in zip(task.roles, batch.roles[0, :, 0].tolist(), strict=True):
            below[position] = name
    tokens = [task.token_name(token) for token in batch.inputs[0].tolist()]
    widths = [max(len(t), len(role)) for t, role in zip(tokens, below, strict=True)]
    lines, row, roles = [], "", ""
    for token, role, wide in zip(tokens, below, widths, strict=True):
        if len(row) + wide + 1 > width() - INDENT:
            lines, row, roles = [*lines, row, roles], "", ""
        row, roles = f"{row}{token:>{wide}} ", f"{roles}{role:>{wide}} "
    return [line for line in [*lines, row, roles] if line.strip()]


def _say(name: str, text: str) -> None:
    print(*wrapped(text or "-", f"{name:<{INDENT}}", " " * INDENT), sep="\n")
