import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.circuits import attention_along
from headway.report.roles import block_starts, gained, places, position_labels, role_attention
from headway.tasks import Conditional, Retrieval, RetrievalConfig
from headway.training import held_out


def retrieval(depth, n_chains=2, order="deep-first"):
    return Retrieval(RetrievalConfig(depth=depth, n_chains=n_chains, order=order))


@given(st.integers(1, 4), st.integers(1, 5), st.sampled_from(["deep-first", "shallow-first"]))
@settings(max_examples=20, deadline=None)
def test_places_stand_in_the_order_of_the_sequence(depth, n_chains, order):
    task = retrieval(depth, n_chains, order)
    roles = held_out(task, 4, 0, "cpu").roles
    index = [task.role_names.index(place.role) for place in places(task)]
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
    for name, relation in task.paths(batch).items():
        query, key = name.split("→")
        along = attention_along(patterns, relation)
        assert torch.allclose(table[:, :, index[query], index[key]], along, atol=1e-6)


def test_what_the_heads_copy_is_followed():
    paths = [(0, 0, "s2→s1"), (0, 0, "s4→s3"), (1, 0, "s0→s2"), (2, 0, "s2→s4"), (3, 0, "s0→s2")]
    assert gained(retrieval(2), paths) == {
        (0, "s2"): ("x_0",),
        (0, "s4"): ("x_1",),
        (1, "s0"): ("x_1",),
        (2, "s2"): ("x_2",),
        (3, "s0"): ("x_2",),
    }


def test_within_a_layer_all_heads_read_what_was_there_before():
    assert gained(retrieval(2), [(0, 0, "s2→s3"), (0, 1, "s3→s4")]) == {(0, "s3"): ("x_2",)}
