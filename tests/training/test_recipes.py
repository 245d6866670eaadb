"""What recipes choose."""

import pytest

from headway.training import RECIPES, fast, from_dict, to_dict


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_can_be_written_and_read(name):
    config = RECIPES[name]()
    assert from_dict(to_dict(config)) == config


@pytest.mark.parametrize("depth", [1, 2, 3, 4, 5, 6])
def test_the_full_depth_alone_is_trained_on_where_it_is_asked_for(depth):
    alone, usual = fast(depth, mixture=False), fast(depth)
    assert alone.training.depths == "full"
    assert alone.model.n_layers == depth + 3
    mixed = usual.training.depths == "mixture"
    assert mixed == (2 <= depth <= 4)
    assert usual.model.n_layers == depth + 2 if mixed else usual == alone
