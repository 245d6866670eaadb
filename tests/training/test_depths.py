"""Training on sequences of less than the full depth."""

import dataclasses

import pytest
import torch

from headway.errors import HeadwayError
from headway.tasks import ConditionalConfig, Retrieval, RetrievalConfig
from headway.training import (
    Stream,
    TrainingConfig,
    evaluate,
    held_out,
    train,
    train_stacked,
)


def stream_of(depths: str, curriculum: bool = True, train_examples: int | None = None) -> Stream:
    task = Retrieval(RetrievalConfig(depth=4, curriculum=curriculum))
    config = TrainingConfig(
        batch_size=8, train_examples=train_examples, depths=depths, rising_every=3
    )
    return Stream(task, config, 0, "cpu")


def depth_of(batch) -> int:
    return (batch.roles.shape[1] - 1) // 2


def test_depths_rise_by_one_every_so_many_steps():
    stream = stream_of("rising")
    depths = [depth_of(stream.batch(step)) for step in range(1, 16)]
    assert depths == [1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 4, 4, 4]


def test_a_mixture_holds_every_depth_about_equally_often():
    stream = stream_of("mixture")
    depths = [depth_of(stream.batch(step)) for step in range(1, 401)]
    assert all(70 <= depths.count(depth) <= 130 for depth in (1, 2, 3, 4))


@pytest.mark.parametrize("curriculum", [True, False])
@pytest.mark.parametrize("train_examples", [None, 16])
def test_a_shallower_sequence_is_the_end_of_the_deeper_one(curriculum, train_examples):
    full, rising = (stream_of(d, curriculum, train_examples) for d in ("full", "rising"))
    deep, shallow = full.batch(4), rising.batch(4)  # of depth 2
    length = 4 * (2 * 2 + 1)
    assert torch.equal(shallow.inputs, deep.inputs[:, -length:])
    assert torch.equal(shallow.roles, deep.roles[:, :5] - (deep.inputs.shape[1] - length))
    where = shallow.roles[..., None].expand(-1, -1, -1, 4)
    tokens = shallow.inputs[:, None, :, :4].expand(-1, 5, -1, -1).gather(2, where)
    asked = tokens[:, [2, 4]] if curriculum else tokens[:, [4]]
    queries = shallow.roles[:, 0] - (length - 4)
    for hop in range(asked.shape[1]):
        said = shallow.targets[:, :, hop].gather(1, queries[..., None].expand(-1, -1, 4))
        assert torch.equal(said, asked[:, hop])


@pytest.mark.parametrize("depths", ["mixture", "rising"])
def test_a_run_trains_on_them_and_is_judged_at_full_depth(tiny, with_training, tmp_path, depths):
    config = with_training(tiny, depths=depths, rising_every=4)
    run = train(config, tmp_path / "run")
    sample = held_out(run.task, config.training.eval_examples, config.seed, "cpu")
    losses = evaluate(run.model(), sample)
    assert run.metrics()[-1]["partial"] == pytest.approx(
        dict(zip(["x_1", "x_2"], losses.tolist(), strict=True))
    )
    other = train(with_training(tiny, depths="full"), tmp_path / "full")
    assert run.metrics()[-1]["val_loss"] != other.metrics()[-1]["val_loss"]


def test_patience_begins_when_the_full_depth_has_come(tiny, with_training, tmp_path):
    config = with_training(
        tiny,
        optimizer="adam",
        learning_rate=1e-9,
        steps=40,
        cooldown_steps=0,
        depths="rising",
        rising_every=10,
        patience=8,
        eval_every=2,
    )
    given_up = (train(config, tmp_path / "run").outcome() or {})["given_up"]
    assert [attempt["step"] for attempt in given_up] == [18]


def test_the_full_depth_must_come_before_the_end(tiny, with_training):
    with pytest.raises(HeadwayError, match=r"^training\.rising_every = 12 is not allowed"):
        with_training(tiny, depths="rising", rising_every=12)


@pytest.mark.parametrize(
    "task", [RetrievalConfig(depth=2, order="shallow-first"), ConditionalConfig()]
)
def test_only_sequences_whose_end_is_a_shallower_one_can_be_shortened(tiny, with_training, task):
    config = with_training(tiny, depths="mixture")
    with pytest.raises(HeadwayError, match=r"training\.depths = 'mixture'.*deep-first"):
        dataclasses.replace(config, task=task)


def test_a_stack_is_of_one_depth(tiny, with_training, tmp_path):
    configs = [with_training(tiny, depths="rising", rising_every=4)] * 2
    with pytest.raises(HeadwayError, match=r"training\.depths = 'rising'.*stack"):
        train_stacked(configs, [tmp_path / "a", tmp_path / "b"])
