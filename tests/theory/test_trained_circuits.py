"""What docs/theory.md says of ten trained circuits, from the circuits that the project keeps."""

import json
import pathlib

import pytest

from headway.circuits import Circuit
from headway.relations.paths import AttentionPath
from headway.theory import fewest_paths, retrieval_flow

RESULTS = pathlib.Path(__file__).parents[2] / "results"


def circuits(file):
    for result in json.loads((RESULTS / file).read_text())["results"]:
        yield Circuit.from_json(result["circuit"]).paths


@pytest.mark.parametrize(
    ("file", "broken", "paths", "jumping"),
    [
        ("fast_recipe_mixture.json", [], (7, 12), 3),
        ("fast_recipe_full_depth.json", [(AttentionPath.of(2, 0, "s0←s6"),)], (7, 14), 10),
    ],
)
def test_they_respect_the_flow_but_for_one_path(file, broken, paths, jumping):
    flow, found = retrieval_flow(3), list(circuits(file))
    along = [flow.along(own, causal=True) for own in found]
    assert len(found) == 10
    assert all(flow.goal in one.stages[-1]["s0"] for one in along)
    assert [one.broken for one in along if one.broken] == broken
    assert (min(map(len, found)), max(map(len, found))) == paths
    assert fewest_paths(3) == 6
    # docs/experiments/recipes.md: in how many the query looks two facts ahead, or further
    far = {"s0←s4", "s0←s5", "s0←s6"}
    assert sum(any(path.relation in far for path in own) for own in found) == jumping
