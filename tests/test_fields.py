"""Fields of configs: what annotations allow, in words, and configs as JSON."""

import json
import math
from dataclasses import dataclass
from typing import Annotated, Literal

import pytest
from annotated_types import Ge, Gt, Le, Lt, MultipleOf
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
    described,
    from_json,
    hints_of,
    to_json,
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
        ({"count": 0}, "model.count = 0 is not allowed: it must be a whole number of at least 1"),
        ({"count": True}, "model.count = True is not allowed: it must be a whole number of at"),
        ({"count": 2.0}, "model.count = 2.0"),
        ({"count": "2"}, "model.count = '2'"),
        ({"rate": math.nan}, "rate = nan is not allowed: it must be a number above 0 and bel"),
        ({"rate": math.inf}, "model.rate = inf"),
        ({"rate": "0.1"}, "model.rate = '0.1'"),
        ({"share": 1.0}, "share = 1.0 is not allowed: it must be a number of at least 0 and "),
        ({"width": 3}, "it must be a whole number of at least 2 and of at most 64 and even"),
        ({"order": "left"}, "model.order = 'left' is not allowed: it must be one of up, down"),
        ({"order": ["up"]}, "model.order = ['up']"),
        ({"pair": (0.5,)}, "model.pair = (0.5,) is not allowed: it must be 2 numbers"),
        ({"pair": [0.5, 0.5]}, "model.pair = [0.5, 0.5]"),
        ({"pair": (0.5, 1.0)}, "model.pair = (0.5, 1.0)"),
        ({"some": (1, 0)}, "model.some = (1, 0) is not allowed: it must be numbers"),
        ({"limit": -1.0}, "limit = -1.0 is not allowed: it must be a number of at least 0 an"),
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
    with pytest.raises(HeadwayError, match=r"model\.rate is missing: every field must be given"):
        from_json(Config, data, "model.")
    with pytest.raises(HeadwayError, match=r"^model = \[\] is not allowed: .* an object of fields"):
        from_json(Config, [], "model.")


@pytest.mark.parametrize(
    ("hint", "words"),
    [
        (int, "a whole number"),
        (float | None, "a number or none"),
        (Annotated[int, Ge(3), Lt(9)], "a whole number of at least 3 and below 9"),
        (Annotated[float, Gt(1)], "a number above 1"),
        (tuple[int, ...] | None, "numbers or none"),
        (tuple[float, float], "2 numbers"),
        (Order, "one of up, down"),
        (bytes, "a bytes"),
    ],
)
def test_annotations_in_words(hint, words):
    assert described(hint) == words
