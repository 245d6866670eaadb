"""Shares of attention by relation, on patterns that are laid out by hand."""

import pytest
import torch

from headway.relations import Composed, Edges
from headway.relations.shares import (
    alike,
    attention_along,
    by_token,
    largest,
    rivals_of,
    split_of,
)

EVEN = torch.full((4,), 0.25)
"""Four rows that matter alike."""


def edges_of(queries, keys):
    return Edges(torch.tensor([queries]), torch.tensor([keys]))


PATTERN = torch.tensor(
    [
        [1.0, 0.0, 0.0, 0.0],
        [0.6, 0.4, 0.0, 0.0],
        [0.1, 0.2, 0.7, 0.0],
        [0.5, 0.3, 0.0, 0.2],
    ]
)
"""Rows of attention."""

FIRST_BY_SECOND = edges_of([1, 3], [[0], [1]])
"""At rows 1 and 3, to positions 0 and 1: shares of 0.6 and 0.3."""


def along(edges, **more):
    patterns = PATTERN[None, None, None]
    return attention_along(patterns, edges, **more).item()


def test_attention_along_is_averaged_over_rows():
    assert along(FIRST_BY_SECOND) == pytest.approx((0.6 + 0.3) / 2)


def test_attention_along_is_summed_over_keys():
    edges = edges_of([2], [[0, 1]])
    assert along(edges) == pytest.approx(0.3)


def test_rows_and_keys_that_there_are_not_count_for_nothing():
    edges = edges_of([1, 3, -1], [[0, -1], [0, 1], [0, 0]])
    assert along(edges) == pytest.approx((0.6 + 0.8) / 2)


def test_without_rows_there_is_no_attention():
    edges = edges_of([-1, -1], [[0], [1]])
    assert along(edges) == 0.0


def test_shared_attention_counts_no_more_at_a_key_than_a_path_puts_there():
    edges = edges_of([3, 2], [[0, 1], [2, -1]])
    shared = along(edges, shared=True)
    assert shared == pytest.approx((0.5 + 0.3 + 0.7) / 2)
    whole = edges_of([2], [[1, 2]])
    assert along(whole, shared=True) == pytest.approx(0.2 + 0.5)


def test_rows_count_by_their_weight():
    weights = torch.tensor([[[[0.0, 0.75, 0.0, 0.25]]]])
    weighted = along(FIRST_BY_SECOND, rows=weights)
    assert weighted == pytest.approx(0.75 * 0.6 + 0.25 * 0.3)


def test_rows_without_weight_count_for_nothing():
    weights = torch.zeros(1, 1, 1, 4)
    assert along(FIRST_BY_SECOND, rows=weights) == 0.0


FIRST = torch.zeros(4, 4, dtype=torch.bool)
FIRST[:, 0] = True
"""Every row leads to the first position."""


def rivals_of_first(named=FIRST, **masks):
    """Those of a relation to the first position, by this pattern."""
    by_name = {name.replace("_", " "): mask for name, mask in masks.items()}
    return rivals_of("first", named, by_name, PATTERN, EVEN)


def differing(row, *keys):
    """The same but for a row, which leads to these keys."""
    mask = FIRST.clone()
    mask[row] = False
    mask[row, list(keys)] = True
    return mask


def test_a_rival_is_told_from_a_relation_where_the_two_differ():
    (rival,) = rivals_of_first(other=differing(3, 1))
    assert rival.relation == "first"
    assert rival.rival == "other"
    assert rival.same == pytest.approx(0.75)
    assert rival.follows == pytest.approx(0.5)
    assert rival.instead == pytest.approx(0.3)
    assert not rival.wins


def test_where_a_rival_has_more_keys_these_alone_speak_for_it():
    (rival,) = rivals_of_first(wider=differing(3, 0, 1, 3))
    assert rival.follows == pytest.approx(0.5)
    assert rival.instead == pytest.approx(0.3 + 0.2)


def test_what_differs_nowhere_or_on_most_rows_is_no_rival():
    one = differing(1, 1)
    three = torch.eye(4, dtype=torch.bool)
    rivals = rivals_of_first(same=FIRST.clone(), three_rows=three, one_row=one)
    assert [rival.rival for rival in rivals] == ["one row"]


def test_rows_where_the_relation_has_no_key_tell_nothing_of_rivals():
    named = FIRST.clone()
    named[:2] = False
    (rival,) = rivals_of_first(named, other=differing(3, 1))
    assert rival.same == pytest.approx(0.5)


def test_rows_count_for_rivals_as_far_as_they_matter():
    counts = torch.tensor([0.0, 0.2, 0.2, 0.1])
    masks = {"other": differing(3, 1)}
    (rival,) = rivals_of("first", FIRST, masks, PATTERN, counts)
    assert rival.same == pytest.approx(0.8)


def test_a_rival_that_is_followed_wins():
    (rival,) = rivals_of_first(other=differing(2, 2))
    assert rival.follows == pytest.approx(0.1)
    assert rival.instead == pytest.approx(0.7)
    assert rival.wins


def test_relations_are_alike_that_have_the_same_keys_where_one_has_some():
    named = FIRST.clone()
    named[0] = False
    masks = {"named": named, "first": FIRST, "other": differing(3, 1)}
    assert alike("named", named, masks) == ["first"]


def test_a_relation_that_has_fewer_keys_is_not_alike():
    fewer = FIRST.clone()
    fewer[0] = False
    assert alike("first", FIRST, {"fewer": fewer}) == []


def test_of_many_rivals_those_are_told_that_are_followed_most():
    rivals = rivals_of_first(
        to_1=differing(3, 1),
        to_2=differing(3, 2),
        to_3=differing(3, 3),
        to_1_and_2=differing(3, 1, 2),
    )
    assert [rival.rival for rival in rivals] == ["to 1", "to 1 and 2", "to 3"]


def test_the_largest_shares_are_taken_one_after_the_other():
    own = torch.eye(4, dtype=torch.bool)
    beside = own.roll(1, 1) & FIRST.logical_not()
    masks = {"own position": own, "next position": beside, "first position": FIRST}
    shares = largest(masks, PATTERN, EVEN)
    assert list(shares) == ["own position", "first position"]
    on_own = [1.0, 0.4, 0.7, 0.2]
    on_first_elsewhere = [0.6, 0.1, 0.5]
    assert shares["own position"] == pytest.approx(sum(on_own) / 4)
    assert shares["first position"] == pytest.approx(sum(on_first_elsewhere) / 4)


def with_a_sink(pattern, share):
    """The pattern with a key that is no position, at which every row puts this
    share.
    """
    return torch.nn.functional.pad(pattern, (0, 1), value=share)


def test_attention_to_what_is_no_position_is_named():
    pattern = with_a_sink(0.5 * PATTERN, 0.5)
    shares = largest({"first position": FIRST}, pattern, EVEN)
    assert shares["keys that are no position"] == pytest.approx(0.5)


def test_a_little_attention_to_what_is_no_position_is_passed_over():
    pattern = with_a_sink(PATTERN, 0.04)
    shares = largest({"first position": FIRST}, pattern, EVEN)
    assert list(shares) == ["first position"]


def test_a_mechanism_is_followed_by_token():
    tokens = torch.tensor([[7, 8, 7, 9]])
    there = Composed(tokens).mask("own position")[0].float()
    common = PATTERN * there
    shares = by_token(tokens.expand(4, -1), common, there, EVEN)
    assert shares == pytest.approx({7: (1 + 0.7) / 2, 8: 0.4, 9: 0.2})


FAR_APART = [
    ({1: 1.0, 2: 0.9, 5: 0.1}, "1–2", (0.95, 0.1)),
    ({1: 0.6, 2: 0.2, 3: 0.3}, "1", (0.6, 0.25)),
    ({token: float(token % 2) for token in range(8)}, "1, 3, 5, 7", (1.0, 0.0)),
]


@pytest.mark.parametrize(("shares", "tokens", "means"), FAR_APART)
def test_tokens_are_split_in_two_if_their_shares_are_far_apart(shares, tokens, means):
    split = split_of(shares)
    assert split is not None
    assert split[0] == tokens
    assert split[1:] == pytest.approx(means)


UNSPLIT = [
    {1: 0.5, 2: 0.25},
    {1: 0.5},
    {},
    {token: float(token % 2) for token in range(10)},
]


@pytest.mark.parametrize("shares", UNSPLIT)
def test_other_tokens_are_not_split(shares):
    assert split_of(shares) is None


def test_other_sequences_may_tell_which_tokens_are_which():
    shares = {1: 0.2, 2: 0.9}
    assert split_of(shares, {1: 0.9, 2: 0.2}) is None
    others = {1: 0.1, 2: 0.8, 3: 1.0}
    assert split_of(shares, others) == ("2", 0.9, 0.2)
