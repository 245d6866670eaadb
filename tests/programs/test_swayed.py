"""Selects of the same keys, told apart by attention once a lower head is moved."""

import numpy as np
import pytest
import torch
from test_looking_elsewhere import LENGTH, SYMBOLS, Anything, sample_of

from headway.programs.expressions import TOKEN, Expression
from headway.programs.find import read_program
from headway.programs.swayed import Swayed
from headway.replace import Circuit
from headway.replace.mechanism import Paths

PREVIOUS = Expression("(seen & (j == i - 1))", "select", (), 1.0, ("L0.H0",))
BROUGHT = Expression("take({}, {})", "token", (PREVIOUS, TOKEN))
BY_TOKEN = Expression(
    "earliest(match(seen, {}, {}))", "select", (TOKEN, BROUGHT), 1.0, ("L1.H0",)
)
BY_PLACE = Expression("(seen & (j == (i + 1) % 2))", "select", (), 1.0, ("L1.H0",))


def latest(holds):
    """The last place so far at which something holds; the first place if there is
    none.
    """
    places = torch.where(holds, torch.arange(LENGTH), 0)
    return places.cummax(1).values


class Finder:
    """Reads `a b a b …`; looks one place back, then at the first token like the one
    there, by token or by place; or at the latest place after a 0, by what it brought.
    """

    n_layers, n_heads = 2, 1

    def __init__(self, looks: str):
        self.looks = looks

    def __call__(self, inputs, tap=lambda layer, pattern: pattern):
        symbols = torch.nn.functional.one_hot(inputs, SYMBOLS).float()
        queries = torch.arange(LENGTH)
        back = torch.zeros(len(inputs), 1, LENGTH, LENGTH)
        back[:, 0, queries, (queries - 1).clamp(min=0)] = 1
        brought = (tap(0, back)[:, 0] @ symbols).argmax(-1)
        alike = inputs[:, None] == brought[..., None]
        keys = {
            "token": alike.int().argmax(-1),
            "place": (queries + 1) % 2,
            "mark": latest(brought == 0),
        }[self.looks]
        keys = keys.expand(len(inputs), LENGTH).minimum(queries)
        rows = torch.nn.functional.one_hot(keys, LENGTH).float()
        return (tap(1, rows[:, None])[:, 0] @ symbols)[:, -2:] * 20


@pytest.mark.parametrize(
    ("looks", "select"), [("token", BY_TOKEN), ("place", BY_PLACE)]
)
def test_the_select_is_that_by_which_the_head_looks_once_a_lower_head_is_moved(
    looks, select
):
    sample = sample_of(Finder(looks))
    swayed = Swayed(sample)
    both = [BY_PLACE, BY_TOKEN]
    rows = np.any(sample.asked, 2)
    assert swayed.best(both, (1, 0), rows) is BY_PLACE  # the shorter one
    swayed.add_layer([PREVIOUS])
    assert swayed.best(both, (1, 0), rows) is select


def test_a_head_that_looks_after_a_token_may_look_for_what_was_brought_from_there():
    sample = sample_of(Finder("mark"), task=Anything())
    words = {
        (0, 0): "previous token",
        (1, 0): "after latest token 0, else first position",
    }
    paths = {head: Paths(frozenset({word})) for head, word in words.items()}
    read = read_program(sample, Circuit(paths), "symbols", "")
    assert "L1H0 = otherwise(latest((seen & at_keys((v0 == 0), seen)))" in str(
        read.program
    )
