"""Circuits of models that read tokens, along relations of which sequences have more or
fewer.
"""

import pytest
import torch
from torch.testing import assert_close

from headway.models import Transformer, TransformerConfig, attention_patterns
from headway.replace.ablation import Bench
from headway.replace.mechanism import KnockOut
from headway.replace.patterns import attention_along
from headway.tasks import Hops
from headway_experiments.tasks import Composition
from known_circuits import along
from sampling import read, sample

NAMES = ("previous token", "find^1", "find^2")


def bench_of(task, **shape):
    """A model that learnt nothing, on sequences of a task."""
    config = TransformerConfig(2, 16, 2, d_mlp=8, init="fan_in", **shape)
    sizes = (1, task.d_target, task.length, task.n_read, 0, task.vocabulary)
    model = Transformer(config, *sizes).eval()
    return Bench(model.requires_grad_(False), task, sample(task, 12))


@pytest.fixture(scope="module")
def bench():
    return bench_of(Hops(asked=(1, 2), n_places=10))


def by_hand(bench, name) -> list[dict[int, list[int]]]:
    """For every sequence the keys of each query."""
    relation = bench.patterns.relation(name)
    return [read(relation, sequence) for sequence in range(bench.sequences)]


def test_attention_along_rows_that_there_are(bench):
    patterns = attention_patterns(bench.model, bench.batch.inputs)
    for name in NAMES:
        rows = []
        for pattern, relation in zip(patterns, by_hand(bench, name), strict=True):
            for query, keys in relation.items():
                if keys:
                    rows.append(pattern[:, :, query, keys].sum(-1))
        expected = torch.stack(rows).mean(0)
        attention = attention_along(patterns, bench.patterns.relation(name))
        assert_close(attention, expected, atol=1e-6, rtol=1e-5)


def test_paths_leave_where_the_relation_is(bench):
    mechanism = along(*NAMES)
    pattern = bench.patterns.dense(mechanism, (0, 0))
    by_sequence = zip(*(by_hand(bench, name) for name in NAMES), strict=True)
    for rows, relations in zip(pattern, by_sequence, strict=True):
        expected = torch.zeros_like(rows)
        for relation in relations:
            for query, keys in relation.items():
                paths = sum(query in other for other in relations)
                for key in keys:
                    expected[query, key] += 1 / len(keys) / paths
        assert_close(rows, expected)


def test_a_knock_out_spares_what_is_not_related(bench):
    own = torch.ones(bench.sequences, 11, 11)
    cut = bench.patterns.edit((0, 0), KnockOut(frozenset({"find^2"})), own)
    for pattern, relation in zip(cut, by_hand(bench, "find^2"), strict=True):
        expected = torch.ones_like(pattern)
        for query, keys in relation.items():
            expected[query, keys] = 0
        assert torch.equal(pattern, expected)


def test_hops_with_logits_of_their_own_are_judged_by_these():
    task = Composition(asked=(1, 2), n_symbols=3)
    bench = bench_of(task, causal=False)
    model = bench.model
    batch = bench.batch
    losses = task.targets.partial_losses
    intact, replaced = bench.errors([{}, {(0, 0): along("y_1")}]).mean(1)
    expected = losses(model(batch.inputs), batch.targets)
    assert_close(intact, expected, atol=1e-5, rtol=1e-5)
    y_1 = bench.patterns.relation("y_1")
    pattern = torch.zeros(12, 6, 6).scatter(2, y_1.keys, 1.0)

    def tap(layer, own):
        return torch.stack([pattern, own[:, 1]], dim=1) if layer == 0 else own

    expected = losses(model(batch.inputs, tap=tap), batch.targets)
    assert_close(replaced, expected, atol=1e-5, rtol=1e-5)
