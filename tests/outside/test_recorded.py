"""A GPT that others wrote, trained by a plain loop of one's own, and recorded."""

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

import headway
from headway.dynamics import saved_timeline
from headway.errors import HeadwayError
from headway.judge import saved_discovery
from headway.terminal.cli import main
from nano import GPT
from sampling import seeded

TASK = headway.tasks.Hops(asked=(1,), n_symbols=8, n_places=32)


def train(model, recorder, seed, steps):
    """Forty lines of nanoGPT, in short."""
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=3e-3, weight_decay=0.1, betas=(0.9, 0.99)
    )
    rate = torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lambda step: min(1, (step + 1) / 50) * min(1, (steps - step) / (steps / 2)),
    )
    generator = seeded(seed)
    for step in range(steps + 1):
        batch = TASK.sample(32, generator)
        logits = model(batch.inputs)[:, -TASK.n_read :]
        loss = F.cross_entropy(logits.flatten(0, 1), batch.targets.flatten())
        if step % 50 == 0:
            recorder.save(step, loss)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        rate.step()


def recorded(folder, seed, steps):
    torch.manual_seed(seed)
    model = GPT()
    with headway.Recorder(folder, model, TASK) as recorder:
        train(model, recorder, seed, steps)
    return headway.Run.open(folder)


def is_induction(found):
    """Tell whether a head reads the previous token, and one above it what followed last
    time.
    """
    layers = {}
    for path in found.circuit.paths:
        layers.setdefault(path.relation, set()).add(path.layer)
    return layers.get("previous token") == {0} and layers.get("find^1") == {1}


@pytest.mark.slow
def test_the_induction_circuit_is_found_and_dated(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run = recorded("runs/nano", seed=0, steps=600)
    for words in (
        ["circuit", "runs/nano", "--ablation", "uniform"],
        ["emergence", "runs/nano"],
    ):
        main(words)
        assert "find^1" in capsys.readouterr().out
    found = saved_discovery(run)
    timeline = saved_timeline(run)
    assert found.faithful, found.replaced_loss
    assert is_induction(found)
    assert all(
        0 < path.emerged <= 600 for path in timeline.paths if path.emerged is not None
    )
    assert timeline.hops["hop 1"] < 600


def test_every_verb_takes_what_was_recorded(tmp_path, monkeypatch, undrawn):
    monkeypatch.chdir(tmp_path)
    recorded("runs/nano", seed=0, steps=50)
    main(
        [
            "circuit",
            "runs/nano",
            "--threshold",
            "100",
            "--sequences",
            "16",
            "--trials",
            "False",
        ]
    )
    main(["emergence", "runs/nano"])
    main(["report", "runs/nano"])
    assert "parameters" in Path("runs/nano/report.html").read_text()
    with pytest.raises(HeadwayError, match="module of your own"):
        headway.Run.open("runs/nano").transformer()


def test_a_loop_that_fails_leaves_what_it_saved(tmp_path):
    def loop():
        with headway.Recorder(tmp_path / "run", GPT(), TASK) as recorder:
            recorder.save(10, 1.0)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        loop()
    run = headway.Run.open(tmp_path / "run")
    assert run.status == "failed"
    assert "ZeroDivisionError" in run.outcome()["message"]
    assert run.checkpoint_steps() == [10]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 20))
def test_in_every_seed(seed, tmp_path):
    found = headway.discover(
        recorded(tmp_path / "run", seed, steps=3000), ablation="uniform"
    )
    assert is_induction(found)
    assert found.faithful, found.replaced_loss


def test_a_loop_that_saves_nothing_has_failed(tmp_path):
    with headway.Recorder(tmp_path / "run", GPT(), TASK, sequences=8):
        pass
    run = headway.Run.open(tmp_path / "run")
    assert run.status == "failed"
    assert run.outcome()["message"] == "nothing was saved"
