from itertools import product

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.circuits import Relation, attention_along
from headway.circuits.roles import (
    places,
    position_labels,
    role_attention,
)
from headway.tasks import Conditional, Retrieval
from headway.training import held_out


def retrieval(depth, n_chains=2, order="deep-first"):
    return Retrieval(depth=depth, n_chains=n_chains, order=order)


@given(st.integers(1, 4), st.integers(1, 5), st.sampled_from(["deep-first", "shallow-first"]))
@settings(max_examples=20, deadline=None)
def test_places_stand_in_the_order_of_the_sequence(depth, n_chains, order):
    task = retrieval(depth, n_chains, order)
    roles = held_out(task, 4, 0, "cpu").roles
    index = [task.roles.index(place.role) for place in places(task)]
    positions = roles[:, index].float().mean((0, 2))
    groups = [place.group for place in places(task)]
    for i in range(len(index) - 1):
        if groups[i] == groups[i + 1]:
            assert (roles[:, index[i + 1]] - roles[:, index[i]] == 1).all()
        elif n_chains > 1 and len(roles) > 1:
            assert roles[:, index[i]].max() < roles[:, index[i + 1]].min()
    assert positions[-1] == positions.max()


def test_equal_labels_hold_equal_symbols():
    for task in (retrieval(3, 4), Conditional()):
        batch = held_out(task, 1, 3, "cpu")
        labels, tokens = position_labels(task, batch), batch.inputs[0, :, : task.d_token]
        for label in set(labels) - {"·"}:
            same = tokens[[i for i, other in enumerate(labels) if other == label]]
            assert (same == same[0]).all()


def test_role_attention_agrees_with_attention_along_paths():
    task = retrieval(2, 3)
    batch = held_out(task, 5, 0, "cpu")
    patterns = torch.rand(5, 2, 2, task.length, task.length)
    table = role_attention(patterns, task, batch)
    index = {place.role: i for i, place in enumerate(places(task))}
    relations = task.relations(batch)
    for query, key in product(task.roles, repeat=2):
        along = attention_along(patterns, relations[Relation.between(query, key)])
        assert torch.allclose(table[:, :, index[query], index[key]], along, atol=1e-6)
