"""Relations composed of few words: where they lead, by hand and in every sequence."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import HeadwayError
from headway.relations import Composed, Edges
from headway.relations.composed import complexity
from headway.relations.paths import AttentionPath, Relation

TOKENS = torch.tensor([[5, 3, 9, 3, 7, 5]])

WORKED_OUT = """
after same token: - - - 2 - 1
before same token: - - - 0 - -
smallest larger token: - 0 - 0 2 4
largest smaller token: - - 0 - 0 13
smallest any token: 0 1 1 13 13 13
latest token 3: - 1 1 3 3 3
mirror position if the same token: - - - - - 0
mirror position if another token: - - - 2 1 -
mirror position if the same token, else own position: 0 1 2 3 4 0
repeated token: - - - 3 3 35
position 2: - - 2 2 2 2
all before: - 0 01 012 0123 01234
every 2 back: - - 0 1 02 13
second smallest any token: - 0 0 0 0 05
second largest any token: - 1 0 0 4 4
smallest same or larger token: - 0 - 1 2 0
largest token of 0–5: 0 0 0 0 0 05
earliest token of 7,9: - - 2 2 2 2
2 back for tokens 7–9,3, else own position: 0 1 0 1 2 5
mirror across token 9: - - 2 1 0 -
after aligned past token 9: - - 1 2 3 4
twice past token 9: - - 0 2 4 -
single token: 0 01 012 02 024 24
token unlike its mirror: - - - 3 34 34
after same token, else 3 back, else first position: 0 0 0 2 1 1
"""
"""Where names lead from each of the six positions: keys are digits, - is none."""


def keys_worked_out():
    """The keys of every position, by the name of the relation."""
    lines = WORKED_OUT.strip().splitlines()
    pairs = [line.rsplit(": ", 1) for line in lines]
    return {name: keys.split() for name, keys in pairs}


KEYS = keys_worked_out()


def keys_of(mask):
    """The keys of every query, as the table writes them."""
    keys = [row.nonzero()[:, 0].tolist() for row in mask]
    digits = ["".join(map(str, numbers)) for numbers in keys]
    return [text or "-" for text in digits]


@pytest.mark.parametrize("name", KEYS)
def test_a_name_leads_where_it_says(name):
    mask = Composed(TOKENS).mask(name)[0]
    assert keys_of(mask) == KEYS[name]


def test_keys_count_by_their_tokens():
    name = "all so far by weight (token 3 0.5, token 5 0.25)"
    weights = Composed(TOKENS).weights(name)[0]
    assert weights[2].tolist() == [0.25, 0.5, 1, 0, 0, 0]


def test_weights_of_an_else_count_only_where_the_first_has_no_key():
    name = "same token by weight (token 3 0.5), else own position"
    weights = Composed(TOKENS).weights(name)[0]
    assert weights[3].tolist() == [0, 0.5, 0, 0, 0, 0]
    assert weights[5].tolist() == [1, 0, 0, 0, 0, 0]
    assert weights[2].tolist() == [0, 0, 1, 0, 0, 0]


@pytest.mark.parametrize("way", ["aligned past", "twice past", "mirror across"])
def test_where_a_token_has_not_stood_yet_nothing_is_past_it(way):
    composed = Composed(TOKENS, ahead=True)
    mask = composed.mask(f"{way} token 9")[0]
    assert not mask[:2].any()
    assert mask[2:].any()


PARTS = {
    "own position": 1,
    "after latest same token": 1,
    "mirror across token 7": 2,
    "2 back, else own position": 2,
    "2 back, else 3 back, else own position": 3,
    "2 back and own position": 2,
    "2 back for tokens 1–3, else own position": 3,
}


@pytest.mark.parametrize("name", PARTS)
def test_a_relation_is_as_complex_as_it_has_parts(name):
    assert complexity(name) == PARTS[name]


def test_the_farthest_places_are_tried():
    places = Composed(torch.zeros(1, 5, 2), of_tokens=False)
    names = set(places.vocabulary(0))
    within = {"2 back", "3 back", "4 back", "position 1", "position 4"}
    beyond = {"5 back", "position 5"}
    assert within <= names
    assert not beyond & names


def test_a_token_that_stands_twice_in_some_sequences_separates_nothing():
    words = torch.arange(20, 140).reshape(20, 6)
    words[:, 2] = 0
    assert Composed(words).separators == [0]
    words[:2, 4] = 0
    assert Composed(words).separators == []


def test_separators_may_have_the_smallest_numbers():
    words = torch.stack([torch.randperm(12)[:5] + 2 for _ in range(30)])
    ends = torch.tensor([[0, 1]]).expand(30, 2)
    sequences = torch.cat([words, ends], 1)
    assert Composed(sequences).ordinary == ["token of 2–13"]


def test_a_relation_given_can_be_for_some_tokens():
    two_back = Composed(TOKENS).mask("2 back")
    composed = Composed(TOKENS, given={"mine": Edges.where(two_back)})
    mask = composed.mask("mine for tokens 7-9, else first position")[0]
    assert keys_of(mask) == ["0", "0", "0", "0", "2", "0"]


def test_tokens_that_separate_set_the_ordinary_ones_apart():
    words = torch.stack([torch.randperm(12)[:5] for _ in range(30)])
    ends = torch.tensor([[12, 13]]).expand(30, 2)
    sequences = torch.cat([words, ends], 1)
    names = set(Composed(sequences).vocabulary(0))
    assert {"largest token of 0–11", "token of 0–11"} <= names
    unseparated = Composed(words).vocabulary(0)
    assert not any("of" in name for name in unseparated)


NO_RELATIONS = [
    "",
    "other",
    "latest",
    "smallest",
    "0 forward",
    "every 0 back",
    "same token, else",
    "after",
    "all so far by weight (token 3 0.5) and first position",
    "token of 3–",
    "own position for tokens all",
]


@pytest.mark.parametrize("name", NO_RELATIONS)
def test_what_is_not_made_of_the_words_is_refused(name):
    composed = Composed(TOKENS)
    with pytest.raises(HeadwayError, match=r"relation = .* is not allowed"):
        composed.mask(name)


def test_vectors_have_places_alone():
    vectors = Composed(torch.zeros(2, 5, 3), of_tokens=False)
    names = vectors.vocabulary(1)
    assert "previous token" in names
    assert not any("same" in name for name in names)
    assert not any("larger" in name for name in names)
    with pytest.raises(HeadwayError, match="no tokens"):
        vectors.mask("same token")


@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize("layer", [0, 2])
def test_every_name_that_is_tried_can_be_evaluated_and_sees_what_it_may(ahead, layer):
    generator = torch.Generator().manual_seed(1)
    tokens = torch.randint(6, (20, 7), generator=generator)
    composed = Composed(tokens, ahead=ahead)
    names = composed.vocabulary(layer)
    for name in names:
        mask = composed.mask(name)
        sees_later = mask.triu(1).any()
        assert mask.any(), name
        assert ahead or not sees_later, name
    assert len(set(names)) == len(names)
    of_two_layers = [name for name in names if name.startswith(("after", "before"))]
    assert layer or not of_two_layers


def test_relations_that_differ_only_where_nothing_matters_are_one():
    tokens = torch.tensor([[3, 1, 4, 2, 0, 5], [2, 5, 0, 3, 1, 4]])
    tokens[:, 4:] = 9
    matters = (tokens != 9)[..., None]
    assert "latest other token" in Composed(tokens).vocabulary(0)
    assert "latest other token" not in Composed(tokens).vocabulary(0, matters)


numbers = st.integers(0, 99)
roles = st.sampled_from(["s0", "s12", "ax.a", "EOS", "subject", "last place"])


between_roles = st.builds(Relation.between, roles, roles)


other_names = st.sampled_from(
    ["previous token", "find^2", "s0←s2 (other chains)", "y_1"]
)
relations = st.one_of(between_roles, other_names.map(Relation))


@given(numbers, numbers, relations)
def test_a_path_is_read_as_it_is_written(layer, head, relation):
    path = AttentionPath(layer, head, relation)
    assert str(path) == f"L{layer}.H{head} {relation}"
    parsed = AttentionPath.parse(str(path))
    assert parsed == path
    assert path == (layer, head, str(relation))
    assert isinstance(parsed.relation, Relation)
    assert path.at == (layer, head)


@given(roles, roles)
def test_a_relation_between_roles_knows_its_ends(query, key):
    relation = Relation.between(query, key)
    assert relation == f"{query}←{key}"
    assert relation.ends == (query, key)


def test_paths_are_sorted_as_information_flows():
    texts = ["L10.H0 s0←s2", "L2.H1 s0←s2", "L2.H0 s4←s3", "L2.H0 s2←s1"]
    paths = sorted(AttentionPath.parse(text) for text in texts)
    in_order = [str(path) for path in paths]
    assert in_order == ["L2.H0 s2←s1", "L2.H0 s4←s3", "L2.H1 s0←s2", "L10.H0 s0←s2"]


NO_PATHS = [
    "",
    "L1.H0",
    "L1.H0 ",
    "1.0 s0←s2",
    "L1.H0s0←s2",
    "L-1.H0 s0←s2",
    "l1.h0 s0←s2",
    "L1.H0 s0←s2\nL2.H0 s0←s2",
    "L1234567.H0 s0←s2",
    ("L1.H0 s0←s2",),
    None,
    3,
]


@pytest.mark.parametrize("text", NO_PATHS)
def test_what_is_no_path_is_refused(text):
    with pytest.raises(
        HeadwayError, match=r"path = .* must be written as L1\.H0 s0←s2"
    ):
        AttentionPath.parse(text)
