"""The choices of recipes."""

import pytest

from headway.tasks import Retrieval
from headway.training import RECIPES, Deepening, Implicit, Mixture, fast, from_dict, to_dict


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_can_be_written_and_read(name):
    config = RECIPES[name]()
    assert from_dict(to_dict(config)) == config


@pytest.mark.parametrize("depth", [1, 2, 3, 4, 5, 6, 7, 8])
def test_there_are_as_many_layers_as_information_must_flow_through(depth):
    flow = Retrieval(depth).flow()
    assert flow is not None
    least = flow.minimum_layers(causal=True)
    assert least is not None
    assert fast(depth).transformer.n_layers == least
    assert fast(depth, n_layers=least + 3).transformer.n_layers == least + 3


@pytest.mark.parametrize(("depth", "silent_above"), [(1, None), (2, 2), (8, 2)])
def test_layers_above_those_of_one_hop_start_silent(depth, silent_above):
    assert fast(depth).transformer.silent_above == silent_above
    assert fast(depth, n_layers=6).transformer.silent_above is None


def test_sequences_have_the_full_depth_unless_a_mixture_is_asked_for():
    deepens = [isinstance(fast(depth).training.curriculum, Deepening) for depth in (1, 2, 3)]
    assert deepens == [False, True, True]
    assert fast(3, deepening=False).training.curriculum == Implicit()
    assert fast(3, n_layers=6).training.curriculum == Implicit()
    mixed = fast(3, mixture=True)
    assert mixed.training.curriculum == Mixture()
    assert mixed.transformer.n_layers == 5
    assert fast(1, mixture=True) == fast(1)
