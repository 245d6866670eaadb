"""Sequences on which expressions are evaluated, and relations of any sequences."""

import pytest
import torch

from headway.errors import HeadwayError
from headway.relations import Composed, Edges, Related, general_relations, parse
from headway.relations.composed import FEW_TOKENS

TOKENS = torch.tensor([[5, 3, 9, 3, 7, 5], [3, 3, 8, 7, 1, 5]])
WORDS = torch.arange(20, 140).reshape(20, 6)


def test_a_name_and_its_expression_have_the_same_keys():
    name = "same token, else own position"
    composed = Composed(TOKENS)
    assert torch.equal(composed.mask(name), composed.mask(parse(name)))


def test_a_name_and_its_expression_have_the_same_weights():
    name = "all so far by weight (token 3 0.5)"
    composed = Composed(TOKENS)
    assert torch.equal(composed.weights(name), composed.weights(parse(name)))


def test_keys_without_weights_count_the_same():
    composed = Composed(TOKENS)
    mask = composed.mask("same token")
    assert torch.equal(composed.weights("same token"), mask.float())


def separators_of(words):
    return Composed(words).separators


def test_a_token_that_stands_once_in_every_sequence_separates():
    words = WORDS.clone()
    words[:, 2] = 0
    assert separators_of(words) == [0]


def test_a_token_that_is_missing_in_one_of_twenty_sequences_separates():
    words = WORDS.clone()
    words[:-1, 2] = 0
    assert separators_of(words) == [0]


def test_a_token_that_stands_twice_in_some_sequences_separates_nothing():
    words = WORDS.clone()
    words[:, 2] = 0
    words[:2, 4] = 0
    assert separators_of(words) == []


def test_few_tokens_are_all_markers():
    few = torch.arange(FEW_TOKENS).repeat(2, 2)
    assert Composed(few).markers == list(range(FEW_TOKENS))


def test_of_many_tokens_those_that_separate_are_markers():
    words = WORDS.clone()
    words[:, 2] = 0
    assert Composed(words).markers == [0]


def test_vectors_have_no_markers():
    vectors = Composed(torch.zeros(2, 5, 3), of_tokens=False)
    assert vectors.known == vectors.markers == vectors.separators == []


HAS = [
    ({}, "", True),
    ({}, "tokens", True),
    ({}, "order", True),
    ({"ordered": False}, "tokens", True),
    ({"ordered": False}, "order", False),
    ({"of_tokens": False}, "", True),
    ({"of_tokens": False}, "tokens", False),
    ({"of_tokens": False}, "order", False),
]


@pytest.mark.parametrize(("sequences", "needs", "has"), HAS)
def test_sequences_have_what_a_primitive_needs(sequences, needs, has):
    assert Composed(TOKENS, **sequences).has(needs) == has


def test_tokens_of_vectors_are_refused():
    vectors = Composed(torch.zeros(2, 5, 3), of_tokens=False)
    with pytest.raises(HeadwayError, match="these sequences have no tokens"):
        _ = vectors.tokens


def test_a_part_has_the_keys_of_its_sequences():
    two_back = Edges.where(Composed(TOKENS).mask("2 back"))
    composed = Composed(TOKENS, ahead=True, given={"mine": two_back})
    part = composed.part(slice(1, 2))
    for name in ("same token", "mine", "next token"):
        mask = composed.mask(name)
        assert torch.equal(part.mask(name), mask[1:2]), name


def test_a_part_has_an_order_if_all_sequences_have_one():
    unordered = Composed(TOKENS, ordered=False)
    assert not unordered.part(slice(1)).has("order")


def test_all_sequences_tell_which_tokens_of_a_part_are_special():
    words = WORDS.clone()
    words[:, 2] = 0
    composed = Composed(words)
    part = composed.part(slice(0, 1))
    assert part.known == composed.known
    assert part.separators == part.markers == [0]


def test_related_relations_are_the_tasks_own_and_those_asked_for():
    own = Edges.where(Composed(TOKENS).mask("2 back"))
    related = Related({"mine": own}, Composed(TOKENS))
    assert related["mine"] is own
    same = related["same token"]
    assert torch.equal(same.mask(6), Composed(TOKENS).mask("same token"))
    assert related["same token"] is same


def test_related_relations_have_weights_if_their_name_has():
    related = Related({}, Composed(TOKENS))
    assert related["all so far"].weights is None
    weighed = related["all so far by weight (token 3 0.5)"]
    assert weighed.weights is not None
    assert weighed.weights[0, 2, :3].tolist() == [1, 0.5, 1]


PLACES = ["previous token", "2 back", "3 back", "4 back", "first position"]
BY_TOKEN = ["same token", "after same token", "after latest same token"]


def test_any_sequence_has_general_relations():
    names = [*PLACES, *BY_TOKEN, "own position"]
    assert list(general_relations(TOKENS)) == names


def test_vectors_have_general_relations_by_place():
    names = [*PLACES, "own position"]
    assert list(general_relations(torch.zeros(2, 6, 3), of_tokens=False)) == names


def test_short_sequences_have_the_offsets_that_they_can():
    assert "3 back" not in general_relations(TOKENS[:, :3])


def test_the_first_position_does_not_read_itself():
    edges = general_relations(TOKENS)["first position"]
    assert edges.queries.tolist() == [[1, 2, 3, 4, 5]] * 2
