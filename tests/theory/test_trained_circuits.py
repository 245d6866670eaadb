"""What docs/theory.md says of ten trained circuits, from the circuits that the project keeps."""

import json
import re
from pathlib import Path

from headway.theory import fewest_paths, retrieval_flow

RECORDED = Path(__file__).parents[2] / "results" / "fast_recipe.json"


def circuits():
    for result in json.loads(RECORDED.read_text())["results"]:
        heads = re.findall(r"layer (\d+) head (\d+): (.*)", result["circuit"])
        yield [
            (int(layer), int(head), relation)
            for layer, head, said in heads
            for relation in re.findall(r"s\d+→s\d+", said)
        ]


def test_they_respect_the_flow_but_for_one_path():
    flow, found = retrieval_flow(3), list(circuits())
    along = [flow.along(paths, causal=True) for paths in found]
    assert len(found) == 10
    assert all(flow.goal in one.stages[-1]["s0"] for one in along)
    assert [one.broken for one in along if one.broken] == [((2, 0, "s0→s6"),)]
    assert (min(map(len, found)), max(map(len, found))) == (7, 14)
    assert fewest_paths(3) == 6
