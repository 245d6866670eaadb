"""Trackers are told of every evaluation once, and decide nothing."""

import sys
from dataclasses import replace
from importlib.util import find_spec

import pytest
import torch
from fake_trackers import ENDS, FAKES, Store
from interrupts import InterruptError, stop_at

from headway import sweeps
from headway.cli import main
from headway.errors import HeadwayError
from headway.training import Run, resume, train
from headway.training.config import flat
from headway.training.tracking import tracked, tracker_of, tracking, values_in
from in_process import InThisProcess


def ignore(*_):
    """Watches, and does nothing."""


def put(name, monkeypatch):
    """A tracker's name, and what it is told."""
    store = Store()
    for module in FAKES[name](store):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    return name, store


@pytest.fixture(params=FAKES)
def faked(request, monkeypatch):
    """Every tracker."""
    return put(request.param, monkeypatch)


@pytest.fixture
def one(monkeypatch):
    """A tracker, where it does not matter which."""
    return put("wandb", monkeypatch)


def test_a_tracker_gets_the_lines_the_config_and_the_name(faked, tiny, tmp_path):
    name, store = faked
    told = []
    with tracking(name, lambda *given: told.append(given[1]), pytest.fail) as watch:
        run = train(tiny, tmp_path / "run", watch)
    assert told == [*range(1, 13)]  # who else watches is told, too
    (got,) = store.runs.values()
    assert got.log == [(line["step"], values_in(line)) for line in run.metrics()]
    assert {"train_loss", "val_loss", "partial/x_1", "partial/x_2"} <= got.log[0][1].keys()
    assert got.name == "run"
    assert {key: str(value) for key, value in got.config.items()} == {
        key: str(value) for key, value in flat(tiny).items()
    }
    assert got.end == ENDS[name][0]


def test_the_weights_are_the_same_with_a_tracker_and_without(one, tiny, tmp_path):
    with tracking(one[0], ignore, pytest.fail) as watch:
        with_it = train(tiny, tmp_path / "run", watch)
    without = train(tiny, tmp_path / "without")
    assert with_it.config == without.config
    pairs = zip(
        with_it.model().state_dict().values(), without.model().state_dict().values(), strict=True
    )
    assert all(torch.equal(a, b) for a, b in pairs)


def test_a_resumed_run_goes_on_as_the_same_run_and_repeats_nothing(
    faked, tiny, with_training, tmp_path
):
    name, store = faked
    config = with_training(tiny, save_every=4)  # evaluations at 2, 4, 6, … are made again
    with (
        pytest.raises(InterruptError),
        tracking(name, stop_at(7), pytest.fail) as watch,
    ):
        train(config, tmp_path / "run", watch)
    (got,) = store.runs.values()
    assert got.end == ENDS[name][1]
    assert tracker_of(Run.open(tmp_path / "run"), pytest.fail) == name
    with tracking(name, ignore, pytest.fail) as watch:
        run = resume(tmp_path / "run", watch)
    (got,) = store.runs.values()
    assert [step for step, _ in got.log] == [2, 4, 6, 8, 10, 12]
    assert got.log[-1][1] == values_in(run.metrics()[-1])
    assert got.end == ENDS[name][0]


def test_a_run_that_nobody_tracked_before_is_told_from_its_start(one, tiny, tmp_path):
    name, store = one
    with pytest.raises(InterruptError):
        train(tiny, tmp_path / "run", stop_at(7))
    assert tracker_of(Run.open(tmp_path / "run"), pytest.fail) is None
    with tracking(name, ignore, pytest.fail) as watch:
        resume(tmp_path / "run", watch)
    (got,) = store.runs.values()
    assert [step for step, _ in got.log] == [2, 4, 6, 8, 10, 12]


def test_every_attempt_is_a_run_of_its_own(one, tiny, with_training, tmp_path):
    name, store = one
    config = with_training(tiny, steps=30, cooldown_steps=8, patience=6, save_every=3)
    with tracking(name, ignore, pytest.fail) as watch:
        run = train(config, tmp_path / "run", watch)
    attempts = len(run.outcome()["given_up"]) + 1
    assert attempts > 1
    assert [got.name for got in store.runs.values()] == [
        "run",
        *(f"run attempt {i}" for i in range(2, attempts + 1)),
    ]
    last = [*store.runs.values()][-1]
    assert last.log == [(line["step"], values_in(line)) for line in run.metrics()]


def test_a_tracker_that_fails_does_not_stop_training_and_is_told_once(one, tiny, tmp_path):
    name, store = one
    store.broken, told = True, []
    with tracking(name, ignore, told.append) as watch:
        run = train(tiny, tmp_path / "run", watch)
    assert run.status == "done"
    assert told == [f"{name} failed, training goes on without it: no route to the tracker"]


def test_what_is_not_installed_is_one_line(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr("headway.training.trackers.find_spec", lambda _: None)
    for name, package in (("mlflow", "mlflow-skinny"), ("wandb", "wandb")):
        monkeypatch.delitem(sys.modules, name, raising=False)
        with (
            pytest.raises(HeadwayError, match=f"track = {name} .* pip install {package}$"),
            tracking(name, ignore, pytest.fail),
        ):
            pytest.fail("nothing is trained")
    with (
        pytest.raises(HeadwayError, match=r"track = 'paper' .* one of trackio, mlflow, wandb"),
        tracking("paper", ignore, pytest.fail),
    ):
        pytest.fail("nothing is trained")
    run = Run.create(tmp_path / "run", tiny)
    run.write("tracking.json", {"tracker": "wandb", "id": "x", "attempt": 0, "step": 2})
    told = []
    assert tracker_of(run, told.append) is None
    assert "pip install wandb; training goes on without it" in told[0]
    run.write("tracking.json", {"tracker": "wandb"})
    with pytest.raises(HeadwayError, match=r"tracking\.json: id"):
        tracked(run)


def test_a_sweep_forwards_every_run(one, tiny, tmp_path):
    plan = sweeps.Plan("two", {"a": tiny, "b": replace(tiny, seed=6)})
    board = sweeps.sweep(plan, tmp_path / "sweep", InThisProcess(), stack=2, track=one[0])
    assert board.count("done") == 2
    assert sorted(got.name for got in one[1].runs.values()) == ["a", "b"]
    for got in one[1].runs.values():
        run = Run.open(tmp_path / "sweep" / got.name)
        assert got.log == [(line["step"], values_in(line)) for line in run.metrics()]
        assert got.end == 0


def test_the_verb_says_what_is_missing_before_it_trains(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("headway.training.trackers.find_spec", lambda _: None)
    for verb in ("train", "sweep"):
        with pytest.raises(SystemExit) as stop:
            main([verb, "fast", "--track", "trackio"])
        assert stop.value.code == 2
        said = capsys.readouterr().err
        assert said == "headway: track = trackio needs its package: pip install trackio\n"
    assert not [*tmp_path.iterdir()]


@pytest.mark.slow
@pytest.mark.skipif(find_spec("mlflow") is None, reason="takes pip install mlflow-skinny")
def test_a_real_tracker_keeps_what_it_is_told(tiny, tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "kept").as_uri())
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    import mlflow

    with (
        pytest.raises(InterruptError),
        tracking("mlflow", stop_at(7), pytest.fail) as watch,
    ):
        train(tiny, tmp_path / "run", watch)
    with tracking("mlflow", ignore, pytest.fail) as watch:
        run = resume(tmp_path / "run", watch)
    client = mlflow.MlflowClient()
    experiment = client.get_experiment_by_name("headway")
    (kept,) = client.search_runs([experiment.experiment_id])
    assert (kept.info.run_name, kept.info.status) == ("run", "FINISHED")
    assert kept.data.params["training.optimizer"] == "muon"
    for name in ("val_loss", "partial/x_1"):
        history = client.get_metric_history(kept.info.run_id, name)
        told = [(line["step"], values_in(line)[name]) for line in run.metrics()]
        assert [(one.step, one.value) for one in history] == told
