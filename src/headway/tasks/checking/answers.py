"""Whether answers can be found in their sequences, and by paths, as far as a sample can show it."""

from collections.abc import Iterator

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from headway.tasks.base import Batch, Task
from headway.tasks.checking.findings import Finding
from headway.tasks.targets import Tokens

Findings = Iterator[Finding]


def about_answers(task: Task, batch: Batch) -> Findings:
    """What is odd about answers: all the same, undecided, at no role of a chain, out of reach.

    Args:
        task: whose shapes are all right.
        batch: some hundred sequences of it.
    """
    asked = task.targets.asked(batch.targets)
    for i, hop in enumerate(task.hops):
        if not asked[:, :, i].any():
            yield Finding("hops", f"{hop} is never asked in {len(asked)} sequences", doubt=True)
    if isinstance(task.targets, Tokens):
        yield from _decided(task, batch, asked)
    if batch.roles.numel():
        for i, hop in enumerate(task.hops):
            yield from _standing(task, hop, batch, i)
    yield from _reached(task, batch, asked)


def _decided(task: Task, batch: Batch, asked: Bool[Tensor, "batch query hop"]) -> Findings:
    """Whether answers vary, and are the same where sequences are the same."""
    which = torch.unique(batch.inputs.flatten(1), dim=0, return_inverse=True)[1]
    for i, hop in enumerate(task.hops):
        rows, queries = asked[:, :, i].nonzero(as_tuple=True)
        answers = batch.targets[rows, queries, i]
        if len(answers) and len(answers.unique()) == 1:
            what = f"the answer to {hop} is the token {answers[0]} in all {len(asked)} sequences"
            yield Finding("assemble", what, doubt=True)
        cases = torch.stack([which[rows], queries, answers], dim=1)
        if hop in task.judged and len(cases.unique(dim=0)) > len(cases[:, :2].unique(dim=0)):
            what = f"one sequence has two answers to {hop}: it does not decide the answer"
            yield Finding("assemble", what, doubt=True)


def _reached(task: Task, batch: Batch, asked: Bool[Tensor, "batch query hop"]) -> Findings:
    """Whether some path leads away from every position at which something is asked."""
    leads = torch.zeros(batch.inputs.shape[:2], dtype=torch.bool, device=asked.device)
    relations = task.relations(batch).values()
    paths = [edges for edges in relations if edges.use == "path"]
    for edges in paths:
        rows, n = edges.there.any(2).nonzero(as_tuple=True)
        leads[rows, edges.queries[rows, n]] = True
    asks = asked.any(2)
    alone = asks & ~leads[:, -asks.shape[1] :]
    if paths and alone.any():
        share = alone.sum() / asks.sum()
        what = f"no path leads from {share:.0%} of the positions that are asked, so that no"
        yield Finding("relations", f"{what} circuit can answer there", doubt=True)


def _standing(task: Task, hop: str, batch: Batch, i: int) -> Findings:
    """Whether the answer to a chain's query always stands at the same role of the chain."""
    n_read, length = batch.targets.shape[1], batch.inputs.shape[1]
    queries = batch.roles[:, 0] - (length - n_read)
    rows = torch.arange(len(queries))[:, None]
    answers = batch.targets[rows, queries, i]
    asked = task.targets.asked(batch.targets)[:, :, i].gather(1, queries)
    if not asked.any():
        return

    def share(positions: Int[Tensor, "batch chain"]) -> float:
        there = (positions >= 0) & (positions < length)
        found = _matches(batch.inputs[rows, positions.clamp(0, length - 1)], answers) & there
        return float(found[asked].float().mean())

    at = {name: share(batch.roles[:, r]) for r, name in enumerate(task.roles)}
    if at[task.roles[0]] == 1:
        what = f"the answer to {hop} stands at the query itself, {task.roles[0]}"
        yield Finding("assemble", what, doubt=True)
        return
    if max(at.values()) == 1:
        return
    for r, name in enumerate(task.roles):
        for step, side in ((-1, "before"), (1, "after")):
            if share(batch.roles[:, r] + step) == 1:
                what = f"the answer to {hop} stands one position {side} {name}, and at no role"
                yield Finding("assemble", what, doubt=True)
                return
    best = max(at, key=lambda name: at[name])
    what = f"the answer to {hop} stands at no role of its chain (at {best} in {at[best]:.0%})"
    yield Finding("assemble", f"{what}: fine if it is computed", doubt=True)


def _matches(read: Tensor, answers: Tensor) -> Bool[Tensor, "batch chain"]:
    """Whether what is read is the answer, or holds it next to other numbers."""
    if answers.ndim == 2:
        return read == answers
    size = answers.shape[-1]
    windows = [read[..., i : i + size] for i in range(read.shape[-1] - size + 1)]
    found = [(window == answers).all(-1) for window in windows]
    return torch.stack(found).any(0) if found else answers[..., 0] != answers[..., 0]
