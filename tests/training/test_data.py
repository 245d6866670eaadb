"""Every batch is a function of the seed and the step."""

import pytest
import torch

from headway.tasks import Retrieval
from headway.training import RunConfig, Stream, TrainingConfig, held_out


def stream(seed: int = 0, attempt: int = 0, **fields) -> Stream:
    training = TrainingConfig(**{"batch_size": 4, "train_examples": None, **fields})
    config = RunConfig(Retrieval(depth=1, n_chains=2), training=training, seed=seed)
    return Stream(config, attempt)


@pytest.mark.parametrize("train_examples", [None, 10])
def test_a_batch_can_be_asked_for_in_any_order(train_examples):
    one = stream(train_examples=train_examples)
    other = stream(train_examples=train_examples)
    forwards = [one.asked(step)[1].inputs for step in range(1, 8)]
    backwards = [other.asked(step)[1].inputs for step in range(7, 0, -1)]
    for a, b in zip(forwards, reversed(backwards), strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize("train_examples", [None, 64])
def test_seeds_attempts_and_steps_differ(train_examples):
    batches = [
        stream(seed, attempt, train_examples=train_examples).asked(step)[1].inputs
        for seed in (0, 1)
        for attempt in (0, 1)
        for step in (1, 2)
    ]
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
    assert torch.equal(epochs[0].unique(dim=0), epochs[1].unique(dim=0))
    assert not torch.equal(epochs[0], epochs[1])


def test_held_out_samples_are_of_their_own():
    task = Retrieval(depth=1, n_chains=2)
    samples = {
        p: held_out(task, 8, 0, "cpu", p).inputs for p in ("held-out", "circuit")
    }
    samples["training"] = torch.cat([stream().asked(step)[1].inputs for step in (1, 2)])
    values = list(samples.values())
    assert len(torch.cat(values).flatten(1).unique(dim=0)) == 24
