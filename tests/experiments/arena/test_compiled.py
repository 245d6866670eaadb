from dataclasses import asdict

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from cutting import attention, loss, losses_without
from headway.errors import HeadwayError
from headway.models import Transformer
from headway.tasks import Retrieval
from headway.theory import closed_form
from headway_experiments.arena import Labelled, compiled
from sampling import sample, seeded

CONSTRUCTIONS = ["doubling", "sequential", "passing"]
each = pytest.mark.parametrize("construction", CONSTRUCTIONS)


@each
@pytest.mark.parametrize("depth", range(1, 9))
def test_it_solves_fresh_sequences_in_as_many_layers_as_it_says(depth, construction):
    known = compiled(depth, construction)
    assert type(known.model) is Transformer
    assert loss(known, sample(known.task, 48, seed=depth)) < 0.01
    layers = closed_form(depth) if construction == "doubling" else depth + 1
    assert known.model.config.n_layers == layers
    assert known.task.order == "deep-first"


@each
@pytest.mark.parametrize("depth", [1, 2, 3, 5])
def test_its_circuit_is_enough_and_nothing_of_it_can_go(depth, construction):
    known = compiled(depth, construction)
    batch = sample(known.task, 8)
    assert loss(known, batch, known.required) < 0.01
    for path in known.required:
        forced, free = losses_without(known, batch, known.required, path)
        assert free > 0.05, path
        assert (forced > 0.05) == (path[0] > 0), path
        assert attention(known, batch, path) > 0.99, path


def test_circuits_known_by_hand():
    assert compiled(1).required == {(0, 0, "s2←s1"), (1, 0, "s0←s2")}
    joins = {(0, 0, "s2←s1"), (0, 0, "s4←s3"), (0, 0, "s6←s5")}
    doubled = {(1, 0, "s0←s2"), (1, 0, "s4←s6"), (2, 0, "s0←s4")}
    assert compiled(3).required == joins | doubled
    in_turn = {(1, 0, "s0←s2"), (2, 0, "s0←s4"), (3, 0, "s0←s6")}
    assert compiled(3, "sequential").required == joins | in_turn
    passed = {(1, 0, "s0←s2"), (1, 0, "s2←s4"), (1, 0, "s4←s6"), (2, 0, "s0←s2")}
    passed_on = {(2, 0, "s2←s4"), (3, 0, "s0←s2")}
    assert compiled(3, "passing").required == joins | passed | passed_on
    assert not compiled(3).decoys
    assert not compiled(3).alternatives


@each
@pytest.mark.parametrize(
    ("n_chains", "d_token"), [(1, 4), (2, 4), (7, 4), (3, 6), (3, 8)]
)
def test_it_takes_other_shapes(n_chains, d_token, construction):
    known = compiled(3, construction, n_chains, d_token)
    assert known.task.n_chains == n_chains
    assert known.task.d_token == d_token
    assert loss(known, sample(known.task, 48)) < 0.01


def test_symbols_of_any_length_are_told_apart():
    """A dot product alone would send every query to the longest symbol in its
    direction.
    """
    known = compiled(2)
    symbols, slots = known.task.draw(64, seeded(0))
    lengths = torch.linspace(0.3, 2.0, symbols.shape[1] * 3).view(1, -1, 3, 1)
    close_to_the_first = symbols[:, :1, :1] + 0.3 * symbols
    directions = torch.nn.functional.normalize(close_to_the_first, dim=-1)
    batch = known.task.assemble((directions * lengths, slots))
    assert loss(known, batch) < 0.01


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"depth": 0}, "task.depth = 0"),
        ({"depth": 2, "construction": "tripling"}, "construction = 'tripling'"),
        ({"depth": 2, "n_chains": 0}, "task.n_chains = 0"),
        ({"depth": 2, "d_token": 3}, "task.d_token = 3"),
    ],
)
def test_bad_arguments_are_refused_by_name(arguments, named):
    with pytest.raises(HeadwayError, match=named):
        compiled(**arguments)


tasks = st.builds(
    Retrieval,
    depth=st.integers(1, 4),
    n_chains=st.integers(1, 4),
    d_token=st.sampled_from([2, 4]),
    order=st.sampled_from(["deep-first", "shallow-first"]),
)


@given(task=tasks, seed=st.integers(0, 2**31))
@settings(max_examples=25)
def test_it_is_the_retrieval_problem_with_labels(task, seed):
    plain = task
    labelled = Labelled(**asdict(task))
    draws = plain.draw(3, seeded(seed))
    before = plain.assemble(draws)
    after = labelled.assemble(draws)
    k = task.d_token
    n = task.n_chains
    assert torch.equal(after.targets, before.targets)
    assert torch.equal(after.roles, before.roles)
    own, own_labelled = before.inputs[..., :k], after.inputs[..., :k]
    assert torch.equal(own_labelled, own)
    assert after.inputs.shape == (3, plain.length, labelled.d_input)
    assert labelled.d_input == k + n + 2 * task.depth + 1
    labels = torch.zeros(3, plain.length, n + 2 * task.depth + 1)
    for sequence, roles in zip(labels, before.roles.tolist(), strict=True):
        for role, positions in enumerate(roles):
            for chain, position in enumerate(positions):
                sequence[position, chain] += 1
                sequence[position, n + role] += 1
    assert torch.equal(after.inputs[..., k:], labels)
