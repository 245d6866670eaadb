"""The k-hop problem against a sampler that reads its definition place by place."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.tasks import IGNORE_INDEX, Hops
from headway.tasks.hops import find
from sampling import read, sample

tasks = st.builds(
    Hops,
    asked=st.sampled_from([(1,), (2,), (1, 2, 4), (3, 5)]),
    n_symbols=st.integers(3, 6),
    n_places=st.integers(3, 20),
)


def hop(symbols: list[int], place: int, k: int) -> int | None:
    """hop_k by its definition; places from 0, the place found or none."""
    for _ in range(k):
        latest = [j for j in range(1, place + 1) if symbols[j - 1] == symbols[place]]
        if not latest:
            return None
        place = latest[-1]
    return place


@settings(max_examples=30)
@given(tasks, st.integers(0, 2**31))
def test_targets_are_the_definition_s(task, seed):
    batch = sample(task, seed=seed)
    for row in range(len(batch.inputs)):
        first, *symbols = batch.inputs[row].tolist()
        column = first - task.n_symbols
        for place in range(task.n_places):
            found = hop(symbols, place, task.asked[column])
            expected = task.none if found is None else symbols[found]
            asked = batch.targets[row, place].tolist()
            assert asked.pop(column) == expected
            assert set(asked) <= {IGNORE_INDEX}


@settings(max_examples=30)
@given(tasks, st.integers(0, 2**31))
def test_sequences_are_as_they_should_be(task, seed):
    batch = sample(task, seed=seed)
    assert batch.inputs.shape == (6, task.length)
    tokens = batch.inputs[:, 1:]
    assert tokens.min() >= 0
    assert tokens.max() < task.n_symbols
    assert (tokens[:, 1:] != tokens[:, :-1]).all()
    assert batch.targets.shape == (6, task.n_read, len(task.hops))


def test_symbols_and_hops_are_uniform():
    task = Hops(asked=(1, 2, 3), n_symbols=3, n_places=12)
    batch = sample(task, count=6_000)
    tokens = batch.inputs
    hops = (tokens[:, 0] - 3).bincount(minlength=3) / 6_000
    assert hops.tolist() == pytest.approx([1 / 3] * 3, abs=0.03)
    for place in (1, 12):
        assert (
            tokens[:, place].bincount(minlength=3) / 6_000
        ).tolist() == pytest.approx([1 / 3] * 3, abs=0.03)
    turns = (tokens[:, 2:] - tokens[:, 1:-1]) % 3
    assert (turns == 1).float().mean().item() == pytest.approx(0.5, abs=0.01)


@settings(max_examples=20)
@given(tasks, st.integers(0, 2**31))
def test_relations_are_the_definition_s(task, seed):
    batch = sample(task, seed=seed)
    relations = task.relations(batch)
    assert {edges.use for edges in relations.values()} == {"path"}
    assert set(relations) == {
        "previous token",
        *(f"find^{j}" for j in range(1, max(task.asked) + 1)),
    }
    for j in range(1, max(task.asked) + 1):
        relation = relations[f"find^{j}"]
        for row in range(len(batch.inputs)):
            symbols = batch.inputs[row, 1:].tolist()
            found = {
                query - 1: key - 1 for query, (key,) in read(relation, row).items()
            }
            expected = {place: hop(symbols, place, j) for place in range(task.n_places)}
            assert found == {
                place: at for place, at in expected.items() if at is not None
            }


def test_the_worked_example_of_the_docstring():
    symbols = torch.tensor([[0, 1, 2, 0, 1, 3, 0]])
    assert find(symbols, 2)[:, 0, -1].tolist() == [4, 2]
    assert symbols[0, 2] == 2


def test_a_depth_asks_for_the_first_few_hops():
    task = Hops(asked=(1, 2, 4), n_places=8)
    for depth in (1, 2, 3):
        batch = task.shallower(task.draw(200, torch.Generator().manual_seed(0)), depth)
        asked = set((batch.inputs[:, 0] - task.n_symbols).tolist())
        assert asked == set(range(depth))
    assert task.n_depths == 3
