from dataclasses import asdict

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.tasks import Retrieval
from headway_experiments.arena import Labelled

tasks = st.builds(
    Retrieval,
    depth=st.integers(1, 4),
    n_chains=st.integers(1, 4),
    d_token=st.sampled_from([2, 4]),
    order=st.sampled_from(["deep-first", "shallow-first"]),
)


@given(task=tasks, seed=st.integers(0, 2**31))
@settings(max_examples=25, deadline=None)
def test_it_is_the_retrieval_problem_with_labels(task, seed):
    plain, labelled = task, Labelled(**asdict(task))
    draws = plain.draw(3, torch.Generator().manual_seed(seed))
    before, after = plain.assemble(draws), labelled.assemble(draws)
    k, n = task.d_token, task.n_chains
    assert torch.equal(after.targets, before.targets)
    assert torch.equal(after.roles, before.roles)
    assert torch.equal(after.inputs[..., :k], before.inputs[..., :k])
    assert after.inputs.shape == (3, plain.length, labelled.d_input)
    assert labelled.d_input == k + n + 2 * task.depth + 1
    labels = torch.zeros(3, plain.length, n + 2 * task.depth + 1)
    for sequence, roles in zip(labels, before.roles.tolist(), strict=True):
        for role, positions in enumerate(roles):
            for chain, position in enumerate(positions):
                sequence[position, chain] += 1
                sequence[position, n + role] += 1
    assert torch.equal(after.inputs[..., k:], labels)
