"""The k-hop problem against a sampler that reads its definition place by place."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.errors import HeadwayError
from headway.tasks import NONE, UNASKED, Hops, HopsConfig, make_task, task_kind
from headway.tasks.hops import find

configs = st.builds(
    HopsConfig,
    hops=st.sampled_from([(1,), (2,), (1, 2, 4), (3, 5)]),
    n_symbols=st.integers(3, 6),
    n_places=st.integers(3, 20),
)


def sample(config, count=6, seed=0, depth=None):
    task = Hops(config)
    return task, task.assemble(task.draw(count, torch.Generator().manual_seed(seed)), depth)


def hop(symbols: list[int], place: int, k: int) -> int | None:
    """hop_k by its definition; places from 0, the place found or none."""
    for _ in range(k):
        latest = [j for j in range(1, place + 1) if symbols[j - 1] == symbols[place]]
        if not latest:
            return None
        place = latest[-1]
    return place


@settings(max_examples=30, deadline=None)
@given(configs, st.integers(0, 2**31))
def test_targets_are_the_definition_s(config, seed):
    task, batch = sample(config, seed=seed)
    for row in range(len(batch.inputs)):
        first, *symbols = batch.inputs[row, :, 0].tolist()
        column = first - config.n_symbols
        for place in range(config.n_places):
            found = hop(symbols, place, config.hops[column])
            expected = task.none if found is None else symbols[found]
            asked = batch.targets[row, place].tolist()
            assert asked.pop(column) == expected
            assert set(asked) <= {UNASKED}


@settings(max_examples=30, deadline=None)
@given(configs, st.integers(0, 2**31))
def test_sequences_are_as_they_should_be(config, seed):
    task, batch = sample(config, seed=seed)
    assert batch.inputs.shape == (6, task.length, 2)
    assert (batch.inputs[..., 1] == torch.arange(task.length)).all()
    tokens = batch.inputs[:, 1:, 0]
    assert tokens.min() >= 0
    assert tokens.max() < config.n_symbols
    assert (tokens[:, 1:] != tokens[:, :-1]).all()
    assert batch.targets.shape == (6, task.n_read, len(task.hop_names))


def test_symbols_and_hops_are_uniform():
    config = HopsConfig(hops=(1, 2, 3), n_symbols=3, n_places=12)
    _, batch = sample(config, count=6_000)
    tokens = batch.inputs[..., 0]
    hops = (tokens[:, 0] - 3).bincount(minlength=3) / 6_000
    assert hops.tolist() == pytest.approx([1 / 3] * 3, abs=0.03)
    for place in (1, 12):
        assert (tokens[:, place].bincount(minlength=3) / 6_000).tolist() == pytest.approx(
            [1 / 3] * 3, abs=0.03
        )
    turns = (tokens[:, 2:] - tokens[:, 1:-1]) % 3
    assert (turns == 1).float().mean().item() == pytest.approx(0.5, abs=0.01)


@settings(max_examples=20, deadline=None)
@given(configs, st.integers(0, 2**31))
def test_relations_are_the_definition_s(config, seed):
    task, batch = sample(config, seed=seed)
    relations = task.paths(batch)
    assert tuple(relations) == task.path_names
    for j in range(1, max(config.hops) + 1):
        relation = relations[f"find^{j}"]
        for row in range(len(batch.inputs)):
            symbols = batch.inputs[row, 1:, 0].tolist()
            found = {
                query - 1: key - 1
                for query, (key,) in zip(
                    relation.queries[row].tolist(), relation.keys[row].tolist(), strict=True
                )
                if query != NONE
            }
            places = range(config.n_places)
            expected = {place: hop(symbols, place, j) for place in places}
            assert found == {place: at for place, at in expected.items() if at is not None}


def test_the_worked_example_of_the_docstring():
    symbols = torch.tensor([[0, 1, 2, 0, 1, 3, 0]])
    assert find(symbols, 2)[:, 0, -1].tolist() == [4, 2]
    assert symbols[0, 2] == 2


def test_a_depth_asks_for_the_first_few_hops():
    config = HopsConfig(hops=(1, 2, 4), n_places=8)
    for depth in (1, 2, 3):
        _, batch = sample(config, count=200, depth=depth)
        asked = set((batch.inputs[:, 0, 0] - config.n_symbols).tolist())
        assert asked == set(range(depth))
    assert Hops(config).n_depths == 3


def test_it_is_one_of_the_tasks():
    task = make_task(HopsConfig())
    assert task_kind(HopsConfig()) == "hops"
    assert task.reference_losses() == {"any symbol": math.log(4)}
    assert task.vocabulary == 4 + 4 + 1


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"hops": ()}, "task.hops = () is not allowed: it must be whole numbers"),
        ({"hops": (0, 1)}, "task.hops"),
        ({"hops": (2, 1)}, "task.hops"),
        ({"n_symbols": 2}, "task.n_symbols = 2 is not allowed: it must be from 3"),
        ({"n_symbols": 257}, "task.n_symbols = 257 is not allowed: it must be from 3"),
        ({"n_places": 2}, "task.n_places"),
    ],
)
def test_bad_input_is_one_clear_line(fields, complaint):
    with pytest.raises(HeadwayError) as raised:
        HopsConfig(**fields)
    assert complaint in str(raised.value)
    assert "\n" not in str(raised.value)
