"""Training steps on their own, and their floating-point operations as PyTorch counts them."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch
from headway.training.trainer import Trainer, started
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from headway.tasks import Batch
from headway.training import Run, RunConfig, Stream
from headway.training.precision import casting, resolved, rounding
from headway.training.state import State


def counted(work: Callable[[], object]) -> int:
    """Operations of the matrix products in a call, attention's among them."""
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        work()
    return counter.get_total_flops()


def steps_of(config: RunConfig) -> Callable[[], None]:
    """The steps of a run as its loop makes them, one a call, each with its batch."""
    run = Run(Path(), config)
    trainer = started(run, State.at_start(config.training))

    def step() -> None:
        make_step(run, trainer, trainer.batches.batch(trainer.state.step + 1))
        trainer.state.step += 1

    return step


def make_step(run: Run, trainer: Trainer, batch: Batch) -> None:
    """One step on a batch, as the loop makes it."""
    config, device = run.config.training, batch.inputs.device
    precision = resolved(config.precision, device)
    with rounding(precision, device):
        with casting(precision, device):
            tap = config.clamp.tap(run.task, batch, trainer.state.step + 1)
            loss = config.curriculum.loss(trainer.model, run.task.targets, batch, tap)
        trainer.optimisers.zero_grad()
        loss.backward()
        trainer.optimisers.step(1.0, trainer.state.step)


def step_operations(config: RunConfig, depth: int | None = None) -> int:
    """Operations of one training step, Muon's included.

    Args:
        config: of the run.
        depth: hops of the step's sequences; none means all.
    """
    run = Run(Path(), replace(config, device="cpu"))
    trainer = started(run, State.at_start(config.training))
    task = trainer.batches.task
    draws = task.draw(config.training.batch_size, torch.Generator().manual_seed(0))
    batch = task.assemble(draws) if depth is None else task.shallower(draws, depth)
    return counted(lambda: make_step(run, trainer, batch))


def run_operations(config: RunConfig, attempts: list[int]) -> int:
    """Operations of all steps of a run, whose attempts made so many steps each."""
    training = replace(config.training, train_examples=None)
    config = replace(config, training=training, device="cpu")
    by_depth: dict[int | None, int] = {}
    for attempt, steps in enumerate(attempts):
        stream = Stream(config, attempt)
        for step in range(1, steps + 1):
            depth = stream.curriculum.depth_at(step, stream.task, stream.seed)
            by_depth[depth] = by_depth.get(depth, 0) + 1
    return sum(count * step_operations(config, depth) for depth, count in by_depth.items())
