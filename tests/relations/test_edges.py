"""Where relations lead, in sequences that are laid out by hand."""

import torch

from headway.relations import NO_KEY, Edges, between_roles, own_position, previous_token
from headway.relations.paths import OTHERS

ROLES = torch.tensor([[[0, 1, 2], [5, 4, 3]]])
"""Two roles in three chains: the second stands in the reverse order."""


def test_roles_lead_to_those_of_their_chain_and_of_others():
    relations = between_roles(ROLES, ("a", "b"))
    forwards = relations["a←b"]
    backwards = relations["b←a"]
    to_others = relations[f"a←b{OTHERS}"]
    assert forwards.queries.tolist() == [[0, 1, 2]]
    assert forwards.keys.tolist() == [[[5], [4], [3]]]
    assert backwards.keys.tolist() == [[[0], [1], [2]]]
    assert to_others.keys.tolist() == [[[4, 3], [5, 3], [5, 4]]]


WITHIN = {"a←a": "stay", "b←b": "stay", "a←b": "path", "b←a": "path"}
"""The use of the relations within a chain."""


def test_a_role_that_keeps_what_stands_there_stays_and_other_chains_are_only_measured():
    relations = between_roles(ROLES, ("a", "b"))
    uses = {name: edges.use for name, edges in relations.items()}
    to_others = {f"{name}{OTHERS}": "measured" for name in WITHIN}
    assert uses == {**WITHIN, **to_others}


def test_of_two_chains_each_has_another():
    two_chains = ROLES[..., :2]
    assert f"a←b{OTHERS}" in between_roles(two_chains, ("a", "b"))


def test_one_chain_has_no_others():
    one_chain = ROLES[..., :1]
    assert set(between_roles(one_chain, ("a", "b"))) == set(WITHIN)


def test_roles_that_are_missing_are_left_out():
    first_role = ROLES[:, :1, :1]
    assert set(between_roles(first_role, ("a", "b"))) == {"a←a"}


def test_rows_and_keys_that_there_are_not_take_none_away_that_there_are():
    queries = torch.tensor([[0, 2, NO_KEY]])
    keys = torch.tensor([[[0, 0], [1, NO_KEY], [0, 1]]])
    edges = Edges(queries, keys)
    assert edges.there.tolist() == [[[True, True], [True, False], [False, False]]]
    mask = edges.mask(3)[0]
    assert mask.nonzero().tolist() == [[0, 0], [2, 1]]


def test_a_mask_with_weights_comes_back():
    mask = torch.tensor(
        [[[False, False, False], [True, False, True], [False, True, False]]]
    )
    weights = torch.arange(9.0).reshape(1, 3, 3)
    edges = Edges.where(mask, weights=weights)
    assert edges.weights is not None
    assert edges.queries.tolist() == [[1, 2]]
    assert edges.keys.tolist() == [[[0, 2], [1, NO_KEY]]]
    assert edges.weights[edges.there].tolist() == [3.0, 5.0, 7.0]
    assert torch.equal(edges.mask(3), mask)


def test_every_position_but_the_first_has_one_before_it():
    edges = previous_token(torch.zeros(2, 4, 3))
    assert edges.queries.tolist() == [[1, 2, 3]] * 2
    assert edges.keys.tolist() == [[[0], [1], [2]]] * 2


def test_every_position_stays_at_its_own():
    edges = own_position(torch.zeros(2, 4, 3))
    assert edges.use == "stay"
    diagonal = torch.eye(4, dtype=torch.bool)
    assert torch.equal(edges.mask(4), diagonal.expand(2, 4, 4))
