"""Sequences to look at, and what queries in them read."""

import torch

from headway.models import TransformerConfig
from headway.tasks import NO_KEY, Retrieval
from headway.training import RunConfig, Stream, TrainingConfig


def sample(task, count=6, seed=0):
    """A batch of a task, the same for the same seed."""
    return task.sample(count, torch.Generator().manual_seed(seed))


def stream_of(curriculum, task=None, train_examples=None):
    """The batches of training by a curriculum, by default on chains of four hops."""
    task = task or Retrieval(depth=4)
    model = TransformerConfig(causal=not task.looks_ahead)
    fields = {"batch_size": 8, "train_examples": train_examples, "steps": 100}
    return Stream(
        RunConfig(task, model, TrainingConfig(curriculum=curriculum, **fields))
    )


def depth_of(batch):
    """The depth of the chains in a batch."""
    return (batch.roles.shape[1] - 1) // 2


def read(edges, row):
    """The keys that every query of a sequence reads, sorted."""
    return {
        int(query): sorted(int(key) for key in keys if key != NO_KEY)
        for query, keys in zip(edges.queries[row], edges.keys[row], strict=True)
        if query != NO_KEY
    }


def seeded(seed=0):
    """A generator of random numbers that begins at a seed."""
    return torch.Generator().manual_seed(seed)
