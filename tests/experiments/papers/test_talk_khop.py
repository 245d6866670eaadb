"""Measures of k-hop runs."""

import pytest
import torch

from headway.models import attention_patterns
from headway.recipes import changed
from headway.tasks import NO_KEY
from headway.theory import closed_form, hop_flow, retrieval_flow
from headway.training import train
from headway.training.data import held_out
from headway_experiments.talk import khop

SHORT = {"training.steps": 2, "training.cooldown_steps": 1, "training.warmup_steps": 0}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("khop")
    configs = khop.by_layers("smoke")
    return {
        name: train(changed(c, SHORT), folder / name) for name, c in configs.items()
    }


def test_the_layers_of_k_hops_are_those_of_the_retrieval_problem():
    for k in range(1, 17):
        assert closed_form(k) == hop_flow(k, gap=2).minimum_layers(True)
        assert closed_form(k) == retrieval_flow(k).minimum_layers(True)


def test_accuracies_are_over_places_with_an_answer(runs):
    run = runs["layers=3,seed=0"]
    batch = held_out(run.task, 512, run.config.seed, run.device, "accuracy")
    said = run.model()(batch.inputs).argmax(-1)
    counts = {1: [0, 0], 2: [0, 0]}
    for row, (first, *_) in enumerate(batch.inputs.tolist()):
        k = first - run.config.task.n_symbols + 1
        targets = batch.targets[row, :, k - 1]
        there = targets != run.task.none
        counts[k][0] += int((said[row] == targets)[there].sum())
        counts[k][1] += int(there.sum())
    expected = {k: right / all_ for k, (right, all_) in counts.items()}
    assert khop.hop_accuracies(run) == pytest.approx(expected)


def test_accuracies_are_sorted_by_what_so_many_layers_can_do(runs):
    found = khop.measured(runs)
    assert set(found["khop_enough"]) == {"k=1,layers=3,seed=0", "k=2,layers=3,seed=0"}
    assert set(found["khop_too_few"]) == {"k=1,layers=1,seed=0", "k=2,layers=1,seed=0"}
    assert found["khop_accuracy"] == found["khop_enough"] | found["khop_too_few"]
    # Two steps teach nothing: what few layers cannot do is as expected, what many could
    # is not.
    for name, expected in found["khop_as_expected"].items():
        assert expected == ("layers=1" in name)
    assert found["khop_attention"] == {}


def test_attention_along_find_is_that_of_the_heads(runs):
    run = runs["layers=3,seed=0"]
    batch = held_out(run.task, 128, run.config.seed, run.device, "attention")
    twice = batch.inputs[:, 0] == run.config.task.n_symbols + 1
    patterns = attention_patterns(run.model(), batch.inputs[twice])
    along = []
    for j in (1, 2):
        relation = run.task.relations(batch)[f"find^{j}"]
        queries = relation.queries[twice]
        keys = relation.keys[twice][..., 0]
        sequence, row = (keys != NO_KEY).nonzero(as_tuple=True)
        of_query = patterns[sequence, :, :, queries[sequence, row]]
        rows = [of_query[i, :, :, key] for i, key in enumerate(keys[sequence, row])]
        along.append(torch.stack(rows).mean(0))
    found = khop.find_attention(run, 2)
    for j, expected in enumerate(along, start=1):
        assert torch.allclose(torch.tensor(found[j]), expected, atol=1e-5)
    by_layer = torch.stack(along).amax((0, 2))
    assert khop.weakest_layer(run, 2) == pytest.approx(
        by_layer[1:].min().item(), abs=1e-5
    )
