"""The k-hop problem against a sampler that reads its definition place by place."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.tasks import IGNORE_INDEX, Hops
from headway.tasks.hops import find
from sampling import read, sample, seeded

asked = st.sampled_from([(1,), (2,), (1, 2, 4), (3, 5)])
symbols = st.integers(3, 6)
tasks = st.builds(Hops, asked=asked, n_symbols=symbols, n_places=st.integers(3, 20))


def hop(symbols: list[int], place: int, k: int) -> int | None:
    """hop_k by its definition; places from 0, the place found or none."""
    for _ in range(k):
        symbol = symbols[place]
        before = symbols[:place]
        if symbol not in before:
            return None
        # The place after the latest one that holds the symbol.
        place -= before[::-1].index(symbol)
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
    for drawn in (tokens[:, 0] - 3, tokens[:, 1], tokens[:, 12]):
        shares = drawn.bincount(minlength=3) / 6_000
        assert shares.tolist() == pytest.approx([1 / 3] * 3, abs=0.03)
    turns = tokens[:, 1:].diff(dim=1) % 3
    share = (turns == 1).float().mean()
    assert share.item() == pytest.approx(0.5, abs=0.01)


@settings(max_examples=20)
@given(tasks, st.integers(0, 2**31))
def test_relations_are_the_definition_s(task, seed):
    batch = sample(task, seed=seed)
    relations = task.relations(batch)
    assert {edges.use for edges in relations.values()} == {"path"}
    hops = range(1, max(task.asked) + 1)
    assert set(relations) == {"previous token", *(f"find^{j}" for j in hops)}
    for j in hops:
        for row, (_, *symbols) in enumerate(batch.inputs.tolist()):
            # A query stands one position after its place, as the hops asked come first.
            keys = read(relations[f"find^{j}"], row)
            for place in range(task.n_places):
                found = hop(symbols, place, j)
                expected = None if found is None else [found + 1]
                assert keys.get(place + 1) == expected
            assert len(keys) <= task.n_places


def test_the_worked_example_of_the_docstring():
    symbols = torch.tensor([[0, 1, 2, 0, 1, 3, 0]])
    assert find(symbols, 2)[:, 0, -1].tolist() == [4, 2]
    assert symbols[0, 2] == 2


def test_a_depth_asks_for_the_first_few_hops():
    task = Hops(asked=(1, 2, 4), n_places=8)
    draws = task.draw(200, seeded(0))
    for depth in (1, 2, 3):
        first = task.shallower(draws, depth).inputs[:, 0]
        columns = first - task.n_symbols
        assert set(columns.tolist()) == set(range(depth))
    assert task.n_depths == 3
