"""Fields of configs: what annotations allow, in words; values as text, and configs as
JSON.
"""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from annotated_types import Ge, Le, MultipleOf
from hypothesis import given
from hypothesis import strategies as st

from commands import refusing
from headway.errors import HeadwayError
from headway.fields import (
    AtLeastOne,
    NotBelowZero,
    Positive,
    Share,
    check,
    from_json,
    hints_of,
    named,
    read,
    said,
    short_names,
    to_json,
    values_of,
)

Order = Literal["up", "down"]


@dataclass(frozen=True)
class Config:
    """One field of every sort."""

    count: AtLeastOne = 3
    rate: Positive = 0.1
    share: Share = 0.0
    width: Annotated[int, Ge(2), Le(64), MultipleOf(2)] = 4
    order: Order = "up"
    pair: tuple[Share, Share] = (0.5, 0.9)
    some: tuple[AtLeastOne, ...] = (1, 2)
    limit: NotBelowZero | None = None
    name: str = "x"
    is_on: bool = True

    def __post_init__(self):
        check(self, "model.")


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        (
            {"count": 0},
            "model.count = 0 is not allowed: it must be a whole number of at least 1",
        ),
        (
            {"count": True},
            "model.count = True is not allowed: it must be a whole number of at",
        ),
        ({"count": 2.0}, "model.count = 2.0"),
        ({"count": "2"}, "model.count = '2'"),
        (
            {"rate": math.nan},
            "rate = nan is not allowed: it must be a number above 0 and bel",
        ),
        ({"rate": math.inf}, "model.rate = inf"),
        ({"rate": "0.1"}, "model.rate = '0.1'"),
        (
            {"share": 1.0},
            "share = 1.0 is not allowed: it must be a number of at least 0 and ",
        ),
        ({"width": 3}, "number of at least 2 and of at most 64 and a multiple of 2"),
        (
            {"order": "left"},
            "model.order = 'left' is not allowed: it must be one of up, down",
        ),
        ({"order": ["up"]}, "model.order = ['up']"),
        ({"pair": (0.5,)}, "model.pair = (0.5,) is not allowed: it must be 2 numbers"),
        ({"pair": [0.5, 0.5]}, "model.pair = [0.5, 0.5]"),
        ({"pair": (0.5, 1.0)}, "model.pair = (0.5, 1.0)"),
        ({"some": (1, 0)}, "model.some = (1, 0) is not allowed: it must be numbers"),
        (
            {"limit": -1.0},
            "limit = -1.0 is not allowed: it must be a number of at least 0 an",
        ),
        ({"limit": "none"}, "and below 1e+38 or none"),
        ({"name": 3}, "model.name = 3 is not allowed: it must be text"),
        ({"is_on": 1}, "model.is_on = 1 is not allowed: it must be true or false"),
    ],
)
def test_what_an_annotation_does_not_allow_is_refused_by_name(fields, complaint):
    with refusing(complaint):
        Config(**fields)


configs = st.builds(
    Config,
    count=st.integers(1, 10**6),
    rate=st.floats(1e-9, 1e9),
    share=st.floats(0, 0.999),
    order=st.sampled_from(["up", "down"]),
    some=st.lists(st.integers(1, 99), max_size=4).map(tuple),
    limit=st.none() | st.floats(0, 1e9),
    name=st.text(max_size=5),
    is_on=st.booleans(),
)


@given(config=configs)
def test_json_is_the_config_there_and_back(config):
    data = to_json(config)
    assert from_json(Config, json.loads(json.dumps(data)), "model.") == config
    assert list(data) == list(hints_of(Config))


def test_json_must_have_every_field():
    data = to_json(Config())
    del data["rate"]
    with pytest.raises(
        HeadwayError, match=r"model\.rate is missing: there must be just count"
    ):
        from_json(Config, data, "model.")
    with pytest.raises(
        HeadwayError, match=r"^model = \[\] is not allowed: .* an object of fields"
    ):
        from_json(Config, [], "model.")


PAIR = tuple[float, float]
SOME = tuple[int, ...]


@pytest.mark.parametrize(
    ("text", "hint", "value"),
    [
        ("7", int, 7),
        ("-7", int, -7),
        ("7", float, 7.0),
        ("1e-3", Positive, 0.001),
        ("7", str, "7"),
        ("true", bool, True),
        ("False", bool, False),
        ("true", str, "true"),
        ("none", int | None, None),
        ("none", str | None, None),
        ("none", Literal["none", "some"], "none"),
        ("shallow-first", Literal["deep-first", "shallow-first"], "shallow-first"),
        ("cuda:0", str, "cuda:0"),
        ("1,2", Path, Path("1,2")),
        ("W_O.1 > W_K, 2", str | None, "W_O.1 > W_K, 2"),
        ("1,2,4", SOME, (1, 2, 4)),
        ("1:2:4", SOME, (1, 2, 4)),
        ("1..4", SOME, (1, 2, 3, 4)),
        ("1, 3..5", SOME, (1, 3, 4, 5)),
        ("3", SOME, (3,)),
        ("0.9,1", PAIR, (0.9, 1.0)),
        ("a,b", tuple[str, ...], ("a", "b")),
        ("1,2", SOME | None, (1, 2)),
        ("none", SOME | None, None),
        ("3", Any, 3),
        ("x", Any, "x"),
    ],
)
def test_one_value_is_read_as_the_annotation_says(text, hint, value):
    found = read("x", text, hint)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "hint", "values"),
    [
        ("0..3", int, [0, 1, 2, 3]),
        ("-1..1", int, [-1, 0, 1]),
        ("7", int, [7]),
        ("1..2, 9", int, [1, 2, 9]),
        ("none,8", int | None, [None, 8]),
        ("1..2,none", int | None, [1, 2, None]),
        ("true,FALSE", bool, [True, False]),
        ("gelu,relu", Literal["gelu", "relu"], ["gelu", "relu"]),
        ("1e-3,2", Positive, [0.001, 2.0]),
        ("0..1", float, [0.0, 1.0]),
        ("0.9:0.95,0.8:0.9", PAIR, [(0.9, 0.95), (0.8, 0.9)]),
        ("1:2,1:2:4", SOME, [(1, 2), (1, 2, 4)]),
        ("1..2", SOME, [(1,), (2,)]),
    ],
)
def test_several_values_are_read_where_there_may_be_several(text, hint, values):
    found = values_of("x", text, hint)
    assert found == values
    assert list(map(type, found)) == list(map(type, values))


@pytest.mark.parametrize(
    ("text", "hint", "complaint"),
    [
        (
            "x",
            int,
            "x = 'x' is not allowed: it must be a whole number; several are "
            "written 1,2,4",
        ),
        ("1.5", int, "x = 1.5 is not allowed: it must be a whole number"),
        (
            "0",
            AtLeastOne,
            "x = 0 is not allowed: it must be a whole number of at least 1",
        ),
        (
            "0..2",
            AtLeastOne,
            "x = 0 is not allowed: it must be a whole number of at least 1",
        ),
        ("1,,2", int, "x = '' is not allowed"),
        ("8..1", int, "x = '8..1' is not allowed: it must be a range from low to high"),
        ("0..1000000", int, "of at most 100000 numbers"),
        ("none", int, "x = 'none' is not allowed"),
        ("all", int | None, "it must be a whole number or none"),
        ("1", bool, "it must be true or false"),
        ("tanh", Literal["gelu", "relu"], "it must be one of gelu, relu"),
        ("1..2", Literal["gelu", "relu"], "it must be one of gelu, relu"),
        ("fast", float, "it must be a number"),
        (
            "nan",
            Positive,
            "x = nan is not allowed: it must be a number above 0 and below 1e",
        ),
        ("0.9", PAIR, "it must be 2 numbers"),
        ("0.9:x", PAIR, "it must be 2 numbers"),
    ],
)
def test_a_value_that_is_none_is_named(text, hint, complaint):
    with refusing(complaint):
        values_of("x", text, hint)


@given(
    st.lists(
        st.one_of(st.integers(), st.floats(allow_nan=False), st.none()), min_size=1
    )
)
def test_what_is_said_is_read_back(values):
    assert values_of("x", ",".join(map(said, values)), int | float | None) == values


FIELDS = [
    "task.depth",
    "task.order",
    "model.n_heads",
    "model.n_layers",
    "run.order",
    "seed",
]


@pytest.mark.parametrize(
    ("name", "whole"),
    [
        ("seed", "seed"),
        ("task.depth", "task.depth"),
        ("depth", "task.depth"),
        ("n_heads", "model.n_heads"),
    ],
)
def test_a_field_may_be_named_by_its_last_part(name, whole):
    assert named(name, FIELDS) == whole


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("order", "order is not a field: did you mean task.order or run.order"),
        ("n_head", "n_head is not a field: did you mean model.n_heads?"),
        ("task.n_heads", "task.n_heads is not a field: did you mean model.n_heads?"),
        ("model.n-layers", "did you mean model.n_layers"),
        ("zzz", "zzz is not a field: there are task.*, model.*, run.*, seed"),
    ],
)
def test_a_field_that_is_none_is_told_with_the_nearest(name, complaint):
    with refusing(complaint):
        named(name, FIELDS)


def test_a_range_may_be_of_one_number():
    assert values_of("seed", "3..3", int) == [3]


def test_names_are_short_where_no_other_ends_alike():
    names = ["model.width", "task.width", "training.seed"]
    assert short_names(names) == {
        **{name: name for name in names[:2]},
        "training.seed": "seed",
    }
