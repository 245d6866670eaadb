"""k-fold composition against a reference that follows one symbol at a time."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.errors import HeadwayError
from headway.tasks import Composition, CompositionConfig, make_task, task_kind, task_size

configs = st.builds(
    CompositionConfig,
    hops=st.sampled_from([(1,), (2,), (1, 2, 4), (3, 5)]),
    n_symbols=st.integers(2, 6),
    hidden=st.sampled_from([None, 0, 1]),
)


def sample(config, count=6, seed=0):
    task = Composition(config)
    return task, task.sample(count, torch.Generator().manual_seed(seed))


def walk(task, permutations, i, x, hops):
    """Where each of so many hops lands: the place it is read at, the symbol, the next place."""
    n, most = task.config.n_symbols, task.n_permutations
    steps = []
    for _ in range(hops):
        row = int(task.hidden[i, x])
        read, x = n * i + row, permutations[i][row]
        i = (i + 1) % most
        steps.append((read, x, n * i + x))
    return steps


def given_in(task, batch, sequence):
    tokens = batch.inputs[sequence, :, 0].tolist()
    n = task.config.n_symbols
    return [tokens[at : at + n] for at in range(0, len(tokens), n)]


@settings(max_examples=30, deadline=None)
@given(configs, st.integers(0, 2**31))
def test_targets_are_the_definition_s(config, seed):
    task, batch = sample(config, seed=seed)
    n = config.n_symbols
    for sequence in range(len(batch.inputs)):
        permutations = given_in(task, batch, sequence)
        for place in range(task.n_read):
            steps = walk(task, permutations, *divmod(place, n), max(config.hops))
            expected = [steps[k - 1][1] for k in config.hops]
            assert batch.targets[sequence, place, :, 0].tolist() == expected


@settings(max_examples=30, deadline=None)
@given(configs, st.integers(0, 2**31))
def test_sequences_are_of_permutations(config, seed):
    task, batch = sample(config, seed=seed)
    assert batch.inputs.shape == (6, task.length, 2)
    assert (batch.inputs[..., 1] == torch.arange(task.length)).all()
    assert batch.targets.shape == (6, task.n_read, len(config.hops), 1)
    everything = list(range(config.n_symbols))
    for sequence in range(len(batch.inputs)):
        rows = given_in(task, batch, sequence)
        assert len(rows) == max(config.hops)
        assert all(sorted(row) == everything for row in rows)
    assert all(sorted(row) == everything for row in task.hidden.tolist())
    assert config.hidden is not None or task.hidden.tolist() == [everything] * task.n_permutations


def test_permutations_are_uniform():
    config = CompositionConfig(hops=(1, 2), n_symbols=3)
    task, batch = sample(config, count=6_000)
    rows = batch.inputs[:, :, 0].view(-1, task.n_permutations, 3).unbind(1)
    for row in rows:
        shares = row.unique(dim=0, return_counts=True)[1] / 6_000
        assert shares.tolist() == pytest.approx([1 / 6] * 6, abs=0.02)


@settings(max_examples=20, deadline=None)
@given(configs, st.integers(0, 2**31))
def test_relations_follow_the_hops(config, seed):
    task, batch = sample(config, seed=seed)
    relations = task.paths(batch)
    assert tuple(relations) == task.path_names
    n = config.n_symbols
    for sequence in range(len(batch.inputs)):
        permutations = given_in(task, batch, sequence)
        for place in range(task.n_read):
            steps = walk(task, permutations, *divmod(place, n), task.n_permutations)
            for j, (read, _, onward) in enumerate(steps, start=1):
                holds = relations[f"y_{j}"]
                assert holds.queries[sequence, place] == place
                assert holds.keys[sequence, place].tolist() == [read]
                if j < task.n_permutations:
                    assert relations[f"after {j}"].keys[sequence, place].tolist() == [onward]


def test_the_worked_example_of_the_docstring():
    task = Composition(CompositionConfig(hops=(1, 2), n_symbols=3, hidden=None))
    reached = task.reached(torch.tensor([[[1, 2, 0], [0, 2, 1]]]))
    assert reached[:, 0, 0, 0].tolist() == [0, 1, 2]
    # From the last permutation on to the first: σ_2(b) = c, σ_1(c) = a.
    assert reached[:, 0, 1, 1].tolist() == [1, 2, 0]


def test_hidden_permutations_are_those_of_their_seed():
    drawn = [Composition(CompositionConfig(hops=(4,), hidden=seed)).hidden for seed in (0, 0, 1)]
    assert torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2])
    assert torch.equal(drawn[0], Composition(CompositionConfig(hops=(1, 2, 4))).hidden)


def test_hidden_permutations_are_uniform():
    seeds = range(600)
    drawn = [Composition(CompositionConfig(hops=(2,), n_symbols=3, hidden=s)).hidden for s in seeds]
    for row in torch.stack(drawn).unbind(1):
        shares = row.unique(dim=0, return_counts=True)[1] / len(seeds)
        assert shares.tolist() == pytest.approx([1 / 6] * 6, abs=0.06)


def test_it_is_one_of_the_tasks():
    config = CompositionConfig()
    task = make_task(config)
    assert (task_kind(config), task_size(config)) == ("composition", "k=1,2,4")
    assert task.reference_losses() == {"any symbol": math.log(5)}
    assert (task.vocabulary, task.d_target, task.n_depths) == (5, 15, 1)


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"hops": ()}, "task.hops = () is not allowed: it must be whole numbers"),
        ({"hops": (2, 1)}, "task.hops"),
        ({"n_symbols": 1}, "task.n_symbols = 1 is not allowed: it must be a whole number from 2"),
        ({"n_symbols": 257}, "task.n_symbols"),
        ({"hidden": -1}, "task.hidden = -1 is not allowed: it must be a whole number of at least"),
    ],
)
def test_bad_input_is_one_clear_line(fields, complaint):
    with pytest.raises(HeadwayError) as raised:
        CompositionConfig(**fields)
    assert complaint in str(raised.value)
    assert "\n" not in str(raised.value)
