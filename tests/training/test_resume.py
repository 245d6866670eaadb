"""A run that was killed goes on as if it had never stopped."""

import contextlib

import pytest
import torch
from interrupts import InterruptError, after, stop_at

from fuzz.runs import kept, require_same
from headway.errors import HeadwayError
from headway.training import Run, evaluate, held_out, resume, train
from headway.training.files import read_tensors, write_tensors


@pytest.mark.parametrize(
    ("optimizer", "train_examples"), [("adam", None), ("muon", 24)]
)
def test_interrupted_at_every_step_and_resumed_gives_the_same_run(
    tiny, with_training, tmp_path, optimizer, train_examples
):
    config = with_training(
        tiny,
        optimizer=optimizer,
        train_examples=train_examples,
        steps=30,
        cooldown_steps=8,
        cooldown_below=1.2,
    )
    whole = train(config, tmp_path / "whole")

    folder = tmp_path / "broken"
    last = whole.metrics()[-1]["step"]
    for step in range(1, last):
        stop = after(step)
        with pytest.raises(InterruptError):
            train(config, folder, stop) if step == 1 else resume(folder, stop)
    broken = resume(folder)
    require_same(kept(broken), kept(whole))
    first, *later = (session.get("from_step") for session in broken.sessions())
    assert first is None
    assert later == sorted(later)
    assert 0 < later[-1] < last


def test_a_run_that_is_done_is_left_alone(tiny, tmp_path):
    run = train(tiny, tmp_path / "run")
    files = [p for p in run.folder.rglob("*") if p.is_file() and p.name != ".lock"]
    before = [p.stat().st_mtime_ns for p in files]
    resume(run.folder)
    assert [p.stat().st_mtime_ns for p in files] == before


def test_a_loss_that_is_no_number_stops_the_run_and_keeps_the_last_good_checkpoint(
    tiny, with_training, tmp_path
):
    config = with_training(
        tiny,
        optimizer="adam",
        learning_rate=1e30,
        steps=200,
        cooldown_steps=0,
        warmup_steps=0,
    )
    with pytest.raises(
        HeadwayError, match=r"the loss is (nan|inf) at step \d+.*last good"
    ):
        train(config, tmp_path / "run")
    run = Run.open(tmp_path / "run")
    assert run.status == "failed"
    outcome = run.read("outcome.json")
    assert outcome is not None
    assert "last good checkpoint" in outcome["message"]
    for w in run.model().state_dict().values():
        assert torch.isfinite(w).all()
    batch = held_out(run.task, 16, run.config.seed, "cpu")
    assert torch.isfinite(evaluate(run.model(), run.task, batch)).all()


def test_attempts_are_given_up_in_the_same_places_after_kills(
    tiny, with_training, tmp_path
):
    config = with_training(tiny, steps=30, cooldown_steps=8, patience=6, save_every=3)
    whole = train(config, tmp_path / "whole")
    outcome = whole.outcome()
    assert outcome is not None
    assert [attempt["step"] for attempt in outcome["given_up"]] == [6, 6]
    assert [line["step"] for line in whole.metrics()] == list(range(2, 19, 2))
    assert whole.checkpoint_steps() == [0, 4, 8, 12, 16, 18]

    folder = tmp_path / "broken"
    Run.create(folder, config)
    for calls in (6, *(5, 6, 4) * 9):  # the first one as an attempt is given up
        with contextlib.suppress(InterruptError):
            resume(folder, stop_at(calls))
    broken = Run.open(folder)
    assert len(broken.sessions()) > 5
    require_same(kept(broken), kept(whole))


def test_what_was_found_in_weights_that_are_trained_on_is_forgotten(
    tiny, with_training, tmp_path
):
    config = with_training(
        tiny, steps=8, save_every=5, checkpoint_every=4, eval_every=4
    )
    folder = tmp_path / "run"
    with pytest.raises(InterruptError):
        train(config, folder, stop_at(5))
    Run.open(folder).write("circuit.json", {})
    assert resume(folder).read("circuit.json") is None


def test_a_state_of_another_model_or_without_its_optimisers_is_refused(tiny, tmp_path):
    def unfinished(name: str) -> Run:
        with pytest.raises(InterruptError):
            train(tiny, tmp_path / name, after(5))
        return Run.open(tmp_path / name)

    run = unfinished("a")
    path = run.folder / "state.safetensors"
    tensors, about = read_tensors(path)
    only_weights = {name: t for name, t in tensors.items() if name.startswith("model.")}
    for spoilt, note in (
        (only_weights, about),
        ({**tensors, "model.embed.weight": torch.zeros(1, 1)}, about),
    ):
        write_tensors(path, spoilt, note)
        with pytest.raises(
            HeadwayError, match=r"state\.safetensors does not fit the model"
        ):
            resume(run.folder)
        assert run.checkpoint_steps() == [0, 4]

    lost = unfinished("b")
    (lost.folder / "state.safetensors").unlink()
    with pytest.raises(HeadwayError, match=r"state\.safetensors is missing"):
        resume(lost.folder)
    assert lost.checkpoint_steps() == [0, 4]
