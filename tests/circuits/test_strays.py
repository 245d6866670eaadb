"""What attends strongly and is no path: cutting what the model needs costs, the rest does not."""

import pytest
import torch

from headway.circuits import evidence as room
from headway.circuits.emergence import MATTERS
from headway.circuits.evidence import STRONG, strays
from headway.circuits.patterns import attention_along
from headway.models import attention_patterns
from headway_experiments.arena import compiled


def test_what_is_left_out_of_the_circuit_is_found_and_costs(monkeypatch):
    known = compiled(2)
    task = known.task
    batch = task.sample(8, torch.Generator().manual_seed(0))
    paths = sorted(known.required)
    assert not {one.path for one in strays(known.model, task, batch, paths)} & known.required
    found = {one.path: one for one in strays(known.model, task, batch, paths[:-1])}
    assert found[paths[-1]].rise > MATTERS
    patterns, relations = attention_patterns(known.model, batch.inputs), task.relations(batch)
    for path, one in found.items():
        along = attention_along(patterns, relations[path.relation])[path.at]
        assert one.attention == pytest.approx(along.item(), abs=1e-6)
        assert one.attention >= STRONG
    strongest = sorted(found.values(), key=lambda one: -one.attention)[:2]
    monkeypatch.setattr(room, "MOST_STRAYS", 2)
    few = strays(known.model, task, batch, paths[:-1])
    assert [one.attention for one in few] == [one.attention for one in strongest]
