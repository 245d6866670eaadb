"""Tasks and recipes of the experiments come by entry points, and keep their word."""

import pytest

from headway.tasks import Task, check_task, task_from_json, task_to_json
from headway.training import RECIPES
from headway_experiments import recipes, tasks

TASKS = [getattr(tasks, name) for name in tasks.__all__]


@pytest.mark.parametrize("cls", TASKS)
def test_they_keep_their_word(cls: type[Task]):
    assert not [str(one) for one in check_task(cls()) if not one.doubt]


@pytest.mark.parametrize("cls", TASKS)
def test_a_task_is_named_by_its_kind_alone(cls: type[Task], kinds):
    data = task_to_json(cls())
    assert "defined" not in data
    del kinds[cls.kind]
    assert type(task_from_json(data)) is cls
    assert kinds[cls.kind] is cls


def test_a_recipe_is_one_among_headways_own():
    assert RECIPES["composition"] is recipes.composition
    assert {"fast", "composition"} <= set(RECIPES)
    assert "bogus" not in RECIPES
