"""Every batch is a function of the seed and the step."""

import pytest
import torch

from headway.tasks import Retrieval
from headway.training import RunConfig, Stream, TrainingConfig, held_out


def stream(seed: int = 0, attempt: int = 0, **fields) -> Stream:
    training = TrainingConfig(**{"batch_size": 4, "train_examples": None, **fields})
    config = RunConfig(Retrieval(depth=1, n_chains=2), training=training, seed=seed)
    return Stream(config, attempt)


def inputs_at(source: Stream, step: int) -> torch.Tensor:
    _, batch = source.asked(step)
    return batch.inputs


@pytest.mark.parametrize("train_examples", [None, 10])
def test_a_batch_can_be_asked_for_in_any_order(train_examples):
    one = stream(train_examples=train_examples)
    other = stream(train_examples=train_examples)
    forwards = [inputs_at(one, step) for step in range(1, 8)]
    backwards = [inputs_at(other, step) for step in range(7, 0, -1)]
    for a, b in zip(forwards, reversed(backwards), strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize("train_examples", [None, 64])
def test_seeds_attempts_and_steps_differ(train_examples):
    streams = [
        stream(seed, attempt, train_examples=train_examples)
        for seed in (0, 1)
        for attempt in (0, 1)
    ]
    batches = [inputs_at(source, step) for source in streams for step in (1, 2)]
    for i, a in enumerate(batches):
        for b in batches[i + 1 :]:
            assert not torch.equal(a, b)


def test_an_epoch_shows_every_sequence_of_the_fixed_set_once():
    source = stream(train_examples=12)
    epochs = []
    for epoch in (0, 1):
        batches = [source.asked(3 * epoch + step)[1].targets for step in (1, 2, 3)]
        seen = torch.cat(batches).flatten(1)
        epochs.append(seen)
        assert len(seen.unique(dim=0)) == 12
    first, second = epochs
    assert torch.equal(first.unique(dim=0), second.unique(dim=0))
    assert not torch.equal(first, second)


def test_held_out_samples_are_of_their_own():
    task = Retrieval(depth=1, n_chains=2)
    training = [inputs_at(stream(), step) for step in (1, 2)]
    other_uses = [
        held_out(task, 8, 0, "cpu", use).inputs for use in ("held-out", "circuit")
    ]
    sequences = torch.cat([*training, *other_uses]).flatten(1)
    assert len(sequences) == 24
    assert len(sequences.unique(dim=0)) == 24
