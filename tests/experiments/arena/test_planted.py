from itertools import product

import pytest
import torch

from cutting import attention, loss, losses_without
from headway.errors import HeadwayError
from headway.models import Transformer
from headway_experiments.arena import planted
from sampling import sample

SEEDS = range(5)
each = pytest.mark.parametrize("seed", SEEDS)


def circuits(known):
    """All circuits that are enough: the required paths and one option of every
    group.
    """
    return [known.required.union(*options) for options in product(*known.alternatives)]


def useful(known):
    return known.required.union(
        *(option for group in known.alternatives for option in group)
    )


def uniform(known):
    n = known.task.length
    return torch.ones(n, n).tril() / torch.arange(1, n + 1)[:, None]


@each
def test_each_circuit_is_enough_and_nothing_of_it_can_go(seed):
    known = planted(seed)
    batch = sample(known.task, 12, seed)
    assert type(known.model) is Transformer
    assert loss(known, batch) < 1e-4
    for circuit in circuits(known):
        assert loss(known, batch, circuit) < 1e-4
        for path in circuit:
            assert max(losses_without(known, batch, circuit, path)) > 0.05, path
            assert attention(known, batch, path) > 0.99, path


@each
def test_no_head_of_it_can_be_uniform_or_identity(seed):
    known = planted(seed)
    batch = sample(known.task, 12, seed)
    circuit = circuits(known)[-1]
    for head in {path.at for path in circuit}:
        for idle in (uniform(known), torch.eye(known.task.length)):
            forced = loss(known, batch, circuit, 99, {head: idle})
            free = loss(known, batch, circuit, head[0], {head: idle})
            assert max(forced, free) > 0.05, head


@each
def test_decoys_are_attended_along_and_cost_nothing(seed):
    known = planted(seed)
    batch = sample(known.task, 12, seed)
    assert not known.decoys & useful(known)
    for path in known.decoys:
        assert attention(known, batch, path) > 0.99, path
    of_use = {path.at for path in useful(known)}
    idle = {path.at: uniform(known) for path in known.decoys if path.at not in of_use}
    assert loss(known, batch, useful(known), other=idle) < 1e-4
    assert loss(known, batch, useful(known) | known.decoys) < 1e-4


def test_of_two_routes_either_is_enough_and_one_is_needed():
    spared = [known for known in map(planted, range(20)) if known.alternatives]
    assert len(spared) >= 5
    for known in spared:
        batch = sample(known.task, 12)
        everything = useful(known) | known.decoys
        for group in known.alternatives:
            for option in group:
                rest = everything - option
                assert loss(known, batch, rest) < 1e-4
                gone = {path.at for path in option} - {path.at for path in rest}
                blurred = {head: uniform(known) for head in gone}
                assert loss(known, batch, rest, other=blurred) < 1e-4
            assert loss(known, batch, everything - group[0] - group[1]) > 0.05


def test_models_of_every_kind_occur():
    many = [planted(seed) for seed in range(40)]
    assert {known.task.depth for known in many} == {1, 2, 3, 4}
    assert {known.model.config.n_heads for known in many} == {1, 2, 3}
    assert {known.model.config.n_layers for known in many} == {3, 4, 5, 6, 7, 8}
    for known in many:
        assert known.model.config.attn_only == (not known.alternatives)
    assert {known.model.config.attn_only for known in many} == {True, False}
    in_useful_heads = [
        d for k in many for d in k.decoys if d.at in {p.at for p in useful(k)}
    ]
    assert in_useful_heads


def test_the_seed_decides_everything():
    once = planted(3)
    again = planted(3)
    other = planted(4)
    assert once.required == again.required
    assert once.decoys == again.decoys
    weights = again.model.state_dict()
    for name, w in once.model.state_dict().items():
        assert torch.equal(w, weights[name])
    assert once.required != other.required


def test_bad_seeds_are_refused_by_name():
    with pytest.raises(HeadwayError, match="seed = -1"):
        planted(-1)
