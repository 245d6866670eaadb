"""Where relations lead, in sequences that are laid out by hand."""

import torch

from headway.relations import NO_KEY, Edges, between_roles, own_position, previous_token
from headway.relations.paths import OTHERS

ROLES = torch.tensor([[[0, 1, 2], [5, 4, 3]]])
"""Two roles in three chains: the second stands in the reverse order."""


def test_roles_lead_to_those_of_their_chain_and_of_others():
    edges = between_roles(ROLES, ("a", "b"))
    assert edges["a←b"].queries.tolist() == [[0, 1, 2]]
    assert edges["a←b"].keys.tolist() == [[[5], [4], [3]]]
    assert edges["b←a"].keys.tolist() == [[[0], [1], [2]]]
    assert edges[f"a←b{OTHERS}"].keys.tolist() == [[[4, 3], [5, 3], [5, 4]]]


def test_a_role_that_keeps_what_stands_there_stays_and_other_chains_are_only_measured():
    uses = {name: edges.use for name, edges in between_roles(ROLES, ("a", "b")).items()}
    within = {"a←a": "stay", "b←b": "stay", "a←b": "path", "b←a": "path"}
    assert uses == {**within, **{f"{name}{OTHERS}": "measured" for name in within}}


def test_two_chains_have_others_one_has_none_and_roles_that_are_missing_are_left_out():
    assert f"a←b{OTHERS}" in between_roles(ROLES[..., :2], ("a", "b"))
    assert set(between_roles(ROLES[..., :1], ("a", "b"))) == {"a←a", "a←b", "b←a", "b←b"}
    assert set(between_roles(ROLES[:, :1, :1], ("a", "b"))) == {"a←a"}


def test_rows_and_keys_that_there_are_not_take_none_away_that_there_are():
    edges = Edges(torch.tensor([[0, 2, NO_KEY]]), torch.tensor([[[0, 0], [1, NO_KEY], [0, 1]]]))
    assert edges.there.tolist() == [[[True, True], [True, False], [False, False]]]
    assert edges.mask(3)[0].nonzero().tolist() == [[0, 0], [2, 1]]


def test_a_mask_with_weights_comes_back():
    mask = torch.tensor([[[False, False, False], [True, False, True], [False, True, False]]])
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
    own = own_position(torch.zeros(2, 4, 3))
    assert own.use == "stay"
    assert torch.equal(own.mask(4), torch.eye(4, dtype=torch.bool).expand(2, 4, 4))
