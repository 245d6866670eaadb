"""Configs: what is refused, and in which words."""

import json

import pytest

from commands import refusing
from fuzz.damage import exchanged, left_out, ways_in
from headway.fields import to_json
from headway.models import TransformerConfig
from headway.recipes import annotations
from headway.tasks import Retrieval
from headway.training import (
    RECIPES,
    Deepening,
    Implicit,
    Mixture,
    RunConfig,
    TrainingConfig,
    fast,
    from_dict,
)
from headway.training.config import flat


@pytest.mark.parametrize("curriculum", [Implicit(), Mixture(), Deepening(0.4)])
def test_a_curriculum_survives_json_and_is_flat(curriculum):
    config = RunConfig(
        Retrieval(depth=2), TransformerConfig(3), TrainingConfig(curriculum=curriculum)
    )
    data = json.loads(json.dumps(to_json(config)))
    assert data["training"]["curriculum"]["kind"] == curriculum.kind
    assert from_dict(data) == config
    fields = flat(config)
    assert fields["training.curriculum"] == curriculum.kind
    own = {name: fields[f"training.curriculum.{name}"] for name in vars(curriculum)}
    assert type(curriculum)(**own) == curriculum
    assert set(fields) - {"task.kind"} <= set(annotations(config))


DATA = json.loads(json.dumps(to_json(RunConfig(Retrieval()))))
FIELDS = [
    way for way in ways_in(DATA) if way and all(isinstance(name, str) for name in way)
]


@pytest.mark.parametrize("path", FIELDS, ids=".".join)
def test_every_field_must_be_there(path):
    with refusing(".".join(path)):
        from_dict(exchanged(DATA, path, left_out))


@pytest.mark.parametrize("value", [[1], {"a": 1}, [[]], "x\ny", {}])
@pytest.mark.parametrize(
    "path",
    [
        path
        for path in FIELDS
        if path[0] not in ("task", "model") or path[1:] in [(), ("kind",)]
    ],
    ids=".".join,
)
def test_a_container_where_none_belongs_is_one_line(path, value):
    with refusing(path[-1] if value else " is "):
        from_dict(exchanged(DATA, path, lambda _: value))


def test_a_curriculum_is_no_word_in_json():
    with refusing("training.curriculum = 'mixture' is not allowed"):
        from_dict(exchanged(DATA, ("training", "curriculum"), lambda _: "mixture"))


@pytest.mark.parametrize(
    "section", [(), ("task",), ("model",), ("training",)], ids=".".join
)
def test_an_unknown_field_is_named(section):
    with refusing("bogus is not a field"):
        from_dict(exchanged(DATA, section, lambda fields: {**fields, "bogus": 1}))


@pytest.mark.parametrize("data", [[], 3, None, "text"])
def test_a_config_that_is_no_object(data):
    with refusing("it must be an object of fields"):
        from_dict(data)


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_can_be_written_and_read(name):
    config = RECIPES[name]()
    assert from_dict(to_json(config)) == config


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


def test_sequences_have_the_full_depth_unless_it_deepens():
    deepens = [
        isinstance(fast(depth).training.curriculum, Deepening) for depth in (1, 2, 3)
    ]
    assert deepens == [False, True, True]
    assert fast(3, deepening=False).training.curriculum == Implicit()
    assert fast(3, n_layers=6).training.curriculum == Implicit()
