"""An example of a task, and what a search for circuits knows of it."""

from collections import Counter

import torch

from headway.tasks import Batch, Task
from headway.terminal.base import INDENT, print_part
from headway.text import width

USES = {"path": "paths", "stay": "stays", "measured": "only measured"}


def print_task(task: Task) -> None:
    """Prints an example of a task, and what a search for circuits knows of it."""
    batch = task.sample(1, torch.Generator().manual_seed(0))
    uses = Counter(edges.use for edges in task.relations(batch).values())
    print_part("task", task.title)
    print_part("reading", task.reading)
    token = f"one of {task.vocabulary} tokens"
    made_of = f"{task.d_input} numbers" if task.vocabulary is None else token
    size = f"{task.length} positions of {made_of}; the last {task.n_read} ask"
    print_part("sequence", size, *_example(task, batch))
    depths = f"; {task.n_depths} depths" if task.n_depths > 1 else ""
    print_part("hops", ", ".join(task.hops) + depths)
    if task.roles:
        print_part("roles", f"{', '.join(task.roles)}; chains: {batch.roles.shape[2]}")
    named = [f"{told}: {uses[use]}" for use, told in USES.items() if uses[use]]
    print_part("relations", "; ".join(named) or "none")
    losses = [f"{name} {loss:.3f}" for name, loss in task.references().items()]
    print_part("baselines", f"{task.targets.loss_name}: {', '.join(losses) or 'none is known'}")
    flow = task.flow()
    least = None if flow is None else flow.minimum_layers(causal=not task.looks_ahead)
    print_part("flow", "not known" if least is None else f"an answer takes at least {least} layers")


def _example(task: Task, batch: Batch) -> list[str]:
    """The tokens of the first sequence, and below them the roles of its first chain."""
    if task.vocabulary is None:
        return []
    places = batch.roles[0, :, 0].tolist() if batch.roles.numel() else []
    below, lines = dict(zip(places, task.roles, strict=False)), ["", ""]
    for position, token in enumerate(batch.inputs[0].tolist()):
        name, role = task.token_name(token), below.get(position, "")
        wide = max(len(name), len(role))
        if len(lines[-1]) + wide >= width() - len(INDENT):
            lines += ["", ""]
        lines[-2:] = f"{lines[-2]}{name:>{wide}} ", f"{lines[-1]}{role:>{wide}} "
    return [line for line in lines if line.strip()]
