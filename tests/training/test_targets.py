"""Which hops a step counts, and where in the model they are asked for."""

import dataclasses
from collections import Counter

import pytest
import torch

from headway.errors import HeadwayError
from headway.models import Transformer, TransformerConfig
from headway.tasks import (
    CompositionConfig,
    Conditional,
    ConditionalConfig,
    HopsConfig,
    Retrieval,
    RetrievalConfig,
)
from headway.training import (
    RunConfig,
    Stream,
    TrainingConfig,
    evaluate,
    held_out,
    train,
    train_stacked,
)
from headway.training.config import Targets
from headway.training.learner import Single, read_by_layers


def stream_of(targets: Targets, task=None) -> Stream:
    config = TrainingConfig(batch_size=8, train_examples=None, targets=targets, rising_every=3)
    return Stream(task or Retrieval(RetrievalConfig(depth=3)), config, 0, "cpu")


@pytest.mark.parametrize(
    ("targets", "expected"),
    [
        ("rising", [(0,)] * 3 + [(0, 1)] * 3 + [(0, 1, 2)] * 3),
        ("falling", [(2,)] * 3 + [(1, 2)] * 3 + [(0, 1, 2)] * 3),
    ],
)
def test_targets_come_one_after_another(targets, expected):
    stream, full = stream_of(targets), stream_of("all")
    for step, hops in enumerate(expected, start=1):
        batch = stream.batch(step)
        assert batch.asked == hops
        assert torch.equal(batch.targets, full.batch(step).targets[:, :, list(hops)])
        assert torch.equal(batch.inputs, full.batch(step).inputs)


def test_a_random_target_is_each_about_equally_often():
    stream = stream_of("random", Conditional(ConditionalConfig()))
    counts = Counter(stream.batch(step).asked for step in range(1, 301))
    assert set(counts) == {(0,), (1,), (2,)}
    assert all(70 <= count <= 130 for count in counts.values())


def test_a_step_counts_only_what_it_asks_for():
    task = Retrieval(RetrievalConfig(depth=3))
    model = Transformer(
        TransformerConfig(n_layers=2, d_model=16), task.d_input, task.d_target, task.length, 4
    )
    before = evaluate(model, batch := stream_of("falling").task.sample(8, torch.Generator()))
    learner = Single(model, TrainingConfig())
    (loss,) = learner.step(
        dataclasses.replace(batch, targets=batch.targets[:, :, (2,)], asked=(2,)), [1.0]
    )
    assert loss.item() == pytest.approx(before[2].item(), rel=1e-5)
    assert model.unembed.weight.grad is not None
    rows = model.unembed.weight.grad.unflatten(0, (3, 4))
    assert rows[2].abs().sum() > 0
    assert rows[:2].abs().sum() == 0


@pytest.mark.parametrize("targets", ["random", "rising", "falling"])
def test_a_run_is_judged_on_all_targets(tiny, with_training, tmp_path, targets):
    config = with_training(tiny, targets=targets, rising_every=4)
    run = train(config, tmp_path / "run")
    sample = held_out(run.task, config.training.eval_examples, config.seed, "cpu")
    losses = evaluate(run.model(), sample)
    assert run.metrics()[-1]["partial"] == pytest.approx(
        dict(zip(["x_1", "x_2"], losses.tolist(), strict=True))
    )
    other = train(with_training(tiny, targets="all"), tmp_path / "all")
    assert run.metrics()[-1]["val_loss"] != other.metrics()[-1]["val_loss"]


def test_every_hop_is_read_out_after_its_layer():
    task = Retrieval(RetrievalConfig(depth=2))
    model = Transformer(TransformerConfig(n_layers=5, d_model=16), task.d_input, 4, task.length, 4)
    batch = task.sample(3, torch.Generator())
    first, last = read_by_layers(model, batch.inputs, 2)
    assert torch.equal(last, model(batch.inputs))
    model.blocks = model.blocks[:3]  # ⌈5/2⌉
    torch.testing.assert_close(first, model(batch.inputs))


def test_supervised_layers_learn_from_every_hop_and_answer_one(tiny, with_training, tmp_path):
    plain = dataclasses.replace(tiny, task=RetrievalConfig(depth=2, curriculum=False))
    config = with_training(plain, supervise="layers", eval_every=1, steps=2, cooldown_steps=0)
    run = train(config, tmp_path / "run")
    assert run.task.hop_names == ("x_2",)
    both = Retrieval(RetrievalConfig(depth=2))
    stream = Stream(run.task, config.training, config.seed, "cpu")
    batch = stream.batch(1)
    assert torch.equal(batch.targets, both.assemble(stream.draws(1)).targets)
    read = torch.cat(read_by_layers(run.new_model("cpu"), batch.inputs, 2), -1)
    expected = (read - batch.targets.flatten(2)).square().mean()
    assert run.metrics()[0]["train_loss"] == pytest.approx(expected.item(), rel=1e-4)


def test_gaps_leave_hops_out(tmp_path):
    full, gaps = Retrieval(RetrievalConfig(3)), Retrieval(RetrievalConfig(3, hops=(1, 3)))
    assert gaps.hop_names == ("x_1", "x_3")
    draws = full.draw(5, torch.Generator().manual_seed(0))
    every, some = full.assemble(draws), gaps.assemble(draws)
    assert torch.equal(some.targets, every.targets[:, :, [0, 2]])
    assert torch.equal(some.inputs, every.inputs)


@pytest.mark.parametrize("hops", [(), (3, 1), (1, 2), (0, 3), (1, 1, 3), (1, 4)])
def test_gaps_must_rise_to_the_last_hop(hops):
    with pytest.raises(HeadwayError, match=r"^task\.hops = .* rise to task\.depth = 3"):
        RetrievalConfig(3, hops=hops)


def test_gaps_need_the_curriculum():
    with pytest.raises(HeadwayError, match=r"^task\.hops = .*task\.curriculum"):
        RetrievalConfig(3, hops=(1, 3), curriculum=False)


def trained(**fields) -> TrainingConfig:
    return TrainingConfig(steps=20, **fields)


@pytest.mark.parametrize(
    ("task", "training", "field"),
    [
        (RetrievalConfig(curriculum=False), trained(targets="random"), r"training\.targets"),
        (RetrievalConfig(), trained(targets="random", depths="mixture"), r"training\.targets"),
        (HopsConfig(), trained(targets="random"), r"training\.targets"),
        (CompositionConfig(hops=(4,)), trained(targets="random"), r"training\.targets"),
        (CompositionConfig(), trained(depths="mixture"), r"training\.depths"),
        (RetrievalConfig(), trained(supervise="layers"), r"training\.supervise"),
        (ConditionalConfig(curriculum=False), trained(supervise="layers"), r"training\.supervise"),
        (RetrievalConfig(hops=(1, 3)), trained(depths="mixture"), r"training\.depths"),
        (RetrievalConfig(), trained(targets="falling", rising_every=10), r"training\.rising_every"),
        (
            ConditionalConfig(),
            trained(targets="rising", rising_every=10),
            r"training\.rising_every",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(task, training, field):
    model = TransformerConfig(causal=not isinstance(task, CompositionConfig))
    with pytest.raises(HeadwayError, match=f"^{field}"):
        RunConfig(task, model, training)


def test_hops_that_lead_on_need_a_model_that_sees_both_ways():
    with pytest.raises(HeadwayError, match=r"^model\.causal = True is not allowed: .* composition"):
        RunConfig(CompositionConfig())


def test_supervised_layers_need_a_layer_a_hop():
    task, training = RetrievalConfig(5, curriculum=False), trained(supervise="layers")
    with pytest.raises(HeadwayError, match=r"^model\.n_layers = 4 .*task\.depth = 5"):
        RunConfig(task, TransformerConfig(n_layers=4), training)


@pytest.mark.parametrize("fields", [{"targets": "random"}, {"supervise": "layers"}])
def test_a_stack_asks_for_all_at_the_end(tiny, with_training, tmp_path, fields):
    task = RetrievalConfig(depth=2, curriculum="supervise" not in fields)
    config = with_training(dataclasses.replace(tiny, task=task), **fields)
    with pytest.raises(HeadwayError, match=r"training\.(targets|supervise) = .*stack"):
        train_stacked([config] * 2, [tmp_path / "a", tmp_path / "b"])
