from itertools import product

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.circuits import Path, Relation, attention_along
from headway.circuits.roles import (
    Cast,
    Place,
    block_starts,
    joins_roles,
    places,
    places_of,
    position_labels,
    role_attention,
)
from headway.tasks import Conditional, Hops, Retrieval
from headway.training import held_out
from headway_experiments.arena import Labelled
from headway_experiments.tasks import Recall


def paths(*texts):
    return [Path.parse(text) for text in texts]


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


def test_places_say_what_stands_there():
    assert [(p.role, p.symbol) for p in places(retrieval(2))] == [
        ("s3", "x_1"), ("s4", "x_2"), ("s1", "x_0"), ("s2", "x_1"), ("s0", "x_0"),
    ]  # fmt: skip
    assert [p.symbol for p in places(Conditional())] == list("xyzayaxa")


def test_equal_labels_hold_equal_symbols():
    for task in (retrieval(3, 4), Conditional()):
        batch = held_out(task, 1, 3, "cpu")
        labels, tokens = position_labels(task, batch), batch.inputs[0, :, : task.d_token]
        for label in set(labels) - {"·"}:
            same = tokens[[i for i, other in enumerate(labels) if other == label]]
            assert (same == same[0]).all()


def test_labels_and_blocks_of_one_sequence():
    task = retrieval(1, 2)
    batch = held_out(task, 1, 0, "cpu")
    assert sorted(position_labels(task, batch)) == ["a0", "a0", "a1", "b0", "b0", "b1"]
    assert block_starts(task, batch) == [4]


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


def test_without_a_flow_roles_have_no_symbols_and_stand_as_in_a_sequence():
    labelled = Labelled(depth=2, n_chains=2)
    assert [(p.role, p.symbol, p.group) for p in places(labelled)] == [
        (role, "", role) for role in ("s3", "s4", "s1", "s2", "s0")
    ]
    batch = held_out(labelled, 1, 0, "cpu")
    labels = position_labels(labelled, batch)
    assert sorted(labels) == sorted(f"{role} {c}" for role in labelled.roles for c in "ab")
    assert labels[int(batch.roles[0, 0, 1])] == "s0 b"
    assert block_starts(labelled, batch) == []


def test_symbols_are_told_only_if_every_role_starts_with_one():
    told = {"k": ("p_1", "x"), "v": ("p_1", "y"), "q": ("x",)}
    assert places_of(told) == [Place("k", "x", "p_1"), Place("v", "y", "p_1"), Place("q", "x", "q")]
    for odd in ((), ("p_2",), ("x", "y"), ("p_1", "p_2", "x")):
        assert places_of({**told, "q": odd}) == [Place(role, "", role) for role in told]


def test_tokens_are_called_by_their_numbers():
    for task in (Recall(), Hops(asked=(1, 2), n_places=9)):
        batch = held_out(task, 1, 0, "cpu")
        assert position_labels(task, batch) == [str(token) for token in batch.inputs[0].tolist()]


def test_roles_are_columns_only_if_every_path_joins_two():
    task = Recall()
    assert joins_roles(task, paths("L0.H0 EOS←subject"))
    assert joins_roles(task, [])
    assert not joins_roles(task, paths("L0.H0 EOS←subject", "L1.H0 previous token"))
    assert not joins_roles(task, paths("L0.H0 EOS←nobody"))
    assert not joins_roles(Hops(), paths("L0.H0 find^1"))
    assert not joins_roles(Hops(), [])
    spaced = Cast((Place("old key", "", "old key"), Place("query", "", "query")))
    assert joins_roles(spaced, paths("L0.H0 query←old key"))
