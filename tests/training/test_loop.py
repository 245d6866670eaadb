"""Schedules, partial losses, and that training follows its config."""

import re
import sys
from dataclasses import replace
from pathlib import Path
from unittest.mock import MagicMock

import pytest
import torch

import headway
from headway.models import Transformer
from headway.tasks import Hops
from headway.training import Run, TrainingConfig, evaluate, held_out, predictions, train
from headway.training.config import flat
from headway.training.state import State


def scales_of(config):
    """The scale of the learning rate at every step."""
    state = State(end=config.steps)
    return [state.rate_scale(config, step) for step in range(1, config.steps + 1)]


def test_rates_rise_stay_and_fall():
    config = TrainingConfig(steps=100, warmup_steps=10, cooldown_steps=20)
    scales = scales_of(config)
    rising = [step / 10 for step in range(1, 11)]
    falling = [1 - step / 20 for step in range(20)]
    assert scales[:10] == pytest.approx(rising)
    assert set(scales[10:80]) == {1.0}
    assert scales[80:] == pytest.approx(falling)
    steady = TrainingConfig(steps=10)
    assert set(scales_of(steady)) == {1.0}


def test_cooling_starts_when_the_loss_is_low_enough_and_then_training_ends(
    tiny, with_training, tmp_path
):
    config = with_training(
        tiny, steps=400, cooldown_below=5.0, cooldown_steps=6, eval_every=2
    )
    run = train(config, tmp_path / "run")
    scales = {line["step"]: line["rate_scale"] for line in run.metrics()}
    assert max(scales) == 2 + 6
    assert scales[8] == pytest.approx(1 / 6)


def test_evaluation_in_chunks_is_evaluation(tiny, monkeypatch):
    task = tiny.task
    model = Transformer(
        tiny.model, task.d_input, task.d_target, task.length, task.n_chains
    )
    batch = held_out(task, 20, 0, "cpu")
    whole = evaluate(model, task, batch)
    monkeypatch.setattr("headway.training.losses.CHUNK", 7)
    assert torch.allclose(evaluate(model, task, batch), whole, rtol=1e-5)


def test_metrics_tell_what_happened(tiny, tmp_path):
    run = train(tiny, tmp_path / "run")
    lines = run.metrics()
    assert [line["step"] for line in lines] == [2, 4, 6, 8, 10, 12]
    batch = held_out(run.task, tiny.training.eval_examples, tiny.seed, "cpu")
    hops = evaluate(run.model(), run.task, batch)
    last = lines[-1]
    by_hop = list(last["partial"].values())
    assert by_hop == pytest.approx(hops.tolist(), rel=1e-6)
    assert last["val_loss"] == pytest.approx(hops.mean().item(), rel=1e-6)
    assert last["train_loss"] > 0
    assert (run.outcome() or {})["step"] == 12


def test_metrics_of_tokens_tell_the_share_of_right_answers(tiny, tmp_path):
    of_tokens = replace(tiny, task=Hops(asked=(1, 2), n_places=8))
    run = train(of_tokens, tmp_path / "run")
    task = run.task
    last = run.metrics()[-1]
    batch = held_out(task, tiny.training.eval_examples, tiny.seed, "cpu")
    right = task.targets.accuracies(predictions(run.model(), batch), batch.targets)
    by_hop = dict(zip(task.hops, right.tolist(), strict=True))
    assert last["accuracy"] == pytest.approx(by_hop)
    on_one_line = " ".join(str(run).split())
    assert f", accuracy {right.mean().item():.1%}" in on_one_line


def test_watching_sees_every_step(tiny, tmp_path):
    seen = []

    def watch(_run, step, end, metrics):
        seen.append((step, end, metrics is None))

    train(tiny, tmp_path / "run", watch)
    expected = [(step, 12, step % 2 == 1) for step in range(1, 13)]
    assert seen == expected


DOCS = Path(__file__).parents[2] / "docs/training.md"


def test_the_tracker_of_the_docs_gets_every_evaluation_and_the_config(
    tiny, tmp_path, monkeypatch
):
    text = DOCS.read_text("utf-8").partition("## Losses to a tracker")[2]
    section, _, _ = text.partition("\n## ")
    (code,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    tracker = MagicMock()
    monkeypatch.setitem(sys.modules, "mlflow", tracker)
    monkeypatch.setattr(headway, "fast", lambda depth: tiny)
    monkeypatch.chdir(tmp_path)
    exec(code, {})
    tracker.log_params.assert_called_once_with(flat(tiny))
    lines = Run.open(tmp_path / "runs/mine").metrics()
    for line, call in zip(lines, tracker.log_metrics.mock_calls, strict=True):
        (told,) = call.args
        assert call.kwargs == {"step": line["step"]}
        assert told["val_loss"] == line["val_loss"]
        assert told["partial.x_2"] == line["partial"]["x_2"]
