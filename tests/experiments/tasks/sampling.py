"""Sequences to look at."""

import torch


def sample(task, count=6, seed=0):
    """A batch of a task, the same for the same seed."""
    return task.sample(count, torch.Generator().manual_seed(seed))
