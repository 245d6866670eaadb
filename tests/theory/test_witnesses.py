from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.circuits.ablation import Bench
from headway.circuits.mechanism import Circuit
from headway.errors import HeadwayError
from headway.theory import (
    closed_form,
    conditional_flow,
    fewest_paths,
    minimum_layers,
    retrieval_flow,
    witness,
)
from headway_experiments.arena import compiled

orders = st.sampled_from(["deep-first", "shallow-first"])


@given(depth=st.integers(1, 20), causal=st.booleans(), order=orders, codes_first=st.booleans())
@settings(max_examples=40, deadline=None)
def test_a_witness_answers_in_the_fewest_layers_with_the_fewest_paths(
    depth, causal, order, codes_first
):
    flow = retrieval_flow(depth, order, codes_first=codes_first)
    found = witness(flow, causal)
    along = flow.along(found.paths, causal)
    assert flow.goal in along.stages[-1]["s0"]
    assert not along.broken
    assert len(along.stages) == found.layers + 1
    assert len(found.paths) == found.least == fewest_paths(depth)
    assert found.fewest
    if not codes_first:
        assert found.layers == closed_form(depth, causal)
    if causal:
        assert found.layers == found.heads == closed_form(depth)
        rank = flow.roles.index
        assert all(rank(query) > rank(key) for query, key in map(flow.ends, found.paths))
    heads = [(*path.at, path.relation.query) for path in found.paths]
    assert len(set(heads)) == len(heads)


@pytest.mark.parametrize("depth", range(1, 9))
def test_the_witness_runs_as_a_transformer(depth):
    known = compiled(depth)
    found = witness(retrieval_flow(depth, codes_first=True))
    assert known.model.config.n_layers == found.layers == minimum_layers(depth)
    circuit = Circuit.of(found.paths)
    assert circuit.useful_layers == list(range(found.layers))
    batch = known.task.sample(256, torch.Generator().manual_seed(depth))
    intact, replaced = Bench(known.model, known.task, batch).losses([{}, circuit])
    assert intact < 0.001
    assert replaced < 0.001
    with pytest.raises(HeadwayError, match=f"layers = {found.layers - 1} .*at least"):
        witness(retrieval_flow(depth, codes_first=True), layers=found.layers - 1)


def test_a_row_that_must_be_singled_out_needs_both_values():
    found = witness(conditional_flow(singled=True))
    assert {path[2] for path in found.paths} == {
        *("ax.x←ax.a", "ay.y←ay.a", "xy.z←xy.x", "xy.z←xy.y"),
        *("a←ax.x", "a←ay.y", "a←xy.z"),
    }
    assert found.layers == 3
    assert found.fewest
    assert conditional_flow().minimum_layers(causal=False) == 2
    assert conditional_flow(singled=True).minimum_layers(causal=False) == 3


def test_what_cannot_be_reached_is_refused():
    flow = retrieval_flow(2)
    cut = replace(flow, starts=tuple(start - {"x_1"} for start in flow.starts))
    assert cut.minimum_layers(causal=False) is None
    with pytest.raises(HeadwayError, match=r"goal = 'x_2' .*can reach the query"):
        witness(cut)
