"""k-fold composition against a reference that follows one symbol at a time."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headway_experiments.tasks import Composition
from headway_experiments.tasks.composition import hidden_of
from sampling import sample

tasks = st.builds(
    Composition,
    asked=st.sampled_from([(1,), (2,), (1, 2, 4), (3, 5)]),
    n_symbols=st.integers(2, 6),
    hidden=st.sampled_from([None, 0, 1]),
)


def hidden_permutations(task):
    return hidden_of(task, torch.device("cpu"))


def walk(task, permutations, i, x, hops):
    """The landing of each of so many hops: the place it is read at, the symbol, the
    next place.
    """
    n = task.n_symbols
    most = task.n_permutations
    hidden = hidden_permutations(task)
    steps = []
    for _ in range(hops):
        row = int(hidden[i, x])
        read = n * i + row
        x = permutations[i][row]
        i = (i + 1) % most
        steps.append((read, x, n * i + x))
    return steps


def given_in(task, batch, sequence):
    tokens = batch.inputs[sequence].tolist()
    n = task.n_symbols
    return [tokens[at : at + n] for at in range(0, len(tokens), n)]


@settings(max_examples=30)
@given(tasks, st.integers(0, 2**31))
def test_targets_are_the_definition_s(task, seed):
    batch = sample(task, seed=seed)
    n = task.n_symbols
    for sequence in range(len(batch.inputs)):
        permutations = given_in(task, batch, sequence)
        for place in range(task.n_read):
            steps = walk(task, permutations, *divmod(place, n), max(task.asked))
            expected = [steps[k - 1][1] for k in task.asked]
            assert batch.targets[sequence, place].tolist() == expected


@settings(max_examples=30)
@given(tasks, st.integers(0, 2**31))
def test_sequences_are_of_permutations(task, seed):
    batch = sample(task, seed=seed)
    assert batch.inputs.shape == (6, task.length)
    assert batch.targets.shape == (6, task.n_read, len(task.asked))
    everything = list(range(task.n_symbols))
    for sequence in range(len(batch.inputs)):
        rows = given_in(task, batch, sequence)
        assert len(rows) == max(task.asked)
        for row in rows:
            assert sorted(row) == everything
    hidden = hidden_permutations(task).tolist()
    for row in hidden:
        assert sorted(row) == everything
    assert task.hidden is not None or hidden == [everything] * task.n_permutations


def test_permutations_are_uniform():
    task = Composition(asked=(1, 2), n_symbols=3)
    batch = sample(task, count=6_000)
    rows = batch.inputs.view(-1, task.n_permutations, 3).unbind(1)
    for row in rows:
        shares = row.unique(dim=0, return_counts=True)[1] / 6_000
        assert shares.tolist() == pytest.approx([1 / 6] * 6, abs=0.02)


@settings(max_examples=20)
@given(tasks, st.integers(0, 2**31))
def test_relations_follow_the_hops(task, seed):
    batch = sample(task, seed=seed)
    relations = task.relations(batch)
    assert {edges.use for edges in relations.values()} == {"path"}
    n = task.n_symbols
    for sequence in range(len(batch.inputs)):
        permutations = given_in(task, batch, sequence)
        for place in range(task.n_read):
            steps = walk(task, permutations, *divmod(place, n), task.n_permutations)
            for j, (read, _, onward) in enumerate(steps, start=1):
                holds = relations[f"y_{j}"]
                assert holds.queries[sequence, place] == place
                assert holds.keys[sequence, place].tolist() == [read]
                if j < task.n_permutations:
                    assert relations[f"after {j}"].keys[sequence, place].tolist() == [
                        onward
                    ]


def test_the_worked_example_of_the_docstring():
    task = Composition(asked=(1, 2), n_symbols=3, hidden=None)
    reached = task.reached(torch.tensor([[[1, 2, 0], [0, 2, 1]]]))
    assert reached[:, 0, 0, 0].tolist() == [0, 1, 2]
    # From the last permutation on to the first: σ_2(b) = c, σ_1(c) = a.
    assert reached[:, 0, 1, 1].tolist() == [1, 2, 0]


def test_hidden_permutations_are_those_of_their_seed():
    drawn = [
        hidden_permutations(Composition(asked=(4,), hidden=seed)) for seed in (0, 0, 1)
    ]
    assert torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2])
    assert torch.equal(drawn[0], hidden_permutations(Composition(asked=(1, 2, 4))))


def test_it_is_one_of_the_tasks():
    task = Composition()
    assert task.kind == "composition"
    assert task.label == "k=1,2,4"
    assert task.references() == {"any symbol": pytest.approx(math.log(5))}
    assert task.looks_ahead
    assert task.vocabulary == 5
    assert task.d_target == 15
    assert task.n_depths == 1
