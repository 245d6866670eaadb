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


def test_ways_of_asking_are_what_they_are_called():
    """Answers at last, and what steps 1, 300 and 500 ask for: depth, hops by index."""
    configs = GROUPS["curricula"].plan("small")
    every, last = ("x_1", "x_2", "x_3"), ("x_3",)
    expected = {
        "concatenated": (every, [None] * 3, [None] * 3),
        "concatenated+rising": (every, [1, 2, 3], [None] * 3),
        "gap": (("x_1", "x_3"), [None] * 3, [None] * 3),
        "near-to-far": (every, [None] * 3, [[0], [0, 1], [0, 1, 2]]),
        "far-to-near": (every, [None] * 3, [[2], [1, 2], [0, 1, 2]]),
        "easy-to-hard": (last, [1, 2, 3], [None] * 3),
        "by-layers": (last, [None] * 3, [None] * 3),
        "none": (last, [None] * 3, [None] * 3),
    }
    for way, (answered, deep, hops) in expected.items():
        config = configs[f"{way},seed=0"]
        curriculum = config.training.curriculum
        assert curriculum.view(config.task).hops == answered, way
        taught = curriculum.taught(config.task)
        asks = [curriculum.ask(step, 0, taught, 0) for step in (1, 300, 500)]
        assert [one.depth for one in asks] == deep, way
        assert [one.hops if one.hops is None else list(one.hops) for one in asks] == hops, way
    for way, answered in (("concatenated+mixture", every), ("mixture", last)):
        config = configs[f"{way},seed=0"]
        curriculum = config.training.curriculum
        assert curriculum.view(config.task).hops == answered
        drawn = {curriculum.ask(step, 0, config.task, 0).depth for step in range(1, 40)}
        assert drawn == {1, 2, 3}
    random = configs["random-target,seed=0"]
    drawn = [random.training.curriculum.ask(step, 0, random.task, 0).hops for step in range(1, 40)]
    assert {tuple(one or ()) for one in drawn} == {(0,), (1,), (2,)}
    taught = configs["by-layers,seed=0"].training.curriculum.taught(random.task)
    assert taught.hops == every


def test_curricula_are_judged_by_the_answer(tmp_path):
    runs = {}
    for name, losses in {
        "gap,seed=0": {50: {"x_1": 0.9, "x_3": 1.0}, 100: {"x_1": 0.1, "x_3": 0.3}},
        "none,seed=0": {100: {"x_3": 0.75}},
    }.items():
        runs[name] = written(tmp_path, "curricula", name, losses)
    found = curricula.measured(runs)
    assert found["curriculum_gap"] == {"seed=0": 0.3}
    assert found["curriculum_none"] == {"seed=0": 0.75}
    steps = {"gap x_1 seed=0": 75.0, "gap x_3 seed=0": pytest.approx(50 + 50 * 5 / 7)}
    assert found["curriculum_steps"] == steps


def test_what_a_mixture_learns_short_of_the_answer_is_told(tmp_path):
    name = "mixture,seed=0"
    run = written(tmp_path, "curricula", name, {100: {"x_3": 0.75}})
    run.save_checkpoint(0, run.new_model("cpu").state_dict())
    found = curricula.measured({name: run})["curriculum_by_depth"]
    assert list(found) == [f"mixture D={depth} seed=0" for depth in (1, 2, 3)]
    draws = run.task.draw(512, generator_for("cpu", 0, "by depth"))
    for depth, loss in enumerate(found.values(), start=1):
        batch = run.task.shallower(draws, depth)
        assert batch.inputs.shape[1] == 4 * (2 * depth + 1)
        with torch.no_grad():
            expected = (run.model()(batch.inputs) - batch.targets.flatten(2)).square().mean()
        assert loss == pytest.approx(expected.item(), rel=1e-5)


def test_the_first_steps_are_kept_apart(tmp_path):
    hops = {"x_1": 0.02, "x_2": 0.04}
    runs = {
        "ic,seed=0": written(tmp_path, "first-steps", "ic,seed=0", {100: hops}),
        "non-ic,seed=0": written(tmp_path, "first-steps", "non-ic,seed=0", {100: {"x_2": 0.75}}),
    }
    assert layers.final_losses(runs) == {
        "first_ic_loss": {"ic,seed=0": pytest.approx(0.03)},
        "first_non_ic_loss": {"non-ic,seed=0": 0.75},
    }


def test_layers_are_held_against_the_theory(tmp_path):
    def run(depth, layers, learnt, steps=(100,)):
        name = f"depth={depth},layers={layers},seed=0"
        hops = {f"x_{j}": 0.01 if j <= learnt else 0.75 for j in range(1, depth + 1)}
        start = dict.fromkeys(hops, 1.0)
        return name, written(tmp_path, "depths", name, {0: start, steps[0]: hops})

    runs = dict(
        [run(1, 1, 0), run(1, 2, 1), run(1, 6, 1, (100,)), run(2, 2, 1), run(2, 6, 2, (200,))]
    )
    found = depths.measured(runs)
    assert found["depths_beyond"] == dict.fromkeys(runs, 0)
    assert found["depths_least_layers"] == {"D=1": 2, "D=2": 6}
    assert found["depths_above_minimum"] == {"D=1": 0, "D=2": 3}
    assert found["depths_correlation"] == {"all depths": pytest.approx(1)}
    assert found["depths_first_hop"]["D=2"] == pytest.approx(2 * found["depths_first_hop"]["D=1"])
    assert found["depths_first_hop_correlation"] == {"all depths": pytest.approx(1)}


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
    assert unknown(found) == ["depths_first_hop was not reached in depth=2,layers=6,seed=1"]


def test_more_hops_than_allowed_would_be_seen(tmp_path):
    name = "depth=2,layers=2,seed=0"
    runs = {name: written(tmp_path, "depths", name, {10: {"x_1": 0.01, "x_2": 0.01}})}
    assert depths.measured(runs)["depths_beyond"] == {name: 1}


def test_a_circuit_is_its_own_if_no_other_has_its_paths_in_its_order():
    one = circuit({"s2←s1"}, set(), {"s0←s2"})
    same = circuit(set(), {"s2←s1"}, {"s0←s2"})
    other = circuit({"s0←s2"}, {"s2←s1"})
    assert circuits._own({"a": one, "b": same, "c": other}) == {"a": 0, "b": 0, "c": 1}
    assert circuits._own({"a": one}) == {}


@pytest.mark.parametrize("depth", range(1, 9))
def test_the_reach_is_that_of_the_closed_form(depth):
    for most in range(1, 6):
        expected = max((d for d in range(1, depth + 1) if closed_form(d) <= most), default=0)
        assert depths.reach(depths.small(depth, most)) == expected


def test_where_the_recipe_grows_the_depth_it_has_its_own_steps():
    assert depths.small(5, 4).training.steps == fast(5).training.steps
    assert depths.small(5, 4).training.curriculum == fast(5).training.curriculum
    assert depths.small(5, 5).training.steps == 4_600
    assert len(GROUPS["depths"].plan("small")) == 5 * 6 * 3


def test_equal_numbers_share_their_rank():
    points = {"tied": [(1, 5), (2, 5), (3, 9)], "falls": [(3, 1), (1, 9), (2, 5)]}
    expected = {"tied": pytest.approx(math.sqrt(3) / 2), "falls": pytest.approx(-1)}
    assert correlations({**points, "level": [(1, 4), (2, 4)]}) == expected
