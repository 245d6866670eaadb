from itertools import product

import torch

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
