"""Tasks and recipes of the experiments come by entry points, and keep their word."""

import pytest
import torch

from headway import userfile
from headway.tasks import (
    Conditional,
    Hops,
    Retrieval,
    Task,
    task_from_json,
    task_to_json,
)
from headway.training import RECIPES
from headway_experiments import recipes, tasks
from headway_experiments.asked import Asked
from headway_experiments.tasks import Composition
from sampling import seeded

TASKS = [getattr(tasks, name) for name in tasks.__all__]


@pytest.mark.parametrize("cls", TASKS)
def test_a_task_is_named_by_its_kind_alone_which_an_entry_point_has(cls: type[Task]):
    data = task_to_json(cls())
    assert "defined" not in data
    assert task_from_json(data) == cls()
    assert userfile.installed("headway.tasks")[cls.kind].load() is cls


def test_a_recipe_is_one_among_headways_own():
    assert RECIPES["composition"] is recipes.composition
    assert {"fast", "composition"} <= set(RECIPES)
    assert "bogus" not in RECIPES


@pytest.mark.parametrize(
    "task",
    [
        Retrieval(3),
        Retrieval(3, order="shallow-first"),
        Conditional(),
        Composition(n_symbols=3),
        Hops(n_places=8),
    ],
)
def test_a_view_is_the_task_but_for_what_is_asked(task):
    view = Asked(task, (1,))
    told = (
        "kind",
        "label",
        "title",
        "reading",
        "roles",
        "vocabulary",
        "targets",
        "length",
    )
    told += ("n_read", "d_input", "n_depths", "looks_ahead", "standing")
    for name in told:
        if name != "standing" or task.roles:
            assert getattr(view, name) == getattr(task, name), name
    assert view.flow() == task.flow()
    assert view.hops == view.judged
    assert task.hops[1:2] == view.judged
    assert view.d_target == task.targets.width(1)
    for name, losses in view.reference_losses().items():
        whole = task.reference_losses()[name]
        assert losses == {hop: whole[hop] for hop in view.hops if hop in whole}
    batch = view.sample(4, seeded(0))
    whole = task.sample(4, seeded(0))
    assert torch.equal(batch.inputs, whole.inputs)
    assert torch.equal(batch.targets, whole.targets[:, :, 1:2])
    draws = view.draw(4, seeded(0))
    full = view.shallower(draws, view.n_depths)
    assert torch.equal(full.inputs, batch.inputs)
    assert torch.equal(full.targets, batch.targets)
    assert view.relations(batch).keys() == task.relations(whole).keys()


def test_the_order_of_hops_skips_what_is_not_asked():
    assert Asked(Retrieval(4), (0, 3)).hop_order == [("x_1", "x_4")]
    assert Asked(Retrieval(4), (0, 1, 3)).hop_order == [("x_1", "x_2"), ("x_2", "x_4")]
    assert Asked(Conditional(), (2,)).hop_order == []
    assert Asked(Conditional(), (0, 1)).hop_order == []


@pytest.mark.parametrize(("asked", "depth", "left"), [((2,), 2, [1]), ((0, 2), 2, [0])])
def test_a_shallower_sequence_asks_for_its_own_last_hop(asked, depth, left):
    task = Retrieval(3)
    draws = task.draw(4, seeded(0))
    shallow = Asked(task, asked).shallower(draws, depth)
    assert torch.equal(
        shallow.targets, task.shallower(draws, depth).targets[:, :, left]
    )


def test_views_are_equal_if_they_ask_the_same():
    views = [
        Asked(Retrieval(3), (2,)),
        Asked(Retrieval(3), (2,)),
        Asked(Retrieval(2), (1,)),
    ]
    assert views[0] == views[1]
    assert len(set(views)) == 2
