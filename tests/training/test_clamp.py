"""Clamping: attention along a path is blocked while training, and nothing else is
changed.
"""

from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import pytest
import torch

from headway.models import Transformer, TransformerConfig, attention_patterns
from headway.recipes import changed
from headway.tasks import Hops, Retrieval, Task
from headway.training import Run, RunConfig, TrainingConfig, evaluate, fast, train
from headway.training.clamp import blocked
from headway.training.data import held_out
from sampling import seeded

TASK = Retrieval(depth=2, n_chains=3)


SHAPE = TransformerConfig(n_layers=3, d_model=16, n_heads=2, d_mlp=16)
SHORT = TrainingConfig(
    steps=12, batch_size=8, train_examples=None, eval_every=6, eval_examples=40,
    checkpoint_every=6, save_every=6, learning_rate=1e-2,
)  # fmt: skip


def config(**training: Any) -> RunConfig:
    return RunConfig(TASK, SHAPE, replace(SHORT, **training), seed=3)


def same(one: Run, other: Run, step: int) -> bool:
    return (
        one.checkpoint_path(step).read_bytes()
        == other.checkpoint_path(step).read_bytes()
    )


def test_what_is_blocked_is_attention_from_one_role_to_the_other_in_that_head_alone():
    batch = TASK.sample(4, seeded(0))
    tap = blocked(config(clamped=("L1.H0 s0←s2", "L1.H0 s3←s4")), TASK, batch, step=1)
    whole = torch.rand(4, 2, TASK.length, TASK.length)
    expected = whole.clone()
    for sequence in range(4):
        for chain in range(TASK.n_chains):
            at = batch.roles[sequence, :, chain].tolist()
            expected[sequence, 0, at[0], at[2]] = 0
            expected[sequence, 0, at[3], at[4]] = 0
    assert torch.equal(tap(1, whole), expected)
    assert torch.equal(tap(0, whole), whole)


def test_relations_of_deeper_problems_are_left_out():
    batch = TASK.shallower(TASK.draw(4, seeded(0)), 1)
    sizes = TASK.d_input, TASK.d_target, TASK.length, TASK.n_read
    pattern = attention_patterns(Transformer(SHAPE, *sizes, seed=1), batch.inputs)[:, 0]
    tap = blocked(config(clamped=("L0.H0 s4←s3",)), TASK, batch, step=1)
    assert torch.equal(tap(0, pattern), pattern)
    tap = blocked(config(clamped=("L0.H0 s2←s1",)), TASK, batch, step=1)
    assert not torch.equal(tap(0, pattern), pattern)


def test_a_clamp_leads_ahead_where_the_model_looks_ahead():
    class Blind(Hops, registered=False):
        kind = "blind"
        relations = Task.relations

    task = Blind((1,), n_places=9)
    clamped = TrainingConfig(clamped=("L0.H0 same token",))
    batch = task.sample(2, seeded(0))
    whole = torch.ones(2, 1, 10, 10).triu(1)
    for causal in (True, False):
        run = Mock(spec=RunConfig, training=clamped, model=Mock(causal=causal))
        assert blocked(run, task, batch, step=1)(0, whole).equal(whole) == causal


@pytest.mark.parametrize("curriculum", ["mixture", "deepening"])
def test_a_clamp_goes_with_curricula_of_shallower_sequences(tmp_path, curriculum):
    steps = {
        "steps": 6,
        "cooldown_steps": 0,
        "eval_every": 3,
        "batch_size": 4,
        "eval_examples": 8,
    }
    changes = {f"training.{name}": value for name, value in steps.items()}
    changes |= {
        "training.clamped": ("L2.H0 s0←s4",),
        "model.d_model": 16,
        "model.d_mlp": 16,
    }
    run = train(
        changed(fast(3), {**changes, "training.curriculum": curriculum}), tmp_path / "a"
    )
    assert run.status == "done"


def test_a_clamped_run_differs_from_the_start_and_is_evaluated_with_its_clamp(tmp_path):
    free = train(config(), tmp_path / "free")
    run = train(config(clamped=("L0.H1 s2←s1",)), tmp_path / "clamped")
    assert not same(free, run, 6)
    again = Run.open(run.folder)
    assert again.config == run.config
    assert again.config.training.clamped == ("L0.H1 s2←s1",)

    model = run.transformer()
    batch = held_out(TASK, 40, 3, "cpu", "test")
    tap = blocked(run.config, TASK, batch, step=1)
    error = evaluate(model, TASK, batch, lambda _, t=tap: tap).mean()
    without = evaluate(model, TASK, batch, lambda _, t=None: None).mean()
    outcome = run.outcome()
    assert outcome is not None
    assert outcome["test_loss"] == pytest.approx(error.item(), rel=1e-5)
    assert (error - without).abs() > 1e-5


def test_before_and_after_a_clamp_training_is_as_it_was(tmp_path):
    free = train(config(), tmp_path / "free")
    late = train(config(clamped=("L0.H0 s2←s1",), clamped_after=6), tmp_path / "late")
    assert same(free, late, 6)
    assert not same(free, late, 12)
    nothing = train(config(clamped=(), clamped_after=3), tmp_path / "nothing")
    assert same(free, nothing, 12)

    early = train(config(clamped=("L0.H0 s2←s1",), clamped_until=6), tmp_path / "early")
    always = train(config(clamped=("L0.H0 s2←s1",)), tmp_path / "always")
    assert same(early, always, 6)
    assert not same(early, always, 12)
