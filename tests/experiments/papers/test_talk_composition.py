"""Measures of k-fold composition, and what is asked in which run."""

import pytest
import torch

from headway.recipes import changed
from headway.training import Implicit, train
from headway.training.data import Stream, held_out
from headway_experiments import reading
from headway_experiments.curricula import Scheduled
from headway_experiments.talk import composition

SHORT = {"training.steps": 4, "training.cooldown_steps": 1}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("composition")
    fields = SHORT | {"training.warmup_steps": 0, "training.eval_every": 2}
    rising = {"training.curriculum": Scheduled("rising", every=2)}
    trained = {}
    for name, plan in composition.curricula("smoke").items():
        config = changed(plan, fields | rising if "easy" in name else fields)
        trained[name] = train(config, folder / name)
    return trained


@pytest.mark.parametrize("scale", ["smoke", "small", "paper"])
def test_all_ways_of_asking_have_one_budget_and_one_model(scale):
    symbols, together, alone, seeds, steps = composition.SIZES[scale]
    configs = composition.curricula(scale)
    ways = len(symbols) * (len(alone) + 1) + 1
    assert len(configs) == ways * seeds
    assert alone[-1] == together[-1]
    first = next(iter(configs.values()))
    for name, config in configs.items():
        n, way, seed = name.split(",")
        assert n == f"N={config.task.n_symbols}"
        assert seed == f"seed={config.seed}"
        assert config.training.steps == steps
        assert config.training.batch_size == first.training.batch_size
        assert config.model == first.model
        assert config.task.hidden == config.seed
        asked = (
            together
            if way in ("mixture", "easy-to-hard")
            else (int(way.removeprefix("k=")),)
        )
        assert config.task.asked == asked
        every = steps // (2 * len(together))
        rising = Scheduled("rising", every=every)
        assert config.training.curriculum == (
            rising if way == "easy-to-hard" else Implicit()
        )


def test_accuracy_is_of_the_most_hops(runs):
    run = runs["N=3,mixture,seed=0"]
    batch = held_out(run.task, 512, 0, run.device, "accuracy")
    said = run.model()(batch.inputs)[..., -run.config.task.n_symbols :].argmax(-1)
    right = (said == batch.targets[:, :, -1]).float().mean().item()
    assert composition.last_accuracy(run) == pytest.approx(right)


def test_accuracies_are_those_of_the_hardest_problem_by_way(runs):
    found = composition.measured(runs)
    for way, measure in (
        ("k=2", "hard_only"),
        ("mixture",) * 2,
        ("easy-to-hard", "easy_to_hard"),
    ):
        name = f"N=3,{way},seed=0"
        expected = {name: composition.last_accuracy(runs[name])}
        assert found[f"composition_{measure}"] == expected


def test_the_hardest_problem_is_that_of_the_mixtures(runs):
    rest = {name: run for name, run in runs.items() if name != "N=3,mixture,seed=0"}
    found = composition.measured(rest)
    assert set(found["composition_hard_only"]) == {"N=2,k=2,seed=0"}
    assert found["composition_easy_to_hard"] == {}


def test_what_is_never_learnt_counts_as_the_steps_that_were_made(runs, monkeypatch):
    for module in (composition, reading):
        monkeypatch.setattr(
            module, "hop_steps", lambda metrics, names: dict.fromkeys(names)
        )
    found = composition.measured(runs)
    assert found["composition_steps"] == {}
    assert found["composition_in_order"] == dict.fromkeys(
        ["N=2,mixture,seed=0", "N=3,mixture,seed=0"], 0.0
    )
    assert found["composition_growth"] == {"N=2,seed=0": 1.0, "N=3,seed=0": 1.0}
    dated = {"hop 1": 0.5, "hop 2": None}
    for module in (composition, reading):
        monkeypatch.setattr(
            module,
            "hop_steps",
            lambda metrics, names: {name: dated[name] for name in names},
        )
    found = composition.measured(runs)
    assert found["composition_growth"]["N=3,seed=0"] == 4 / 0.5
    assert found["composition_times_linear"]["N=3,seed=0"] == 4 / (2 * 0.5)


def test_orders_and_growth_are_those_of_the_steps(runs, monkeypatch):
    steps = {("hop 1",): [10.0], ("hop 2",): [40.0], ("hop 1", "hop 2"): [10.0, 30.0]}

    def dated(metrics, names):
        return dict(zip(names, steps[tuple(names)], strict=True))

    for module in (composition, reading):
        monkeypatch.setattr(module, "hop_steps", dated)
    found = composition.measured(runs)
    three = {
        name: value
        for name, value in found["composition_steps"].items()
        if "N=3" in name
    }
    assert three == {
        "k=1,alone,N=3,seed=0": 10.0,
        "k=2,alone,N=3,seed=0": 40.0,
        "k=1,mixture,N=3,seed=0": 10.0,
        "k=2,mixture,N=3,seed=0": 30.0,
        "k=1,easy-to-hard,N=3,seed=0": 10.0,
        "k=2,easy-to-hard,N=3,seed=0": 30.0,
    }
    assert set(found["composition_in_order"].values()) == {1.0}
    assert found["composition_growth"]["N=3,seed=0"] == pytest.approx(4.0)
    assert found["composition_times_linear"]["N=3,seed=0"] == pytest.approx(1.5)
    steps["hop 1", "hop 2"] = [20.0, 10.0]
    assert set(composition.measured(runs)["composition_in_order"].values()) == {0.0}


def test_runs_may_be_missing(runs):
    alone = {name: runs[name] for name in ("N=2,k=1,seed=0", "N=3,k=2,seed=0")}
    assert composition.measured(alone)["composition_growth"] == {}
    assert composition.drawn(alone) == {}


def test_hops_that_rise_count_one_after_the_other(runs):
    run = runs["N=3,easy-to-hard,seed=0"]
    stream = Stream(run.config)
    whole = run.task.assemble(stream.draws(1))
    first = stream.asked(1)[1]
    second = stream.asked(3)[1]
    assert torch.equal(first.inputs, whole.inputs)
    assert torch.equal(first.targets, whole.targets[:, :, :1])
    assert torch.equal(second.targets, run.task.assemble(stream.draws(3)).targets)
