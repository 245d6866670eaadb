"""The expressions that are tried on some sequences."""

import pytest
import torch

from headway.relations import Composed, Edges, parse
from headway.relations.vocabulary import blocks, candidates, distinct

BY_VALUE = ("larger", "smaller", "largest", "smallest", "any token")


def drawn(sequences=20, length=7, tokens=6, **more):
    """Sequences of random tokens."""
    generator = torch.Generator().manual_seed(1)
    inputs = torch.randint(tokens, (sequences, length), generator=generator)
    return Composed(inputs, **more)


def vocabulary(composed, layer, matters=None):
    """The expressions that lead to different keys."""
    tried = candidates(composed, layer)
    return distinct(tried, composed, matters)


def names_of(expressions):
    return [str(expression) for expression in expressions]


def tried_on(composed, layer):
    """The names of all candidates."""
    return set(names_of(candidates(composed, layer)))


@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize("layer", [0, 2])
def test_what_is_tried_leads_somewhere_and_sees_what_it_may(ahead, layer):
    composed = drawn(ahead=ahead)
    for expression in vocabulary(composed, layer):
        mask = composed.mask(expression)
        sees_later = mask.triu(1).any()
        assert mask.any(), str(expression)
        assert ahead or not sees_later, str(expression)


@pytest.mark.parametrize("layer", [0, 2])
def test_what_is_tried_is_read_as_it_is_written(layer):
    composed = drawn(ahead=True)
    tried = vocabulary(composed, layer)
    assert [parse(str(expression)) for expression in tried] == tried


def test_in_the_first_layer_nothing_is_looked_for_by_what_stands_before_it():
    names = names_of(candidates(drawn(), 0))
    moved = [name for name in names if name.startswith(("after", "before"))]
    later = ("own run", "past", "up to", "repeated", "new", "single", "its mirror")
    assert not moved
    assert not any(word in name for word in later for name in names)


AFTER_THE_FIRST = [
    "after same token",
    "before latest token 3",
    "after latest run of same token",
    "earliest own run",
    "past token 3",
    "latest repeated token",
]


@pytest.mark.parametrize("name", AFTER_THE_FIRST)
def test_in_later_layers_it_is(name):
    assert name in tried_on(drawn(), 1)


FIRST = [
    "previous token if the same token",
    "mirror position if another token",
    "second latest same token",
    "third earliest token 3",
    "latest run of same token",
    "largest smaller token",
    "second smallest any token",
    "every 3 from position 2",
]


@pytest.mark.parametrize("name", FIRST)
def test_picks_and_conditions_are_tried_in_every_layer(name):
    assert name in tried_on(drawn(), 0)


NEVER = ["2 back if the same token", "second latest other token"]
NEVER += ["after smallest larger token", "latest run of other token", "2 ahead"]


@pytest.mark.parametrize("name", NEVER)
def test_what_would_seldom_be_looked_at_is_not_tried(name):
    assert name not in tried_on(drawn(), 1)


def test_the_farthest_places_are_tried():
    composed = Composed(torch.zeros(1, 5, 2), of_tokens=False)
    names = tried_on(composed, 0)
    within = {"2 back", "3 back", "4 back", "position 1", "position 4"}
    beyond = {"5 back", "position 5"}
    assert within <= names
    assert not beyond & names


def ended(low=0, high=13):
    """Words of twelve tokens with the same two at the end."""
    words = torch.stack([torch.randperm(12)[:5] for _ in range(30)])
    ends = torch.tensor([[low, high]]).expand(30, 2)
    return torch.cat([words + (1 if low == 0 else 0), ends], 1)


def test_tokens_that_separate_set_the_ordinary_ones_apart():
    sequences = ended(12, 13)
    names = set(names_of(vocabulary(Composed(sequences), 0)))
    assert {"largest token of 0–11", "token of 0–11"} <= names


def test_what_stands_next_to_a_mirrored_place_is_tried():
    names = tried_on(Composed(ended(12, 13)), 1)
    assert "after mirror across token 12" in names


def test_vectors_have_places_alone():
    vectors = Composed(torch.zeros(2, 5, 3), of_tokens=False)
    names = names_of(vocabulary(vectors, 1))
    of_tokens = ("same", "other", "token of", *BY_VALUE)
    assert "previous token" in names
    assert not any(word in name for word in of_tokens for name in names)


def test_tokens_without_an_order_have_no_words_of_value():
    names = names_of(vocabulary(drawn(ordered=False), 1))
    assert "latest same token" in names
    assert not any(word in name for word in BY_VALUE for name in names)


def test_a_relation_given_comes_first():
    two_back = Edges.where(drawn().mask("2 back"))
    names = names_of(vocabulary(drawn(given={"mine": two_back}), 0))
    assert names[0] == "mine"
    assert "2 back" not in names


def test_of_expressions_with_the_same_keys_the_first_is_tried():
    expressions = [parse(name) for name in ("all so far", "any token", "own position")]
    assert names_of(distinct(expressions, drawn())) == ["all so far", "own position"]


def test_expressions_that_lead_nowhere_are_not_tried():
    expressions = [parse("9 back"), parse("2 back")]
    assert names_of(distinct(expressions, drawn())) == ["2 back"]


def test_expressions_that_differ_only_where_nothing_matters_are_one():
    tokens = torch.tensor([[3, 1, 4, 2, 0, 5], [2, 5, 0, 3, 1, 4]])
    tokens[:, 4:] = 9
    matters = (tokens != 9)[..., None]
    composed = Composed(tokens)
    assert "latest other token" in names_of(vocabulary(composed, 0))
    assert "latest other token" not in names_of(vocabulary(composed, 0, matters))


def test_expressions_that_differ_in_the_last_of_many_sequences_are_two():
    tokens = torch.arange(6).repeat(17, 1)
    tokens[-1, 3] = 0
    expressions = [parse("2 back"), parse("2 back if another token")]
    expressions += [parse("3 back"), parse("3 back if another token")]
    names = names_of(distinct(expressions, Composed(tokens)))
    assert names == ["2 back", "3 back", "3 back if another token"]


def test_blocks_are_all_sequences():
    composed = drawn(sequences=35)
    parts = [part.inputs for _, part in blocks(composed)]
    assert [len(part) for part in parts] == [16, 16, 3]
    assert torch.equal(torch.cat(parts), composed.inputs)
