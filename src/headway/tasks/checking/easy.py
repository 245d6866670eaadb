"""Answers that are too easy: rules that look nothing up are tried, and told with what they get."""

from collections.abc import Iterator

import torch
from jaxtyping import Bool
from torch import Tensor

from headway.tasks.base import Batch
from headway.tasks.checking.findings import Finding

CASES = 2048
"""Answers by which a rule is judged, at most."""

NOTABLE = 0.5
"""The share of what is left to win over a simpler rule, from which a rule is told."""


def easy(hop: str, batch: Batch, i: int, asked: Bool[Tensor, "batch query"]) -> Iterator[Finding]:
    """Doubts about a hop's answers if many are the same, stand at one place, or are the most
    frequent token of their sequence.

    Args:
        hop: its name.
        batch: some hundred sequences.
        i: which hop it is.
        asked: at which queries it is asked; at some.
    """
    rows, queries = (found[:CASES] for found in asked.nonzero(as_tuple=True))
    answers, inputs = batch.targets[rows, queries, i], batch.inputs[rows]
    kinds, counts = answers.unique(dim=0, return_counts=True)
    constant = float(counts.max()) / len(answers)
    rules = {_named(kinds[counts.argmax()]): (constant, 1 / len(kinds) if len(kinds) > 1 else 0)}
    there = matches(inputs, answers[:, None])
    name, share = _best_place(there, queries + inputs.shape[1] - asked.shape[1])
    rules[name if inputs.ndim == 2 else name.replace("token", "vector")] = share, constant
    if inputs.ndim == 2 and answers.ndim == 1:
        frequent = inputs.mode(dim=1).values
        often = (inputs == frequent[:, None]).sum(1) > 1
        share = float(((frequent == answers) & often).float().mean())
        rules["the most frequent token of the sequence"] = share, constant
    for name, (share, simpler) in rules.items():
        if share - simpler >= NOTABLE * (1 - simpler) > 0:
            what = f"the answer to {hop} is {name} in {share:.0%} of {len(answers)} cases"
            yield Finding("assemble", f"{what}: nothing need be looked up for that", doubt=True)


def _best_place(there: Bool[Tensor, "case position"], own: Tensor) -> tuple[str, float]:
    """The place at which answers stand most often, counted from the start, the end or the query.

    Args:
        there: where the answer of each case stands.
        own: the position of its query.
    """
    n, length = there.shape
    shares = {}
    for back in range(length):
        at = own - back
        found = there[torch.arange(n), at.clamp(min=0)] & (at >= 0)
        shares[f"the token {back} before the query"] = float(found.float().mean())
    named = {"the query's own token": shares.pop("the token 0 before the query")}
    by_place = there.float().mean(0).tolist()
    named |= {"the first token": by_place[0], "the last token": by_place[-1]}
    named |= {f"the token at position {p}": share for p, share in enumerate(by_place)} | shares
    name = max(named, key=lambda one: named[one])
    return name, named[name]


def _named(answer: Tensor) -> str:
    return f"the token {answer}" if answer.ndim == 0 else "the same vector"


def matches(read: Tensor, answers: Tensor) -> Bool[Tensor, "*cases"]:
    """Whether what is read is the answer, or holds it next to other numbers."""
    if not answers.is_floating_point():
        return (read == answers) if not read.is_floating_point() else (read != read).any(-1)
    if not read.is_floating_point():
        return torch.zeros_like(read, dtype=torch.bool)
    size = answers.shape[-1]
    windows = [read[..., i : i + size] for i in range(read.shape[-1] - size + 1)]
    found = [(window == answers).all(-1) for window in windows]
    return torch.stack(found).any(0) if found else torch.zeros_like(read[..., 0], dtype=torch.bool)
