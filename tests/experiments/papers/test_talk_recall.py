"""Measures of factual recall, on weights and losses that are written by hand."""

import math

import pytest
import torch

from headway.recipes import changed
from headway.training import Run, train
from headway_experiments.reading import by_run
from headway_experiments.talk import MECHANISMS, capacity, recall
from headway_experiments.talk.capacity import Kept
from headway_experiments.talk.recall import Losses


def test_the_losses_are_the_relations_and_the_subjects(tmp_path):
    """A model that says the same of everything: its losses follow from what it says."""
    config = changed(
        next(iter(recall.dynamics("smoke").values())), {"training.steps": 1}
    )
    run = Run.create(tmp_path / "run", config)
    state = {
        name: torch.zeros_like(w)
        for name, w in run.new_model("cpu").state_dict().items()
    }
    task = run.task
    state["unembed.bias"][task.answers()[0, 0]] = 2.0
    run.save_checkpoint(0, state)
    batch = recall.every_fact(run)
    assert len(batch.inputs) == 16 * 4
    assert batch.targets.flatten().tolist() == task.facts().flatten().tolist()
    (losses,) = recall.course(run)
    others = task.d_target - 1
    total = others + math.exp(2)
    first = task.facts() == task.answers()[0, 0]
    relation = [math.log(total / (7 + math.exp(2)))] * 16 + [math.log(total / 8)] * 48
    whole = torch.where(first, math.log(total) - 2, math.log(total))
    assert losses.relation == pytest.approx(sum(relation) / 64, rel=1e-5)
    assert losses.total == pytest.approx(whole.mean().item(), rel=1e-5)
    assert recall.indifference(run, 0) == pytest.approx(0, abs=1e-6)


def test_what_depends_on_the_subject_is_told(tmp_path):
    run = train(recall.dynamics("smoke")["seed=0"], tmp_path / "run")
    steps = run.checkpoint_steps()
    assert recall.indifference(run, steps[0]) < 1e-3
    losses = recall.course(run)
    assert losses[0].total == pytest.approx(math.log(run.task.d_target), rel=0.02)
    assert losses[-1].total < losses[0].total
    assert losses[-1].relation < 0.1
    late = recall.indifference(run, steps[-1])
    assert late > 0.1  # by then it has begun to say what depends on the subject
    measured = by_run({"seed=0": run}, recall.learning)
    assert {
        claim.measure for claim in MECHANISMS["factual-recall-dynamics"].claims
    } <= measured.keys()
    drawn = recall.EXPERIMENTS[1].draw({"seed=0": run})
    assert list(drawn) == ["factual-recall-dynamics"]


LEVEL = math.log(8)


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        (
            [
                (0, 2.0, 2.1),
                (10, 0.05, 2.0),
                (20, 0.0, 1.9),
                (30, 0.0, 0.1),
                (40, 0.0, 2.0),
            ],
            [10, 20],
        ),
        (
            [(0, 2.0, 2.1), (10, 0.5, 2.0), (20, 0.0, 1.0)],
            [],
        ),  # the relation is not known
        ([(0, 2.0, 2.1), (10, 0.0, 0.84 * LEVEL), (20, 0.0, 0.0)], []),  # more is known
        ([(0, 2.0, 2.1), (10, 0.0, 0.86 * LEVEL)], [10]),
        ([(0, 0.09, 1.16 * LEVEL - 0.09)], []),
    ],
)
def test_the_stage_in_between_is_found_or_not(losses, expected):
    found = recall.stage([Losses(*each) for each in losses], 8)
    assert [each.step for each in found] == expected


def kept(law, **sizes):
    """Items that shapes of some sizes keep by a law, with two seeds."""
    return [
        Kept(f"{shape},seed={seed}", law(*size), True, *size)
        for shape, size in sizes.items()
        for seed in (0, 1)
    ]


def straight(a, m):
    return 0.05 * a + 0.2 * m


def test_rates_are_those_that_a_frontier_was_made_of():
    made = kept(straight, a=(1000, 0), b=(500, 400), c=(2000, 100))
    assert recall.rates(made) == pytest.approx((0.05, 0.2))


@pytest.mark.parametrize("bent", [False, True])
def test_traded_shapes_are_foretold_by_the_others_if_the_frontier_is_straight(bent):
    law = (lambda a, m: 0.1 * math.hypot(a, m)) if bent else straight
    known = kept(law, a=(1000, 0), b=(2000, 0), c=(600, 600), d=(1200, 1200))
    traded = kept(law, much_mlp=(200, 1800), little=(1800, 200))
    ratios, rates = recall.foretold(known, traded)
    assert len(ratios) == 4
    if bent:
        assert all(
            ratio > 1.25
            for name, ratio in ratios.items()
            if name.startswith("much_mlp")
        )
    else:
        assert list(ratios.values()) == pytest.approx([1.0] * 4)
        assert rates["attention,seed=1"] == pytest.approx(0.05)
        assert rates["MLP,seed=0"] == pytest.approx(0.2)


def test_without_both_kinds_of_shapes_nothing_is_foretold():
    assert recall.foretold(
        kept(straight, a=(1000, 0)), kept(straight, b=(500, 400))
    ) == ({}, {})


def test_a_loss_is_halved_between_checkpoints():
    assert recall.halved([0, 10, 20], [2.0, 1.5, 0.5]) == pytest.approx(15)
    assert recall.halved([0, 10], [2.0, 1.5]) is None


def test_parameters_are_those_that_are_trained(tmp_path):
    config = next(iter(recall.series("mlp", "smoke").values()))
    run = Run.create(tmp_path / "run", config)
    inside = [
        w for n, w in run.new_model("cpu").named_parameters() if n.startswith("blocks.")
    ]
    expected = sum(w.numel() for w in inside if w.ndim == 2)
    model = config.model
    assert sum(capacity.trained_numbers(model)) == expected


def planted(tmp_path, name, config, share):
    """A run that knows the facts of one answer by its bias: the share of them is what
    it knows.
    """
    run = Run.create(tmp_path / name, config)
    state = {
        k: torch.zeros_like(w) for k, w in run.new_model("cpu").state_dict().items()
    }
    state["unembed.bias"][run.task.facts()[0, 0]] = 1.0
    run.save_checkpoint(0, state)
    assert capacity.accuracy(run, recall.every_fact(run)) == pytest.approx(share)
    return run


def test_capacities_are_measured_and_drawn(tmp_path, monkeypatch):
    # One fact has one answer, so that a bias alone knows it: no task to train on.
    monkeypatch.setattr("headway.training.size.require_sound", lambda task: None)
    base = next(iter(recall.series("mlp", "smoke").values()))
    runs = {}
    for heads in (1, 2, 3):
        for n in (1, 2):
            task = dict.fromkeys(("task.n_subjects", "task.n_relations"), n)
            config = changed(
                base, {**task, "task.n_answers": 1, "model.n_heads": heads}
            )
            name = f"{heads} {n}"
            runs[name] = planted(tmp_path, name, config, 1 / n)
    found = recall.kept(runs)
    assert all(one.is_bracketed for one in found)
    assert [one.count for one in found] == pytest.approx([4**0.02] * 3)
    measured = recall.facts_kept(runs, runs, runs)
    assert measured["recall_attention_slope"] == {"seed=0": pytest.approx(0, abs=1e-9)}
    assert {
        claim.measure for claim in MECHANISMS["factual-recall"].claims
    } <= measured.keys()
    assert "factual-recall" in recall.EXPERIMENTS[0].draw(runs, runs, runs)
