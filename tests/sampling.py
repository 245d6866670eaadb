"""Sequences to look at, and what queries in them read."""

import torch

from headway.tasks import NO_KEY


def sample(task, count=6, seed=0):
    """A batch of a task, the same for the same seed."""
    return task.sample(count, torch.Generator().manual_seed(seed))


def read(edges, row):
    """The keys that every query of a sequence reads, sorted."""
    return {
        int(query): sorted(int(key) for key in keys if key != NO_KEY)
        for query, keys in zip(edges.queries[row], edges.keys[row], strict=True)
        if query != NO_KEY
    }
