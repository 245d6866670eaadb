"""Whether answers can be found in their sequences, and by paths, as far as a sample can show it."""

from collections.abc import Iterator

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from headway.tasks.base import Batch, Task
from headway.tasks.checking.easy import easy, matches
from headway.tasks.checking.findings import Finding
from headway.tasks.targets import Tokens

Findings = Iterator[Finding]


def about_answers(task: Task, batch: Batch) -> Findings:
    """What is odd about answers: undecided, too easy, at no role of a chain, out of reach.

    Args:
        task: whose shapes are all right.
        batch: some hundred sequences of it.
    """
    asked = task.targets.asked(batch.targets)
    for i, hop in enumerate(task.hops):
        if not asked[:, :, i].any():
            yield Finding("hops", f"{hop} is never asked in {len(asked)} sequences", doubt=True)
            continue
        if isinstance(task.targets, Tokens) and hop in task.judged:
            yield from _decided(hop, batch, i, asked[:, :, i])
        yield from easy(hop, batch, i, asked[:, :, i])
        if batch.roles.numel():
            yield from _standing(task, hop, batch, i)
    yield from _reached(task, batch, asked)


def _decided(hop: str, batch: Batch, i: int, asked: Bool[Tensor, "batch query"]) -> Findings:
    """Whether answers are the same where sequences are the same."""
    which = torch.unique(batch.inputs.flatten(1), dim=0, return_inverse=True)[1]
    rows, queries = asked.nonzero(as_tuple=True)
    cases = torch.stack([which[rows], queries, batch.targets[rows, queries, i]], dim=1)
    if len(cases.unique(dim=0)) > len(cases[:, :2].unique(dim=0)):
        what = f"one sequence has two answers to {hop}: it does not decide the answer"
        yield Finding("assemble", what, doubt=True)


def _reached(task: Task, batch: Batch, asked: Bool[Tensor, "batch query hop"]) -> Findings:
    """Whether some path leads away from every position at which something is asked, and whether
    every position plays a role or is at an end of a path."""
    leads = torch.zeros(batch.inputs.shape[:2], dtype=torch.bool, device=asked.device)
    known = leads.scatter(1, batch.roles.flatten(1), True)
    relations = task.relations(batch).values()
    paths = [edges for edges in relations if edges.use == "path"]
    for edges in paths:
        rows, n = edges.there.any(2).nonzero(as_tuple=True)
        leads[rows, edges.queries[rows, n]] = True
        rows, n, key = edges.there.nonzero(as_tuple=True)
        known[rows, edges.keys[rows, n, key]] = True
    known |= leads
    asks = asked.any(2)
    alone = asks & ~leads[:, -asks.shape[1] :]
    if paths and alone.any():
        share = alone.sum() / asks.sum()
        what = f"no path leads from {share:.0%} of the positions that are asked, so that no"
        yield Finding("relations", f"{what} circuit can answer there", doubt=True)
    if paths and not known.all():
        share, name = 1 - known.float().mean(), "roles" if task.roles else "relations"
        what = f"{share:.0%} of the positions play no role and no path leads to them, so that no"
        yield Finding(name, f"{what} circuit can name heads that look there", doubt=True)


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
        found = matches(batch.inputs[rows, positions.clamp(0, length - 1)], answers) & there
        return float(found[asked].float().mean())

    at = {name: share(batch.roles[:, r]) for r, name in enumerate(task.roles)}
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
