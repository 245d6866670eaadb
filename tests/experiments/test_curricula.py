"""Things that training steps ask for: which depth, which hops, and where in the model."""

from collections import Counter
from dataclasses import replace

import pytest
import torch

from headway.models import Transformer, TransformerConfig
from headway.tasks import Conditional, Hops, Retrieval
from headway.theory import closed_form
from headway.training import Implicit, RunConfig, Stream, TrainingConfig, evaluate, held_out, train
from headway_experiments.curricula import (
    FinalHop,
    FinalMixture,
    Gaps,
    Growing,
    Leaps,
    PerLayer,
    Scheduled,
    read_by_layers,
)
from headway_experiments.tasks import Bigrams, Composition
from sampling import depth_of, stream_of


def asked(stream: Stream, step: int) -> tuple[int, ...]:
    """The hops that count in the batch of a step, by index."""
    counts = stream.task.targets.asked(stream.asked(step)[1].targets).any(1).any(0)
    return tuple(counts.nonzero().flatten().tolist())


def test_depths_grow_by_one_every_so_many_steps():
    stream = stream_of(Growing(3))
    depths = [depth_of(stream.asked(step)[1]) for step in range(1, 16)]
    assert depths == [1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 4, 4, 4]
    assert stream.curriculum.full_from(stream.task) == 9


@pytest.mark.parametrize("final", [False, True])
@pytest.mark.parametrize("train_examples", [None, 16])
def test_a_shallower_sequence_is_the_end_of_the_deeper_one(final, train_examples):
    full = stream_of(Implicit(), train_examples=train_examples)
    growing = stream_of(Growing(3, final), train_examples=train_examples)
    deep, shallow = full.asked(4)[1], growing.asked(4)[1]  # of depth 2
    length = 4 * (2 * 2 + 1)
    assert torch.equal(shallow.inputs, deep.inputs[:, -length:])
    assert torch.equal(shallow.roles, deep.roles[:, :5] - (deep.inputs.shape[1] - length))
    where = shallow.roles[..., None].expand(-1, -1, -1, 4)
    tokens = shallow.inputs[:, None, :, :4].expand(-1, 5, -1, -1).gather(2, where)
    wanted = tokens[:, [4]] if final else tokens[:, [2, 4]]
    queries = shallow.roles[:, 0] - (length - 4)
    assert shallow.targets.shape[2] == wanted.shape[1]
    for hop in range(wanted.shape[1]):
        said = shallow.targets[:, :, hop].gather(1, queries[..., None].expand(-1, -1, 4))
        assert torch.equal(said, wanted[:, hop])


def test_leaps_are_to_the_most_hops_that_layers_can_follow():
    asked = {Leaps().ask(step, 0, Retrieval(7), 1).depth for step in range(64)}
    assert {depth: closed_form(depth) for depth in asked} == {1: 2, 3: 3, 7: 4}


def test_sequences_of_a_few_k_grow_too():
    stream = stream_of(Growing(3), Hops(asked=(1, 2, 4), n_places=8))
    assert [asked(stream, step) for step in (1, 4, 7)] == [(0,), (0, 1), (0, 1, 2)]


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("rising", [(0,)] * 3 + [(0, 1)] * 3 + [(0, 1, 2)] * 3),
        ("falling", [(2,)] * 3 + [(1, 2)] * 3 + [(0, 1, 2)] * 3),
    ],
)
@pytest.mark.parametrize("task", [Retrieval(depth=3), Composition(n_symbols=3)])
def test_hops_come_one_after_another(task, order, expected):
    stream, full = stream_of(Scheduled(order, 3), task), stream_of(Implicit(), task)
    for step, hops in enumerate(expected, start=1):
        batch, whole = stream.asked(step)[1], full.asked(step)[1]
        assert asked(stream, step) == hops
        assert torch.equal(batch.targets[:, :, hops], whole.targets[:, :, hops])
        assert torch.equal(batch.inputs, whole.inputs)
    assert stream.curriculum.full_from(stream.task) == 6


def test_a_random_hop_is_each_about_equally_often():
    stream = stream_of(Scheduled("random"), Conditional())
    counts = Counter(asked(stream, step) for step in range(1, 301))
    assert set(counts) == {(0,), (1,), (2,)}
    assert all(70 <= count <= 130 for count in counts.values())


@pytest.mark.parametrize(
    "curriculum", [Growing(4), Scheduled("rising", 4), Scheduled("falling", 4), Scheduled("random")]
)
def test_a_run_is_judged_on_the_whole_task(tiny, with_training, tmp_path, curriculum):
    config = with_training(tiny, curriculum=curriculum)
    run = train(config, tmp_path / "run")
    assert run.task == config.task
    sample = held_out(run.task, config.training.eval_examples, config.seed, "cpu")
    losses = evaluate(run.model(), run.task, sample)
    assert run.metrics()[-1]["partial"] == pytest.approx(
        dict(zip(["x_1", "x_2"], losses.tolist(), strict=True))
    )
    other = train(tiny, tmp_path / "all")
    assert run.metrics()[-1]["val_loss"] != other.metrics()[-1]["val_loss"]


@pytest.mark.parametrize("curriculum", [FinalHop(), FinalMixture(), Growing(4, True)])
def test_a_run_that_asks_for_the_last_hop_answers_it_alone(
    tiny, with_training, tmp_path, curriculum
):
    run = train(with_training(tiny, curriculum=curriculum), tmp_path / "run")
    assert run.task.hops == ("x_2",)
    assert run.config.task.hops == ("x_1", "x_2")
    assert run.model().unembed.out_features == 4
    assert list(run.metrics()[-1]["partial"]) == ["x_2"]


def test_every_hop_is_read_out_after_its_layer():
    task = Retrieval(depth=2)
    config = TransformerConfig(n_layers=5, d_model=16)
    model = Transformer(config, task.d_input, 4, task.length, 4)
    batch = task.sample(3, torch.Generator())
    first, last = read_by_layers(model, batch.inputs, 2)
    assert torch.equal(last, model(batch.inputs))
    model.blocks = model.blocks[:3]  # ⌈5/2⌉
    torch.testing.assert_close(first, model(batch.inputs))


@pytest.mark.parametrize(
    "task", [Retrieval(depth=2), Composition(asked=(1, 2), n_symbols=3, hidden=None)]
)
def test_layers_learn_from_every_hop_and_answer_one(tiny, with_training, tmp_path, task):
    model = replace(tiny.model, causal=not task.looks_ahead)
    config = with_training(
        replace(tiny, task=task, model=model),
        **{"curriculum": PerLayer(), "eval_every": 1, "steps": 2, "cooldown_steps": 0},
    )
    run = train(config, tmp_path / "run")
    assert run.task.hops == task.hops[-1:]
    stream = Stream(config)
    batch = stream.asked(1)[1]
    assert torch.equal(batch.targets, task.assemble(stream.draws(1)).targets)
    read = read_by_layers(run.new_model("cpu"), batch.inputs, 2)
    if task.vocabulary is None:
        expected = (torch.cat(read, -1) - batch.targets.flatten(2)).square().mean()
    else:
        wanted = batch.targets.unbind(2)
        pairs = zip(read, wanted, strict=True)
        losses = [torch.nn.functional.cross_entropy(said.mT, w) for said, w in pairs]
        expected = torch.stack(losses).mean()
    assert run.metrics()[0]["train_loss"] == pytest.approx(expected.item(), rel=1e-4)


def test_gaps_leave_hops_out():
    task = Retrieval(3)
    gaps = Gaps((1, 3)).view(task)
    assert gaps.hops == ("x_1", "x_3")
    assert gaps.d_target == 8
    assert gaps.hop_order == [("x_1", "x_3")]
    draws = task.draw(5, torch.Generator().manual_seed(0))
    every, some = task.assemble(draws), gaps.assemble(draws)
    assert torch.equal(some.targets, every.targets[:, :, [0, 2]])
    assert torch.equal(some.inputs, every.inputs)
    assert Gaps((1, 2, 3)).view(task) is task


def test_patience_begins_when_the_full_depth_has_come(tiny, with_training, tmp_path):
    config = with_training(
        tiny,
        optimizer="adam",
        learning_rate=1e-9,
        steps=40,
        cooldown_steps=0,
        curriculum=Growing(10),
        patience=8,
        eval_every=2,
    )
    given_up = (train(config, tmp_path / "run").outcome() or {})["given_up"]
    assert [attempt["step"] for attempt in given_up] == [18]


def test_what_asks_for_what_there_is_is_allowed():
    for task in (Retrieval(1), Hops(asked=(4,), n_places=8), Bigrams(n_triggers=1)):
        RunConfig(task, training=TrainingConfig(curriculum=FinalHop()))
