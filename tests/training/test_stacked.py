"""Stacked training of replicas is the training of each alone, to numerical precision."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from interrupts import InterruptError, stop_at

from headway.errors import HeadwayError
from headway.training import (
    Mixture,
    Run,
    RunConfig,
    resume,
    resume_stacked,
    train,
    train_stacked,
)


def alone(configs: Sequence[RunConfig], folder: Path) -> list[Run]:
    """Every config trained by itself."""
    runs = []
    for i, config in enumerate(configs):
        try:
            runs.append(train(config, folder / str(i)))
        except HeadwayError:
            runs.append(Run.open(folder / str(i)))
    return runs


def folders(folder: Path, configs: Sequence[RunConfig]) -> list[Path]:
    return [folder / f"s{i}" for i in range(len(configs))]


def assert_same(ours: Sequence[Run], theirs: Sequence[Run], tolerance: float = 2e-5) -> None:
    """Both ended in the same way with the same files, numbers apart by rounding only."""
    for one, other in zip(ours, theirs, strict=True):
        assert one.config == other.config
        assert one.checkpoint_steps() == other.checkpoint_steps()
        for step in one.checkpoint_steps():
            assert_close(one.model(step).state_dict(), other.model(step).state_dict(), tolerance)
        for a, b in zip(one.metrics(), other.metrics(), strict=True):
            assert (a["step"], a["rate_scale"]) == (b["step"], b["rate_scale"])
            assert flat(a) == pytest.approx(flat(b), abs=tolerance)
        a, b = one.outcome() or {}, other.outcome() or {}
        for key in ("status", "step"):
            assert a[key] == b[key]
        assert [g["step"] for g in a["given_up"]] == [g["step"] for g in b["given_up"]]
        assert a.get("test_loss") == pytest.approx(b.get("test_loss"), abs=tolerance)
        saved, expected = one.load_state(), other.load_state()
        assert (saved is None) == (expected is None)
        if saved is not None and expected is not None:
            assert_close(saved[0], expected[0], tolerance)
            assert saved[1]["step"] == expected[1]["step"]


def flat(metrics: dict) -> list[float]:
    return [metrics["train_loss"], metrics["val_loss"], *metrics["partial"].values()]


def assert_close(ours: dict, theirs: dict, tolerance: float) -> None:
    """Leaves out the keys' biases: they move no softmax, so that their gradients are rounding
    alone, which Adam makes as large as any."""
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        assert value.shape == theirs[name].shape, name
        assert value.dtype == theirs[name].dtype, name
        pairs = list(zip(value.chunk(3), theirs[name].chunk(3), strict=True)) if value.ndim else []
        pairs = pairs[::2] if name.endswith("qkv.bias") else [(value, theirs[name])]
        for one, other in pairs:
            assert torch.allclose(one, other, atol=tolerance, rtol=tolerance), name


@pytest.fixture
def assorted(tiny, with_training):
    """Replicas of different seeds, rates and schedules."""

    def make(**fields) -> list[RunConfig]:
        base = with_training(tiny, save_every=4, **fields)
        return [
            base,
            replace(
                with_training(base, learning_rate=3e-3, matrix_learning_rate=0.05, warmup_steps=0),
                seed=6,
            ),
            replace(
                with_training(base, weight_decay=2.0, betas=(0.8, 0.9), momentum=0.8, eval_every=3),
                seed=7,
            ),
            replace(
                with_training(base, steps=9, cooldown_steps=2, checkpoints="log", save_every=3),
                seed=2**31 - 1,
            ),
        ]

    return make


@pytest.mark.parametrize(
    ("optimizer", "train_examples"),
    [("adam", None), ("adam", 24), ("muon", None), ("muon", 24)],
)
def test_replicas_are_single_runs(assorted, tmp_path, optimizer, train_examples):
    # Smooth, as rounding decides on which side of its kink a ReLU is whose input is near zero.
    configs = [
        replace(config, model=replace(config.model, act_fn="gelu"))
        for config in assorted(
            optimizer=optimizer,
            train_examples=train_examples,
            weight_decay=0.5,
        )
    ]
    together = train_stacked(configs, folders(tmp_path, configs))
    assert_same(together, alone(configs, tmp_path))
    assert {run.status for run in together} == {"done"}
    assert together[0].read("environment.json")[0]["replicas"] == 4


def test_every_replica_may_cool_down_stop_or_be_given_up_at_its_own_step(
    tiny, with_training, tmp_path
):
    # Over thirty steps Muon makes much of rounding: what it does is compared over fewer.
    base = with_training(tiny, optimizer="adam", steps=30, cooldown_steps=6, checkpoint_every=3)
    configs = [
        with_training(base, cooldown_below=5.0),
        replace(with_training(base, steps=8), seed=1),
        replace(with_training(base, stop_below=5.0, eval_every=5), seed=2),
        replace(with_training(base, patience=6), seed=3),
        replace(with_training(base, patience=8, cooldown_below=1e-9, train_examples=40), seed=4),
        replace(base, seed=5),
    ]
    together = train_stacked(configs, folders(tmp_path, configs))
    ends = [(run.outcome() or {})["step"] for run in together]
    assert ends[:3] == [2 + 6, 8, 5]
    given_up = [len((run.outcome() or {})["given_up"]) for run in together]
    assert given_up == [0, 0, 0, 3, 2, 0]
    assert_same(together, alone(configs, tmp_path))


@pytest.mark.parametrize("optimizer", ["adam", "muon"])
def test_a_replica_that_diverges_ends_alone(tiny, with_training, tmp_path, optimizer):
    base = with_training(tiny, optimizer=optimizer, steps=6, eval_every=2, save_every=4)
    wild = with_training(base, learning_rate=1e30, warmup_steps=0)
    configs = [base, wild, replace(base, seed=9)]
    together = train_stacked(configs, folders(tmp_path, configs))
    assert [run.status for run in together] == ["done", "failed", "done"]
    for run in (together[0], together[2]):
        assert all(torch.isfinite(w).all() for w in run.model().state_dict().values())
    expected = alone(configs, tmp_path)
    assert_same(together, expected)
    ours, theirs = [(runs[1].outcome() or {})["message"] for runs in (together, expected)]
    assert ours.replace(str(together[1].folder), "") == theirs.replace(str(expected[1].folder), "")


@pytest.mark.parametrize(("every", "told"), [(1, 1), (3, 2), (50, 2)])
def test_a_loss_is_looked_at_before_anything_is_kept(tiny, with_training, tmp_path, every, told):
    """The first step spoils the weights: the evaluation tells, or else the next step's loss."""
    rates = {"learning_rate": 1e30, "warmup_steps": 0, "cooldown_steps": 0}
    schedule = {"steps": 50, "eval_every": every, "checkpoint_every": every, "save_every": every}
    config = with_training(tiny, optimizer="adam", **rates, **schedule)
    with pytest.raises(HeadwayError, match=f"the loss is nan at step {told}: .*good .* is step 0 "):
        train(config, tmp_path / "run")
    run = Run.open(tmp_path / "run")
    assert run.checkpoint_steps() == [0]
    assert run.metrics() == []
    assert run.load_state() is None
    assert (run.outcome() or {})["step"] == 1


def test_interrupted_together_and_resumed_alone_and_the_other_way_round(assorted, tmp_path):
    configs = assorted()
    paths = folders(tmp_path, configs)
    with pytest.raises(InterruptError):
        train_stacked(configs, paths, stop_at(22))
    apart = [resume(paths[0]), resume(paths[3])]
    with pytest.raises(InterruptError):
        resume(paths[1], stop_at(3))
    both = resume_stacked(paths)
    assert [run.folder for run in both] == paths
    expected = alone(configs, tmp_path)
    assert_same(both, expected)
    assert_same(apart, [expected[0], expected[3]])
    replicas = [entry["replicas"] for entry in both[1].read("environment.json")]
    assert replicas == [4, 1, 2]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"batch_size": 9}, r"^training.batch_size = 9 is not allowed: it must be 8 as in the "),
        ({"optimizer": "adam"}, "^training.optimizer = 'adam' "),
        ({"curriculum": Mixture()}, "^training.curriculum = 'mixture' "),
        ({"model.d_model": 32}, "^model.d_model = 32 "),
        ({"threads": 2}, "^threads = 2 "),
    ],
)
def test_replicas_that_do_not_fit_together(tiny, with_training, tmp_path, change, complaint):
    ((name, value),) = change.items()
    section, _, field = name.rpartition(".")
    if section:
        other = replace(tiny, **{section: replace(getattr(tiny, section), **{field: value})})
    elif hasattr(tiny, name):
        other = replace(tiny, **change)
    else:
        other = with_training(tiny, **change)
    with pytest.raises(HeadwayError, match=complaint) as error:
        train_stacked([tiny, other], [tmp_path / "a", tmp_path / "b"])
    assert "\n" not in str(error.value)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_taken_leaves_no_other_made(tiny, tmp_path):
    Run.create(tmp_path / "taken", tiny)
    with pytest.raises(HeadwayError, match="taken exists already"):
        train_stacked([tiny, tiny], [tmp_path / "new", tmp_path / "taken"])
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]
    with pytest.raises(HeadwayError, match="folders = 1 is not allowed: it must be 2"):
        train_stacked([tiny, tiny], [tmp_path / "new"])


def test_no_replica_and_one(tiny, tmp_path):
    assert train_stacked([], []) == []
    (run,) = train_stacked([tiny], [tmp_path / "one"])
    single = train(tiny, tmp_path / "single")
    assert_same([run], [single], tolerance=0.0)
    assert resume_stacked([run.folder]) == [run]
