"""Measures of the studies, on runs that are written by hand."""

import math

import pytest
import torch
from known import GROUPS, circuit, written

from headway.theory import closed_form
from headway.training import fast
from headway.training.environment import generator_for
from headway_experiments.paper import circuits, curricula, depths, layers
from headway_experiments.reading import correlations
from headway_experiments.reproduce import unknown

EVERY = ("x_1", "x_2", "x_3")


LAST = ("x_3",)


def asking(way):
    """A way of asking: its curriculum and its task."""
    config = GROUPS["curricula"].plan("small")[f"{way},seed=0"]
    return config.training.curriculum, config.task


@pytest.mark.parametrize(
    ("way", "answered", "depths", "hops"),
    [
        ("concatenated", EVERY, [None] * 3, [None] * 3),
        ("concatenated+rising", EVERY, [1, 2, 3], [None] * 3),
        ("gap", ("x_1", "x_3"), [None] * 3, [None] * 3),
        ("near-to-far", EVERY, [None] * 3, [[0], [0, 1], [0, 1, 2]]),
        ("far-to-near", EVERY, [None] * 3, [[2], [1, 2], [0, 1, 2]]),
        ("easy-to-hard", LAST, [1, 2, 3], [None] * 3),
        ("by-layers", LAST, [None] * 3, [None] * 3),
        ("none", LAST, [None] * 3, [None] * 3),
    ],
)
def test_ways_of_asking_are_what_they_are_called(way, answered, depths, hops):
    curriculum, task = asking(way)
    assert curriculum.view(task).hops == answered
    taught = curriculum.taught(task)
    asks = [curriculum.ask(step, 0, taught, 0) for step in (1, 300, 500)]
    assert [ask.depth for ask in asks] == depths
    hops_asked = [ask.hops if ask.hops is None else list(ask.hops) for ask in asks]
    assert hops_asked == hops


@pytest.mark.parametrize(
    ("way", "answered"), [("concatenated+mixture", EVERY), ("mixture", LAST)]
)
def test_mixtures_ask_for_every_depth(way, answered):
    curriculum, task = asking(way)
    assert curriculum.view(task).hops == answered
    asks = [curriculum.ask(step, 0, task, 0) for step in range(1, 40)]
    assert {ask.depth for ask in asks} == {1, 2, 3}


def test_random_targets_are_one_hop_each():
    curriculum, task = asking("random-target")
    asks = [curriculum.ask(step, 0, task, 0) for step in range(1, 40)]
    assert {tuple(ask.hops or ()) for ask in asks} == {(0,), (1,), (2,)}


def test_layers_are_taught_every_hop():
    curriculum, task = asking("by-layers")
    assert curriculum.taught(task).hops == EVERY


def test_curricula_are_judged_by_the_answer(tmp_path):
    gap = {50: {"x_1": 0.9, "x_3": 1.0}, 100: {"x_1": 0.1, "x_3": 0.3}}
    none = {100: {"x_3": 0.75}}
    runs = {}
    for name, losses in {"gap,seed=0": gap, "none,seed=0": none}.items():
        runs[name] = written(tmp_path, "curricula", name, losses)
    measured = curricula.measured(runs)
    assert measured["curriculum_gap"] == {"seed=0": 0.3}
    assert measured["curriculum_none"] == {"seed=0": 0.75}
    to_the_answer = pytest.approx(50 + 50 * 5 / 7)
    steps = {"gap x_1 seed=0": 75.0, "gap x_3 seed=0": to_the_answer}
    assert measured["curriculum_steps"] == steps


def test_what_a_mixture_learns_short_of_the_answer_is_told(tmp_path):
    name = "mixture,seed=0"
    run = written(tmp_path, "curricula", name, {100: {"x_3": 0.75}})
    run.save_checkpoint(0, run.new_model("cpu").state_dict())
    losses = curricula.measured({name: run})["curriculum_by_depth"]
    expected = [f"mixture D={depth} seed=0" for depth in (1, 2, 3)]
    assert list(losses) == expected
    draws = run.task.draw(512, generator_for("cpu", 0, "by depth"))
    for depth, loss in enumerate(losses.values(), start=1):
        batch = run.task.shallower(draws, depth)
        assert batch.inputs.shape[1] == 4 * (2 * depth + 1)
        with torch.no_grad():
            predicted = run.model()(batch.inputs)
        expected = (predicted - batch.targets.flatten(2)).square().mean()
        assert loss == pytest.approx(expected.item(), rel=1e-5)


def test_the_first_steps_are_kept_apart(tmp_path):
    losses = {"ic,seed=0": {"x_1": 0.02, "x_2": 0.04}, "non-ic,seed=0": {"x_2": 0.75}}
    runs = {}
    for name, by_hop in losses.items():
        runs[name] = written(tmp_path, "first-steps", name, {100: by_hop})
    final = layers.final_losses(runs)
    assert set(final) == {"first_ic_loss", "first_non_ic_loss"}
    assert final["first_ic_loss"] == {"ic,seed=0": pytest.approx(0.03)}
    assert final["first_non_ic_loss"] == {"non-ic,seed=0": 0.75}


def test_layers_are_held_against_the_theory(tmp_path):
    runs = {}

    def run(depth, layers, learnt, step=100):
        name = f"depth={depth},layers={layers},seed=0"
        hops = {f"x_{j}": 0.01 if j <= learnt else 0.75 for j in range(1, depth + 1)}
        losses = {0: dict.fromkeys(hops, 1.0), step: hops}
        runs[name] = written(tmp_path, "depths", name, losses)

    run(1, 1, 0)
    run(1, 2, 1)
    run(1, 6, 1)
    run(2, 2, 1)
    run(2, 6, 2, step=200)
    measured = depths.measured(runs)
    assert measured["depths_beyond"] == dict.fromkeys(runs, 0)
    assert measured["depths_least_layers"] == {"D=1": 2, "D=2": 6}
    assert measured["depths_above_minimum"] == {"D=1": 0, "D=2": 3}
    assert measured["depths_correlation"] == {"all depths": pytest.approx(1)}
    first_hop = measured["depths_first_hop"]
    assert first_hop["D=2"] == pytest.approx(2 * first_hop["D=1"])
    assert measured["depths_first_hop_correlation"] == {"all depths": pytest.approx(1)}


def test_a_depth_whose_first_hop_a_seed_does_not_learn_is_told_and_left_out(tmp_path):
    runs = {}
    for depth, seed, last in ((1, 0, 0.01), (1, 1, 0.01), (2, 0, 0.01), (2, 1, 0.75)):
        name = f"depth={depth},layers=6,seed={seed}"
        hops = [f"x_{j}" for j in range(1, depth + 1)]
        losses = {0: dict.fromkeys(hops, 1.0), 100: dict.fromkeys(hops, last)}
        runs[name] = written(tmp_path, "depths", name, losses)
    found = depths.measured(runs)
    assert found["depths_first_hop"].keys() == {"D=1"}
    assert found["depths_first_hop_not_reached"] == {"depth=2,layers=6,seed=1": 100}
    assert unknown(found) == [
        "depths_first_hop was not reached in depth=2,layers=6,seed=1"
    ]


def test_more_hops_than_allowed_would_be_seen(tmp_path):
    name = "depth=2,layers=2,seed=0"
    losses = {10: {"x_1": 0.01, "x_2": 0.01}}
    runs = {name: written(tmp_path, "depths", name, losses)}
    assert depths.measured(runs)["depths_beyond"] == {name: 1}


def test_a_circuit_is_its_own_if_no_other_has_its_paths_in_its_order():
    one = circuit({"s2←s1"}, set(), {"s0←s2"})
    same = circuit(set(), {"s2←s1"}, {"s0←s2"})
    other = circuit({"s0←s2"}, {"s2←s1"})
    own = circuits._own({"a": one, "b": same, "c": other})
    assert own == {"a": 0, "b": 0, "c": 1}
    assert circuits._own({"a": one}) == {}


@pytest.mark.parametrize("depth", range(1, 9))
@pytest.mark.parametrize("most", range(1, 6))
def test_the_reach_is_that_of_the_closed_form(depth, most):
    reached = [d for d in range(1, depth + 1) if closed_form(d) <= most]
    config = depths.small(depth, most)
    assert depths.reach(config) == max(reached, default=0)


def test_where_the_recipe_grows_the_depth_it_has_its_own_steps():
    grown = depths.small(5, 4).training
    recipe = fast(5).training
    assert grown.steps == recipe.steps
    assert grown.curriculum == recipe.curriculum
    assert depths.small(5, 5).training.steps == 4_600
    plan = GROUPS["depths"].plan("small")
    assert len(plan) == 5 * 6 * 3


def test_equal_numbers_share_their_rank():
    tied = [(1, 5), (2, 5), (3, 9)]
    falls = [(3, 1), (1, 9), (2, 5)]
    level = [(1, 4), (2, 4)]
    measured = correlations({"tied": tied, "falls": falls, "level": level})
    assert set(measured) == {"tied", "falls"}
    assert measured["tied"] == pytest.approx(math.sqrt(3) / 2)
    assert measured["falls"] == pytest.approx(-1)
