"""Training of the cohorts' models: a plain loop, the same weights from the same seed.

The rate stays as it is until nearly all sequences are right, then falls to zero, as
attention sharpens until then.
"""

import time
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import nn

from headway.tasks import Task
from headway.training import held_out
from headway.training.files import read_tensors, write_tensors
from headway_experiments.cohort.members import MODELS, Member
from headway_experiments.cohort.modules import module_of

SOLVED = 0.995
"""The share of whole sequences that are right, from which the rate falls."""

EVERY = 100
"""Steps from one look at that share to the next."""

WARM = 50
"""Steps in which the rate rises."""

LOOKED_AT = 512
"""Sequences on which a model is looked at."""


@dataclass(frozen=True)
class Learnt:
    """A model's success at its task, on sequences that it was not trained on.

    Attributes:
        accuracy: the share of right answers.
        sequences: the share of sequences of which all answers are right.
        steps: of training.
        seconds: of processor time that training took.
    """

    accuracy: float
    sequences: float
    steps: int
    seconds: float


def path_of(name: str, folder: Path) -> Path:
    """The file of a model's weights, and of how well it learnt."""
    return folder / f"{name.replace(' ', '-')}.safetensors"


def train(name: str, folder: Path, steps: int | None = None) -> Learnt:
    """Trains a model of a cohort, and keeps its weights and how well it learnt.

    Args:
        name: of the model.
        folder: that they are kept in.
        steps: of training at most; by default the model's own.
    """
    member = MODELS[name]
    begun = time.process_time()
    module = module_of(member.shape, member.task, member.seed)
    done = fit(module, member, steps or member.steps)
    accuracy, sequences = learnt_by(module, member.task)
    took = time.process_time() - begun
    learnt = Learnt(accuracy, sequences, done, took)
    path = path_of(name, folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_tensors(path, module.state_dict(), asdict(learnt))
    return learnt


def fit(module: nn.Module, member: Member, most: int) -> int:
    """Trains a module until its rate is zero, and returns the steps that took.

    Args:
        module: with fresh weights.
        member: that it is.
        most: steps at most.
    """
    task = member.task
    generator = torch.Generator().manual_seed(member.seed)
    optimizer = torch.optim.AdamW(module.parameters(), lr=member.rate, fused=True)
    module.train()
    step = 0
    end = most
    while step < end:
        step += 1
        falling = (end - step) / member.settle
        rate = member.rate * min(step / WARM, falling, 1.0)
        optimizer.param_groups[0]["lr"] = rate
        batch = task.sample(member.batch, generator)
        outputs = module(batch.inputs)[:, -task.n_read :]
        loss = task.targets.loss(outputs, batch.targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        is_looked_at = step % EVERY == 0 and step + member.settle < end
        if is_looked_at and learnt_by(module, task)[1] >= SOLVED:
            end = step + member.settle
    module.eval()
    return end


@torch.no_grad()
def learnt_by(module: nn.Module, task: Task) -> tuple[float, float]:
    """The shares of right answers, and of sequences of which all answers are right."""
    batch = held_out(task, LOOKED_AT, 0, "cpu", "learnt")
    every = module(batch.inputs)
    outputs = getattr(every, "logits", every)[:, -task.n_read :]
    asked = task.targets.asked(batch.targets)
    right = task.targets.right(outputs, batch.targets)
    accuracy = right[asked].double().mean().item()
    whole = (right | ~asked).flatten(1).all(1)
    return accuracy, whole.double().mean().item()


def load(name: str, folder: Path) -> tuple[nn.Module, Task, Learnt]:
    """A model of a cohort, its task, and how well it learnt; trained if it is not
    there.
    """
    path = path_of(name, folder)
    if not path.exists():
        train(name, folder)
    member = MODELS[name]
    module = module_of(member.shape, member.task, member.seed)
    weights, learnt = read_tensors(path)
    module.load_state_dict(weights)
    return module.eval(), member.task, Learnt(**learnt)
