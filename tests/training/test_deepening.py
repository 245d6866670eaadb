"""Things that a step may ask for: a shallow problem first, then the whole one; mixtures; stages."""

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
from sampling import depth_of, stream_of


def test_it_goes_from_one_hop_to_the_whole_by_what_as_many_layers_can_do():
    def stages(depth):
        found = Deepening().stages(Retrieval(depth=depth))
        return [(tuple(one.depths), one.hops, one.reach) for one in found]

    mixed = ((1, 3), 3, 3)
    assert stages(2) == [((1, 2), 2, 2), ((2,), 2, 2)]
    assert stages(3) == [mixed, ((3,), 3, 3)]
    assert stages(5)[:3] == [mixed, ((3,), 3, 5), ((3, 5), 5, 5)]
    seven = [mixed, ((3,), 3, 7), ((3, 4, 5, 6, 7), 3, 7), ((3, 7), 7, 7)]
    assert stages(7) == [*seven, ((7,), 7, 7)]
    assert stages(8) == [*seven, ((7,), 7, 8), ((7, 8), 8, 8), ((8,), 8, 8)]


def test_batches_are_those_of_the_stage_anywhere_within_its_reach():
    task = Retrieval(depth=4, position_code="pair")
    stream = stream_of(Deepening(), task)
    found = [[stream.asked(step, stage)[1] for step in range(1, 61)] for stage in range(4)]
    depths = [{1, 3}, {3}, {3, 4}, {4}]
    assert [set(map(depth_of, batches)) for batches in found] == depths
    assert [{batch.targets.shape[2] for batch in batches} for batches in found] == depths
    code = code_of(task, torch.device("cpu"))  # pyright: ignore[reportArgumentType]

    def starts(batches, depth):
        """The pairs at which the sequences of a depth start, counted from the first of the task."""
        firsts = {batch.inputs[0, 0, 4:] for batch in batches if depth_of(batch) == depth}
        return {n for n in range(16) for first in firsts if torch.allclose(first, code[2 * n])}

    assert starts(found[0], 1) == set(range(4, 13))
    assert starts(found[0], 3) == {4}
    assert starts(found[1], 3) == set(range(5))
    assert starts(found[2], 4) == {0}
    assert all(torch.equal(batch.inputs[0, :, 4:], code) for batch in found[3])


def test_longer_sequences_ask_for_the_hops_that_are_known():
    task = Retrieval(depth=7, position_code="pair")
    stream = stream_of(Deepening(), task)
    batches = [stream.asked(step, 2)[1] for step in range(1, 61)]
    assert {batch.targets.shape[2] for batch in batches} == {3}
    assert set(map(depth_of, batches)) == {3, 4, 5, 6, 7}
    judged = [Deepening(learnt=0.4).judged(stage, task) for stage in (0, 2, 3, 4)]
    asked = [Ask(3, range(3), 0, 3), Ask(7, range(3), 0, 3), Ask(7, range(7), 0, 4)]
    assert judged == [*((ask, 0.4) for ask in asked), None]


DEEPENING = RunConfig(
    Retrieval(depth=4, n_chains=2),
    TransformerConfig(n_layers=4, d_model=16, n_heads=1, d_mlp=16, silent_above=2),
    TrainingConfig(
        steps=12, batch_size=4, train_examples=None, curriculum=Deepening(learnt=100.0),
        eval_every=3, eval_examples=8, checkpoint_every=3, save_every=3, weight_decay=0.0,
    ),
)  # fmt: skip


def test_layers_beyond_those_of_shallow_sequences_write_nothing_until_these_are_learnt(tmp_path):
    run = train(DEEPENING, tmp_path / "run")
    first, last = run.transformer(0), run.transformer(12)
    assert not first.layers[3].attn.out.weight.any()
    assert first.layers[1].attn.out.weight.any()
    for step in (3, 6):  # three hops pass through three layers
        for name, weight in run.transformer(step).state_dict().items():
            if name.startswith("blocks.3."):
                assert torch.equal(weight, first.state_dict()[name])
    assert not torch.equal(last.layers[3].attn.out.weight, first.layers[3].attn.out.weight)


def test_stages_are_resumed_to_the_same_bits(tmp_path):
    whole = train(DEEPENING, tmp_path / "whole")
    with pytest.raises(InterruptError):
        train(DEEPENING, tmp_path / "cut", stop_at(8))
    again = resume(tmp_path / "cut").transformer().state_dict()
    weights = whole.transformer().state_dict()
    assert all(torch.equal(weight, again[name]) for name, weight in weights.items())


@pytest.fixture
def late() -> Iterator[type[Curriculum]]:
    """A curriculum of somebody's own: one hop first, and then all; for half of the rate."""

    @dataclass(frozen=True)
    class Late(Curriculum):
        kind = "late"
        after: AtLeastOne = 3

        def ask(self, step, stage, task, seed):
            return Ask(hops=range(1)) if step <= self.after else Ask()

    yield Late
    del CURRICULA.known["late"]


def test_a_curriculum_may_be_ones_own(late, tiny, with_training, tmp_path):
    config = changed(with_training(tiny, curriculum=late(2)), {"training.curriculum.after": 5})
    assert config.training.curriculum == late(5)
    run = train(config, tmp_path / "run")
    assert Run.open(run.folder).config == config
    stream = Stream(config)
    counts = [stream.asked(step)[1].targets.shape[2] for step in range(1, 8)]
    assert counts == [1] * 5 + [2] * 2
    with pytest.raises(HeadwayError, match=r"^training.curriculum.after = 0 is not allowed"):
        late(0)


def test_a_mixture_holds_every_depth_about_equally_often():
    stream = stream_of(Mixture(), Retrieval(depth=4))
    depths = [depth_of(stream.asked(step)[1]) for step in range(1, 401)]
    assert all(70 <= depths.count(depth) <= 130 for depth in (1, 2, 3, 4))


@pytest.mark.parametrize("hop", [0, 2])
def test_a_step_counts_only_what_it_asks_for(hop):
    task = Retrieval(depth=3)
    model = Transformer(TransformerConfig(2, 16), task.d_input, task.d_target, task.length, 4)
    batch = task.sample(8, torch.Generator().manual_seed(0))
    before = evaluate(model, task, batch)
    rest = [other for other in range(3) if other != hop]
    batch = replace(batch, targets=task.targets.leaving_out(batch.targets, rest))
    loss = Implicit().loss(model, task.targets, batch, Ask())
    loss.backward()
    assert loss.item() == pytest.approx(before[hop].item(), rel=1e-5)
    assert model.unembed.weight.grad is not None
    rows = model.unembed.weight.grad.unflatten(0, (3, 4))
    assert rows[hop].abs().sum() > 0
    assert rows[rest].abs().sum() == 0


@pytest.mark.parametrize("task", [Retrieval(depth=3), Hops(asked=(1, 2, 4), n_places=8)])
def test_a_batch_of_fewer_hops_is_judged_by_these(task):
    model = Transformer(
        TransformerConfig(2, 16, causal=False),
        *(task.d_input, task.d_target, task.length, task.n_read, 0, task.vocabulary),
    )
    batch = task.sample(8, torch.Generator().manual_seed(0))
    first = replace(batch, targets=batch.targets[:, :, :2])
    assert torch.allclose(evaluate(model, task, first), evaluate(model, task, batch)[:2])
    masked = replace(batch, targets=task.targets.leaving_out(batch.targets, [2]))
    losses = [Implicit().loss(model, task.targets, one, Ask()).item() for one in (first, masked)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)
