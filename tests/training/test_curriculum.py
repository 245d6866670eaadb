"""The demands of training steps: which depth, which hops; and curricula of one's own."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest
import torch

from headway.changes import changed
from headway.errors import HeadwayError
from headway.fields import AtLeastOne
from headway.models import Transformer, TransformerConfig
from headway.tasks import Conditional, Hops, Retrieval
from headway.training import (
    Ask,
    Curriculum,
    Implicit,
    Mixture,
    Run,
    RunConfig,
    Stream,
    TrainingConfig,
    evaluate,
    train,
)
from headway.training.curriculum import CURRICULA


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
    counts = [stream.batch(step).targets.shape[2] for step in range(1, 8)]
    assert counts == [1] * 5 + [2] * 2
    with pytest.raises(HeadwayError, match=r"^training.curriculum.after = 0 is not allowed"):
        late(0)


def test_a_mixture_holds_every_depth_about_equally_often():
    training = TrainingConfig(batch_size=8, train_examples=None, curriculum=Mixture())
    config = RunConfig(Retrieval(depth=4), training=training)
    stream = Stream(config)
    batches = map(stream.batch, range(1, 401))
    depths = [(batch.roles.shape[1] - 1) // 2 for batch in batches]
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


@pytest.mark.parametrize("task", [Conditional(), Retrieval(2, order="shallow-first")])
def test_a_mixture_needs_several_depths(task):
    with pytest.raises(HeadwayError, match=r"^training\.curriculum = mixture .* one depth"):
        RunConfig(task, training=TrainingConfig(curriculum=Mixture()))


@pytest.mark.parametrize("given", ["mixture", {"kind": "nothing"}, {"kind": []}, 3])
def test_what_is_no_curriculum(given):
    with pytest.raises(HeadwayError, match=r"^training\.curriculum.* = .* one of implicit, mixt"):
        TrainingConfig(curriculum=given)
