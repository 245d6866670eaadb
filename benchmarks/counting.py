"""Training steps on their own, and their floating-point operations as PyTorch counts them."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from headway.training import Ask, Run, RunConfig, Stream
from headway.training.data import batch_of
from headway.training.loop import Trainer
from headway.training.state import State


def counted(work: Callable[[], object]) -> int:
    """Operations of the matrix products in a call, attention's among them."""
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        work()
    return counter.get_total_flops()


def trainer_of(config: RunConfig) -> Trainer:
    """A run before its first step, in no folder."""
    return Trainer(Run(Path(), config), State.at_start(config.training))


def steps_of(config: RunConfig) -> Callable[[], None]:
    """The steps of a run as its loop makes them, one a call, each with its batch."""
    trainer = trainer_of(config)

    def step() -> None:
        trainer.step(*trainer.batches.asked(trainer.state.step + 1))

    return step


def step_operations(config: RunConfig, depth: int | None = None) -> int:
    """Operations of one training step, Muon's included.

    Args:
        config: of the run.
        depth: hops of the step's sequences; none means all.
    """
    trainer = trainer_of(replace(config, device="cpu"))
    ask = Ask(depth)
    batch = batch_of(trainer.batches.task, trainer.batches.draws(1), ask)
    return counted(lambda: trainer.step(ask, batch))


def run_operations(config: RunConfig, attempts: list[int]) -> int:
    """Operations of all steps of a run, whose attempts made so many steps each."""
    training = replace(config.training, train_examples=None)
    config = replace(config, training=training, device="cpu")
    by_depth: dict[int | None, int] = {}
    for attempt, steps in enumerate(attempts):
        stream = Stream(config, attempt)
        for step in range(1, steps + 1):
            depth = stream.curriculum.ask(step, 0, stream.task, stream.seed).depth
            by_depth[depth] = by_depth.get(depth, 0) + 1
    return sum(count * step_operations(config, depth) for depth, count in by_depth.items())
