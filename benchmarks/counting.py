"""Floating-point operations of training, as PyTorch counts them."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from headway.tasks import Retrieval, make_task
from headway.training import Run, RunConfig, Stream
from headway.training.learner import Single


def counted(work: Callable[[], object]) -> int:
    """Operations of the matrix products in a call, attention's among them."""
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        work()
    return counter.get_total_flops()


def step_operations(config: RunConfig, depth: int | None = None) -> int:
    """Operations of one training step, Muon's included.

    Args:
        config: of the run.
        depth: hops of the step's sequences; none means all.
    """
    config = replace(config, device="cpu")
    task = make_task(config.task)
    learner = Single(Run(Path(), config).new_model(), config.training)
    draws = task.draw(config.training.batch_size, torch.Generator().manual_seed(0))
    if depth is not None and isinstance(task, Retrieval):
        batch = task.assemble(draws, depth)
    else:
        batch = task.assemble(draws)
    return counted(lambda: learner.step(batch, [1.0]))


def run_operations(config: RunConfig, attempts: list[int]) -> int:
    """Operations of all steps of a run, whose attempts made so many steps each."""
    config = replace(config, training=replace(config.training, train_examples=None))
    by_depth: dict[int | None, int] = {}
    for attempt, steps in enumerate(attempts):
        stream = Stream(make_task(config.task), config.training, config.seed, "cpu", attempt)
        for step in range(1, steps + 1):
            depth = stream.depth(step)
            by_depth[depth] = by_depth.get(depth, 0) + 1
    return sum(count * step_operations(config, depth) for depth, count in by_depth.items())
