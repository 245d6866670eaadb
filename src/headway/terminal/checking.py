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
    print_part("task", task.title)
    print_part("reading", task.reading)
    print_part("sequence", _size(task), *_example(task, batch))
    hops = ", ".join(task.hops)
    if task.n_depths > 1:
        hops += f"; {task.n_depths} depths"
    print_part("hops", hops)
    if task.roles:
        n_chains = batch.roles.shape[2]
        print_part("roles", f"{', '.join(task.roles)}; chains: {n_chains}")
    print_part("relations", _relations(task, batch))
    losses = [f"{name} {loss:.3f}" for name, loss in task.references().items()]
    known = ", ".join(losses) or "none is known"
    print_part("baselines", f"{task.targets.loss_name}: {known}")
    print_part("flow", _least_layers(task))


def _size(task: Task) -> str:
    """The parts of a sequence."""
    made_of = f"one of {task.vocabulary} tokens"
    if task.vocabulary is None:
        made_of = f"{task.d_input} numbers"
    return f"{task.length} positions of {made_of}; the last {task.n_read} ask"


def _relations(task: Task, batch: Batch) -> str:
    """The number of relations that a circuit can use, by their use."""
    uses = Counter(edges.use for edges in task.relations(batch).values())
    named = [f"{name}: {uses[use]}" for use, name in USES.items() if uses[use]]
    return "; ".join(named) or "none"


def _least_layers(task: Task) -> str:
    """The number of layers that an answer takes by the flow of information."""
    flow = task.flow()
    least = None if flow is None else flow.minimum_layers(causal=not task.looks_ahead)
    return "not known" if least is None else f"an answer takes at least {least} layers"


def _example(task: Task, batch: Batch) -> list[str]:
    """The tokens of the first sequence, and below them the roles of its first chain."""
    if task.vocabulary is None:
        return []
    roles: dict[int, str] = {}
    if batch.roles.numel():
        first_chain = batch.roles[0, :, 0].tolist()
        roles = dict(zip(first_chain, task.roles, strict=False))
    room = width() - len(INDENT)
    lines = ["", ""]
    for position, token in enumerate(batch.inputs[0].tolist()):
        name = task.token_name(token)
        role = roles.get(position, "")
        wide = max(len(name), len(role))
        if len(lines[-1]) + wide >= room:
            lines += ["", ""]
        lines[-2] += f"{name:>{wide}} "
        lines[-1] += f"{role:>{wide}} "
    return [line for line in lines if line.strip()]
