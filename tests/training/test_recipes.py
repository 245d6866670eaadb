"""What recipes choose."""

import pytest

from headway.training import RECIPES, fast


def test_every_recipe_is_a_config_that_is_allowed():
    assert {type(recipe()).__name__ for recipe in RECIPES.values()} == {"RunConfig"}


@pytest.mark.parametrize("depth", [1, 2, 3, 4, 5, 6])
def test_the_full_depth_alone_is_trained_on_where_it_is_asked_for(depth):
    alone, usual = fast(depth, mixture=False), fast(depth)
    assert alone.training.depths == "full"
    assert alone.model.n_layers == depth + 3
    mixed = usual.training.depths == "mixture"
    assert mixed == (2 <= depth <= 4)
    assert mixed or usual == alone
