"""Things that a step may ask for: a shallow problem first, then the whole one;
mixtures; stages.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest
import torch
from interrupts import InterruptError, stop_at

from headway.errors import HeadwayError
from headway.fields import AtLeastOne
from headway.models import Transformer, TransformerConfig
from headway.recipes import changed
from headway.tasks import Hops, Retrieval
from headway.tasks.retrieval import code_of
from headway.training import (
    Ask,
    Curriculum,
    Deepening,
    Implicit,
    Mixture,
    Run,
    RunConfig,
    Stream,
    TrainingConfig,
    evaluate,
    resume,
    train,
)
from headway.training.curriculum import CURRICULA
from sampling import depth_of, seeded, stream_of


def stages(depth):
    """The depths, hops and reach of every stage."""
    found = Deepening().stages(Retrieval(depth=depth))
    return [(tuple(stage.depths), stage.hops, stage.reach) for stage in found]


ONE_AND_THREE = ((1, 3), 3, 3)


TO_SEVEN = [ONE_AND_THREE, ((3,), 3, 7), ((3, 4, 5, 6, 7), 3, 7), ((3, 7), 7, 7)]


@pytest.mark.parametrize(
    ("depth", "expected"),
    [
        (2, [((1, 2), 2, 2), ((2,), 2, 2)]),
        (3, [ONE_AND_THREE, ((3,), 3, 3)]),
        (7, [*TO_SEVEN, ((7,), 7, 7)]),
        (8, [*TO_SEVEN, ((7,), 7, 8), ((7, 8), 8, 8), ((8,), 8, 8)]),
    ],
)
def test_it_goes_from_one_hop_to_the_whole_by_what_as_many_layers_can_do(
    depth, expected
):
    assert stages(depth) == expected


def test_it_goes_from_one_hop_to_the_whole_beyond_what_three_layers_can_do():
    assert stages(5)[:3] == [ONE_AND_THREE, ((3,), 3, 5), ((3, 5), 5, 5)]


def batches_of(stream, stage):
    """The batches of sixty steps at a stage."""
    return [stream.asked(step, stage)[1] for step in range(1, 61)]


def hops_asked(batches):
    return {batch.targets.shape[2] for batch in batches}


DEPTHS = [{1, 3}, {3}, {3, 4}, {4}]
"""Of sequences of four hops, by stage."""


@pytest.mark.parametrize("stage", range(4))
def test_batches_are_those_of_the_stage(stage):
    stream = stream_of(Deepening(), Retrieval(depth=4, position_code="pair"))
    batches = batches_of(stream, stage)
    depths = {depth_of(batch) for batch in batches}
    assert depths == DEPTHS[stage]
    assert hops_asked(batches) == DEPTHS[stage]


STARTS = [
    (0, 1, set(range(4, 13))),
    (0, 3, {4}),
    (1, 3, set(range(5))),
    (2, 4, {0}),
]
"""A stage, a depth, and the pairs at which its sequences start."""


@pytest.mark.parametrize(("stage", "depth", "pairs"), STARTS)
def test_batches_are_anywhere_within_the_reach_of_the_stage(stage, depth, pairs):
    task = Retrieval(depth=4, position_code="pair")
    code = code_of(task, torch.device("cpu"))  # pyright: ignore[reportArgumentType]
    batches = batches_of(stream_of(Deepening(), task), stage)
    firsts = [batch.inputs[0, 0, 4:] for batch in batches if depth_of(batch) == depth]
    starts = set()
    for pair in range(16):
        if any(torch.allclose(first, code[2 * pair]) for first in firsts):
            starts.add(pair)
    assert starts == pairs


def test_the_last_batches_are_of_the_whole_task():
    task = Retrieval(depth=4, position_code="pair")
    code = code_of(task, torch.device("cpu"))  # pyright: ignore[reportArgumentType]
    for batch in batches_of(stream_of(Deepening(), task), 3):
        assert torch.equal(batch.inputs[0, :, 4:], code)


def test_batches_of_longer_sequences_ask_for_the_hops_that_are_known():
    stream = stream_of(Deepening(), Retrieval(depth=7, position_code="pair"))
    batches = batches_of(stream, 2)
    assert hops_asked(batches) == {3}
    assert {depth_of(batch) for batch in batches} == {3, 4, 5, 6, 7}


@pytest.mark.parametrize(
    ("stage", "expected"),
    [
        (0, (Ask(3, range(3), 0, 3), 0.4)),
        (2, (Ask(7, range(3), 0, 3), 0.4)),
        (3, (Ask(7, range(7), 0, 4), 0.4)),
        (4, None),
    ],
)
def test_longer_sequences_are_judged_by_the_hops_that_are_known(stage, expected):
    task = Retrieval(depth=7, position_code="pair")
    assert Deepening(learnt=0.4).judged(stage, task) == expected


DEEPENING = RunConfig(
    Retrieval(depth=4, n_chains=2),
    TransformerConfig(n_layers=4, d_model=16, n_heads=1, d_mlp=16, silent_above=2),
    TrainingConfig(
        steps=12, batch_size=4, train_examples=None, curriculum=Deepening(learnt=100.0),
        eval_every=3, eval_examples=8, checkpoint_every=3, save_every=3,
        weight_decay=0.0,
    ),
)  # fmt: skip


def test_layers_beyond_those_of_shallow_sequences_write_nothing_until_these_are_learnt(
    tmp_path,
):
    run = train(DEEPENING, tmp_path / "run")
    first = run.transformer(0)
    last = run.transformer(12)
    start = first.state_dict()
    assert not first.layers[3].attn.out.weight.any()
    assert first.layers[1].attn.out.weight.any()
    for step in (3, 6):  # three hops pass through three layers
        for name, weight in run.transformer(step).state_dict().items():
            if name.startswith("blocks.3."):
                assert torch.equal(weight, start[name])
    assert not torch.equal(
        last.layers[3].attn.out.weight, start["blocks.3.attn.out.weight"]
    )


def test_stages_are_resumed_to_the_same_bits(tmp_path):
    whole = train(DEEPENING, tmp_path / "whole")
    with pytest.raises(InterruptError):
        train(DEEPENING, tmp_path / "cut", stop_at(8))
    resumed = resume(tmp_path / "cut")
    weights = resumed.transformer().state_dict()
    for name, weight in whole.transformer().state_dict().items():
        assert torch.equal(weight, weights[name])


@pytest.fixture
def late() -> Iterator[type[Curriculum]]:
    """A curriculum of somebody's own: one hop first, and then all; for half of the
    rate.
    """

    @dataclass(frozen=True)
    class Late(Curriculum):
        kind = "late"
        after: AtLeastOne = 3

        def ask(self, step, stage, task, seed):
            return Ask(hops=range(1)) if step <= self.after else Ask()

    yield Late
    del CURRICULA.known["late"]


def test_a_curriculum_may_be_ones_own(late, tiny, with_training, tmp_path):
    config = with_training(tiny, curriculum=late(2))
    config = changed(config, {"training.curriculum.after": 5})
    assert config.training.curriculum == late(5)
    run = train(config, tmp_path / "run")
    assert Run.open(run.folder).config == config
    stream = Stream(config)
    batches = [stream.asked(step)[1] for step in range(1, 8)]
    counts = [batch.targets.shape[2] for batch in batches]
    assert counts == [1] * 5 + [2] * 2


def test_fields_of_ones_own_curriculum_are_checked(late):
    with pytest.raises(
        HeadwayError, match=r"^training.curriculum.after = 0 is not allowed"
    ):
        late(0)


def test_a_mixture_holds_every_depth_about_equally_often():
    stream = stream_of(Mixture(), Retrieval(depth=4))
    depths = [depth_of(stream.asked(step)[1]) for step in range(1, 401)]
    for depth in (1, 2, 3, 4):
        assert 70 <= depths.count(depth) <= 130


def only(batch, task, hops):
    """The batch, asking for these hops alone."""
    others = [hop for hop in range(task.n_hops) if hop not in hops]
    targets = task.targets.leaving_out(batch.targets, others)
    return replace(batch, targets=targets)


def small_model(task, **options):
    config = TransformerConfig(2, 16, **options)
    sizes = (task.d_input, task.d_target, task.length, task.n_read)
    return Transformer(config, *sizes, 0, task.vocabulary)


@pytest.mark.parametrize("hop", [0, 2])
def test_a_step_counts_only_what_it_asks_for(hop):
    task = Retrieval(depth=3)
    model = small_model(task)
    batch = task.sample(8, seeded(0))
    before = evaluate(model, task, batch)
    loss = Implicit().loss(model, task.targets, only(batch, task, [hop]), Ask())
    loss.backward()
    assert loss.item() == pytest.approx(before[hop].item(), rel=1e-5)
    assert model.unembed.weight.grad is not None
    rows = model.unembed.weight.grad.unflatten(0, (3, 4))
    rest = [other for other in range(3) if other != hop]
    assert rows[hop].abs().sum() > 0
    assert rows[rest].abs().sum() == 0


@pytest.mark.parametrize(
    "task", [Retrieval(depth=3), Hops(asked=(1, 2, 4), n_places=8)]
)
def test_a_batch_of_fewer_hops_is_judged_by_these(task):
    model = small_model(task, causal=False)
    batch = task.sample(8, seeded(0))
    fewer = replace(batch, targets=batch.targets[:, :, :2])
    whole = evaluate(model, task, batch)
    assert torch.allclose(evaluate(model, task, fewer), whole[:2])
    of_fewer = Implicit().loss(model, task.targets, fewer, Ask())
    of_masked = Implicit().loss(model, task.targets, only(batch, task, [0, 1]), Ask())
    assert of_fewer.item() == pytest.approx(of_masked.item(), rel=1e-6)
