"""Attention through training: between roles on average, and on one sequence in full."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from headway.circuits.roles import role_attention
from headway.models import attention_patterns
from headway.report.findings import Findings
from headway.training.files import is_there

MOST_BETWEEN_ROLES = 600_000
MOST_ON_EXAMPLE = 6_000_000
"""The most attention values kept for the page; with more, checkpoints are left out evenly."""

Kept = TypeVar("Kept")

Memory = dict[tuple[int, int], tuple[Tensor, Tensor]]
"""Snapshots computed before, by step and modification time of the checkpoint (see `snapshot`)."""


@dataclass(frozen=True)
class History:
    """Attention of the heads that the page follows, in hundredths.

    Attributes:
        steps: of the checkpoints.
        roles: mean attention between the roles of a chain, in the order of `places`.
        example_steps: which of the steps the example is kept for, as indices into `steps`.
        example: attention on the first sequence.
    """

    steps: list[int]
    roles: UInt8[Tensor, "step head role role"]
    example_steps: list[int]
    example: UInt8[Tensor, "kept head query key"]


def history(findings: Findings, memory: Memory | None = None) -> History:
    """Follows attention through the run's checkpoints.

    Args:
        findings: of a run with a checkpoint.
        memory: filled with what was computed, and read if it was there.

    Raises:
        HeadwayError: if a checkpoint cannot be read.
    """
    memory = {} if memory is None else memory
    heads, task = findings.followed_heads, findings.task
    between_roles = len(heads) * max(1, len(task.roles)) ** 2
    steps = thinned(findings.checkpoints, MOST_BETWEEN_ROLES // between_roles)
    on_one = len(heads) * len(findings.shown) ** 2
    kept = thinned(list(range(len(steps))), MOST_ON_EXAMPLE // on_one)
    layers, numbers = [list(each) for each in zip(*heads, strict=True)]
    between, on_example = [], []
    for step in steps:
        file = findings.run.checkpoint_path(step)
        name = step, file.stat().st_mtime_ns if is_there(file) else 0
        if name not in memory:
            memory[name] = snapshot(findings, step)
        roles, example = memory[name]
        between.append(roles[layers, numbers])
        on_example.append(example[layers, numbers])
    return History(
        steps=steps,
        roles=torch.stack(between),
        example_steps=kept,
        example=torch.stack([on_example[i] for i in kept]),
    )


@torch.no_grad()
def snapshot(
    findings: Findings, step: int
) -> tuple[UInt8[Tensor, "layer head role role"], UInt8[Tensor, "layer head query key"]]:
    """Attention at one checkpoint: between roles, and on the example, so far as it is shown."""
    batch = findings.sequences if findings.task.roles else findings.example
    patterns = attention_patterns(findings.run.model(step), batch.inputs)
    start = findings.shown.start
    on_example = patterns[0, :, :, start:, start:]
    return hundredths(role_attention(patterns, findings.task, batch)), hundredths(on_example)


def hundredths(shares: Float[Tensor, "..."]) -> UInt8[Tensor, "..."]:
    """Shares between 0 and 1, rounded."""
    return (100 * shares).round().clamp(0, 100).to(torch.uint8).cpu()


def thinned(steps: Sequence[Kept], most: int) -> list[Kept]:
    """At most so many steps or points, at least two, evenly spread, with the first and the last."""
    most = max(2, most)
    if len(steps) <= most:
        return list(steps)
    return [steps[round(i * (len(steps) - 1) / (most - 1))] for i in range(most)]
