"""Things that training steps ask for: which depth, which hops, and where in the
model.
"""

from collections import Counter
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from headway.models import Transformer, TransformerConfig
from headway.tasks import Conditional, Hops, Retrieval
from headway.theory import closed_form
from headway.training import (
    Implicit,
    RunConfig,
    Stream,
    TrainingConfig,
    evaluate,
    held_out,
    train,
)
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
from sampling import depth_of, seeded, stream_of


def asked(stream: Stream, step: int) -> tuple[int, ...]:
    """The hops that count in the batch of a step, by index."""
    targets = batch_of(stream, step).targets
    counts = stream.task.targets.asked(targets).any(1).any(0)
    return tuple(counts.nonzero().flatten().tolist())


def batch_of(stream: Stream, step: int):
    _, batch = stream.asked(step)
    return batch


def test_depths_grow_by_one_every_so_many_steps():
    stream = stream_of(Growing(3))
    depths = [depth_of(batch_of(stream, step)) for step in range(1, 16)]
    assert depths == [1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 4, 4, 4]
    assert stream.curriculum.full_from(stream.task) == 9


@pytest.mark.parametrize("final", [False, True])
@pytest.mark.parametrize("train_examples", [None, 16])
def test_a_shallower_sequence_is_the_end_of_the_deeper_one(final, train_examples):
    full = stream_of(Implicit(), train_examples=train_examples)
    growing = stream_of(Growing(3, final), train_examples=train_examples)
    deep = batch_of(full, 4)
    shallow = batch_of(growing, 4)  # of depth 2
    length = 4 * (2 * 2 + 1)
    cut_off = deep.inputs.shape[1] - length
    assert torch.equal(shallow.inputs, deep.inputs[:, cut_off:])
    assert torch.equal(shallow.roles, deep.roles[:, :5] - cut_off)


@pytest.mark.parametrize("final", [False, True])
@pytest.mark.parametrize("train_examples", [None, 16])
def test_a_shallower_sequence_asks_for_its_own_hops(final, train_examples):
    growing = stream_of(Growing(3, final), train_examples=train_examples)
    shallow = batch_of(growing, 4)  # of depth 2
    first_query = 4 * 2 * 2
    answers = [4] if final else [2, 4]
    assert shallow.targets.shape[2] == len(answers)
    tokens = shallow.inputs[..., :4]
    queries = shallow.roles[:, 0] - first_query
    for hop, role in enumerate(answers):
        places = shallow.roles[:, role]
        wanted = tokens.gather(1, places[..., None].expand(-1, -1, 4))
        told = shallow.targets[:, :, hop].gather(
            1, queries[..., None].expand(-1, -1, 4)
        )
        assert torch.equal(told, wanted)


def test_leaps_are_to_the_most_hops_that_layers_can_follow():
    task = Retrieval(7)
    depths = {Leaps().ask(step, 0, task, 1).depth for step in range(64)}
    layers = {depth: closed_form(depth) for depth in depths}
    assert layers == {1: 2, 3: 3, 7: 4}


def test_sequences_of_a_few_k_grow_too():
    task = Hops(asked=(1, 2, 4), n_places=8)
    stream = stream_of(Growing(3), task)
    assert asked(stream, 1) == (0,)
    assert asked(stream, 4) == (0, 1)
    assert asked(stream, 7) == (0, 1, 2)


ORDERS = {
    "rising": [(0,), (0, 1), (0, 1, 2)],
    "falling": [(2,), (1, 2), (0, 1, 2)],
}
"""The hops of three stages of three steps."""


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("task", [Retrieval(depth=3), Composition(n_symbols=3)])
def test_hops_come_one_after_another(task, order):
    stream = stream_of(Scheduled(order, 3), task)
    full = stream_of(Implicit(), task)
    for step in range(1, 10):
        hops = ORDERS[order][(step - 1) // 3]
        batch = batch_of(stream, step)
        whole = batch_of(full, step)
        assert asked(stream, step) == hops
        assert torch.equal(batch.targets[:, :, hops], whole.targets[:, :, hops])
        assert torch.equal(batch.inputs, whole.inputs)
    assert stream.curriculum.full_from(stream.task) == 6


def test_a_random_hop_is_each_about_equally_often():
    stream = stream_of(Scheduled("random"), Conditional())
    counts = Counter(asked(stream, step) for step in range(1, 301))
    assert set(counts) == {(0,), (1,), (2,)}
    for count in counts.values():
        assert 70 <= count <= 130


@pytest.mark.parametrize(
    "curriculum",
    [
        Growing(4),
        Scheduled("rising", 4),
        Scheduled("falling", 4),
        Scheduled("random"),
    ],
)
def test_a_run_is_judged_on_the_whole_task(tiny, with_training, tmp_path, curriculum):
    config = with_training(tiny, curriculum=curriculum)
    run = train(config, tmp_path / "run")
    assert run.task == config.task
    sample = held_out(run.task, config.training.eval_examples, config.seed, "cpu")
    first, second = evaluate(run.model(), run.task, sample).tolist()
    last = run.metrics()[-1]
    assert last["partial"] == pytest.approx({"x_1": first, "x_2": second})
    other = train(tiny, tmp_path / "all")
    assert last["val_loss"] != other.metrics()[-1]["val_loss"]


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
    inputs = task.sample(3, torch.Generator()).inputs
    first, last = read_by_layers(model, inputs, 2)
    assert torch.equal(last, model(inputs))
    model.blocks = model.blocks[:3]  # ⌈5/2⌉
    assert_close(first, model(inputs))


@pytest.fixture
def by_layers(tiny, with_training):
    def config_of(task):
        """Of two steps, at which every hop is learnt by layers of its own."""
        model = replace(tiny.model, causal=not task.looks_ahead)
        config = replace(tiny, task=task, model=model)
        steps = {"eval_every": 1, "steps": 2, "cooldown_steps": 0}
        return with_training(config, curriculum=PerLayer(), **steps)

    return config_of


def test_layers_learn_vectors_from_every_hop_and_answer_one(by_layers, tmp_path):
    task = Retrieval(depth=2)
    run = train(by_layers(task), tmp_path / "run")
    assert run.task.hops == task.hops[-1:]
    batch = first_batch(run, task)
    read = read_by_layers(run.new_model("cpu"), batch.inputs, 2)
    expected = F.mse_loss(torch.cat(read, -1), batch.targets.flatten(2))
    assert run.metrics()[0]["train_loss"] == pytest.approx(expected.item(), rel=1e-4)


def test_layers_learn_tokens_from_every_hop_and_answer_one(by_layers, tmp_path):
    task = Composition(asked=(1, 2), n_symbols=3, hidden=None)
    run = train(by_layers(task), tmp_path / "run")
    assert run.task.hops == task.hops[-1:]
    batch = first_batch(run, task)
    losses = []
    for hop, logits in enumerate(read_by_layers(run.new_model("cpu"), batch.inputs, 2)):
        loss = F.cross_entropy(logits.mT, batch.targets[:, :, hop])
        losses.append(loss)
    expected = torch.stack(losses).mean()
    assert run.metrics()[0]["train_loss"] == pytest.approx(expected.item(), rel=1e-4)


def first_batch(run, task):
    """The batch of a run's first step, which has the targets of all hops."""
    stream = Stream(run.config)
    batch = batch_of(stream, 1)
    whole = task.assemble(stream.draws(1))
    assert torch.equal(batch.targets, whole.targets)
    return batch


def test_gaps_leave_hops_out():
    task = Retrieval(3)
    gaps = Gaps((1, 3)).view(task)
    assert gaps.hops == ("x_1", "x_3")
    assert gaps.d_target == 8
    assert gaps.hop_order == [("x_1", "x_3")]
    draws = task.draw(5, seeded(0))
    every = task.assemble(draws)
    some = gaps.assemble(draws)
    assert torch.equal(some.targets, every.targets[:, :, [0, 2]])
    assert torch.equal(some.inputs, every.inputs)


def test_gaps_without_a_gap_are_the_task():
    task = Retrieval(3)
    assert Gaps((1, 2, 3)).view(task) is task


def test_patience_begins_when_the_full_depth_has_come(tiny, with_training, tmp_path):
    idle = {"optimizer": "adam", "learning_rate": 1e-9, "patience": 8}
    steps = {"steps": 40, "cooldown_steps": 0, "eval_every": 2}
    config = with_training(tiny, curriculum=Growing(10), **idle, **steps)
    run = train(config, tmp_path / "run")
    outcome = run.outcome() or {}
    assert [attempt["step"] for attempt in outcome["given_up"]] == [18]


ASK_FOR_ONE = [Retrieval(1), Hops(asked=(4,), n_places=8), Bigrams(n_triggers=1)]


@pytest.mark.parametrize("task", ASK_FOR_ONE, ids=lambda task: task.kind)
def test_what_asks_for_what_there_is_is_allowed(task):
    training = TrainingConfig(curriculum=FinalHop())
    RunConfig(task, training=training)
