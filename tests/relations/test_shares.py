"""Shares of attention by relation, on patterns that are laid out by hand."""

import pytest
import torch

from headway.relations import Composed, Edges
from headway.relations.shares import (
    attention_along,
    by_token,
    largest,
    ranges,
    rivals_of,
    split_of,
)

EVEN = torch.full((1, 4), 0.25)
"""Four rows that matter alike."""


def rows_of(*rows):
    """A batch of one pattern, row by row."""
    return torch.tensor([rows], dtype=torch.float32)


def edges_of(queries, keys):
    return Edges(torch.tensor([queries]), torch.tensor([keys]))


PATTERN = rows_of(
    [1.0, 0.0, 0.0, 0.0],
    [0.6, 0.4, 0.0, 0.0],
    [0.1, 0.2, 0.7, 0.0],
    [0.5, 0.3, 0.0, 0.2],
)


def along(edges, **more):
    return attention_along(PATTERN[:, None, None], edges, **more).item()


def test_attention_along_is_summed_over_keys_and_averaged_over_rows():
    assert along(edges_of([1, 3], [[0], [1]])) == pytest.approx((0.6 + 0.3) / 2)
    assert along(edges_of([2], [[0, 1]])) == pytest.approx(0.3)


def test_rows_and_keys_that_there_are_not_count_for_nothing():
    assert along(edges_of([1, 3, -1], [[0, -1], [0, 1], [0, 0]])) == pytest.approx((0.6 + 0.8) / 2)
    assert along(edges_of([-1, -1], [[0], [1]])) == 0.0


def test_shared_attention_counts_no_more_at_a_key_than_a_path_puts_there():
    edges = edges_of([3, 2], [[0, 1], [2, -1]])
    assert along(edges, shared=True) == pytest.approx((0.5 + 0.3 + 0.7) / 2)
    assert along(edges_of([2], [[1, 2]]), shared=True) == pytest.approx(0.2 + 0.5)


def test_rows_count_by_their_weight():
    weights = torch.tensor([0.0, 0.75, 0.0, 0.25])[None, None, None]
    edges = edges_of([1, 3], [[0], [1]])
    assert along(edges, rows=weights) == pytest.approx(0.75 * 0.6 + 0.25 * 0.3)
    assert along(edges, rows=torch.zeros(1, 1, 1, 4)) == 0.0


FIRST = rows_of([1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]).bool()
"""Every row leads to the first position."""


def differing(row, *keys):
    """The same but for a row, which leads to these keys."""
    mask = FIRST.clone()
    mask[0, row] = False
    mask[0, row, list(keys)] = True
    return mask


def test_a_rival_is_told_from_a_relation_where_the_two_differ():
    (rival,) = rivals_of("first", FIRST, {"other": differing(3, 1)}, PATTERN, EVEN)
    assert (rival.relation, rival.rival) == ("first", "other")
    assert rival.same == pytest.approx(0.75)
    assert (rival.follows, rival.instead) == pytest.approx((0.5, 0.3))
    assert not rival.wins


def test_where_a_rival_has_more_keys_these_alone_speak_for_it():
    (rival,) = rivals_of("first", FIRST, {"wider": differing(3, 0, 1, 3)}, PATTERN, EVEN)
    assert (rival.follows, rival.instead) == pytest.approx((0.5, 0.3 + 0.2))


def test_what_differs_nowhere_or_on_most_rows_is_no_rival():
    one = differing(1, 1)
    three = rows_of([1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]).bool()
    masks = {"same": FIRST.clone(), "three rows": three, "one row": one}
    assert [x.rival for x in rivals_of("first", FIRST, masks, PATTERN, EVEN)] == ["one row"]


def test_rows_where_the_relation_has_no_key_tell_nothing_of_rivals():
    named = FIRST.clone()
    named[0, :2] = False
    (rival,) = rivals_of("first", named, {"other": differing(3, 1)}, PATTERN, EVEN)
    assert rival.same == pytest.approx(0.5)


def test_of_many_rivals_those_are_told_that_are_followed_most():
    masks = {f"to {key}": differing(3, key) for key in (1, 2, 3)}
    masks["to 1 and 2"] = differing(3, 1, 2)
    told = rivals_of("first", FIRST, masks, PATTERN, EVEN)
    assert [rival.rival for rival in told] == ["to 1", "to 1 and 2", "to 3"]


def test_the_largest_shares_are_taken_one_after_the_other():
    own = torch.eye(4, dtype=torch.bool)[None]
    beside = own.roll(1, 2) & FIRST.logical_not()
    masks = {"own position": own, "next position": beside, "first position": FIRST}
    shares = largest(masks, PATTERN, EVEN)
    assert list(shares) == ["own position", "first position"]
    assert shares["own position"] == pytest.approx((1 + 0.4 + 0.7 + 0.2) / 4)
    assert shares["first position"] == pytest.approx((0.6 + 0.1 + 0.5) / 4)


def test_attention_to_what_is_no_position_is_named():
    sink = torch.nn.functional.pad(0.5 * PATTERN, (0, 1), value=0.5)
    shares = largest({"first position": FIRST}, sink, EVEN)
    assert shares["keys that are no position"] == pytest.approx(0.5)
    little = torch.nn.functional.pad(PATTERN, (0, 1), value=0.04)
    assert list(largest({"first position": FIRST}, little, EVEN)) == ["first position"]


def test_a_mechanism_is_followed_by_token():
    tokens = torch.tensor([[7, 8, 7, 9]])
    there = Composed(tokens).mask("own position").float()
    common = PATTERN * there
    shares = by_token(tokens, common, there, EVEN)
    assert shares == pytest.approx({7: (1 + 0.7) / 2, 8: 0.4, 9: 0.2})


@pytest.mark.parametrize(
    ("shares", "told"),
    [
        ({1: 1.0, 2: 0.9, 5: 0.1}, ("1–2", 0.95, 0.1)),
        ({1: 0.6, 2: 0.2, 3: 0.3}, ("1", 0.6, 0.25)),
        ({1: 0.5, 2: 0.25}, None),
        ({1: 0.5}, None),
        ({}, None),
        ({t: float(t % 2) for t in range(8)}, ("1, 3, 5, 7", 1.0, 0.0)),
        ({t: float(t % 2) for t in range(10)}, None),
    ],
)
def test_tokens_are_split_in_two_if_their_shares_are_far_apart(shares, told):
    split = split_of(shares)
    assert (split is None) == (told is None)
    if split and told:
        assert split[0] == told[0]
        assert split[1:] == pytest.approx(told[1:])


def test_other_sequences_may_tell_which_tokens_are_which():
    shares = {1: 0.2, 2: 0.9}
    assert split_of(shares, {1: 0.9, 2: 0.2}) is None
    assert split_of(shares, {1: 0.1, 2: 0.8, 3: 1.0}) == ("2", 0.9, 0.2)


def test_whole_numbers_are_told_in_short():
    assert ranges([7, 1, 2, 3, 4]) == ["1–4", "7"]
    assert ranges([5, 6]) == ["5–6"]
    assert ranges([]) == []
