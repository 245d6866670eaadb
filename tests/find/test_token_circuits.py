"""Circuits of models that read tokens, along relations of which sequences have more or
fewer.
"""

import pytest
import torch

from headway.models import Transformer, TransformerConfig, attention_patterns
from headway.replace.ablation import Bench
from headway.replace.mechanism import KnockOut, Paths
from headway.replace.patterns import attention_along
from headway.tasks import NO_KEY, Hops
from headway_experiments.tasks import Composition

NAMES = ("previous token", "find^1", "find^2")


@pytest.fixture(scope="module")
def bench():
    task = Hops(asked=(1, 2), n_places=10)
    config = TransformerConfig(2, 16, 2, d_mlp=8, init="fan_in")
    model = Transformer(
        config, 1, task.d_target, task.length, task.n_read, 0, task.vocabulary
    )
    batch = task.sample(12, torch.Generator().manual_seed(0))
    return Bench(model.eval().requires_grad_(False), task, batch)


def by_hand(batch, relation) -> list[list[tuple[int, list[int]]]]:
    """For every sequence its rows, as lists."""
    found = []
    for queries, keys in zip(
        relation.queries.tolist(), relation.keys.tolist(), strict=True
    ):
        rows = zip(queries, keys, strict=True)
        found.append(
            [(q, [k for k in ks if k != NO_KEY]) for q, ks in rows if q != NO_KEY]
        )
    return found


def test_attention_along_rows_that_there_are(bench):
    patterns = attention_patterns(bench.model, bench.batch.inputs)
    for name in NAMES:
        relation = bench.patterns.relation(name)
        rows = [
            patterns[s, :, :, q, ks].sum(-1)
            for s, found in enumerate(by_hand(bench.batch, relation))
            for q, ks in found
            if ks
        ]
        assert torch.allclose(
            attention_along(patterns, relation), torch.stack(rows).mean(0), atol=1e-6
        )


def test_paths_leave_where_the_relation_is(bench):
    mechanism = Paths(frozenset(NAMES))
    pattern = bench.patterns.dense(mechanism, (0, 0))
    relations = [by_hand(bench.batch, bench.patterns.relation(name)) for name in NAMES]
    for s in range(bench.sequences):
        expected = torch.zeros_like(pattern[s])
        for found in relations:
            for q, ks in found[s]:
                paths = sum(q in dict(other[s]) for other in relations)
                for k in ks:
                    expected[q, k] += 1 / len(ks) / paths
        assert torch.allclose(pattern[s], expected)


def test_a_knock_out_spares_what_is_not_related(bench):
    own = torch.ones(bench.sequences, 11, 11)
    cut = bench.patterns.edit((0, 0), KnockOut(frozenset({"find^2"})), own)
    for s, found in enumerate(by_hand(bench.batch, bench.patterns.relation("find^2"))):
        zero = {(q, k) for q, ks in found for k in ks}
        assert {tuple(at) for at in (cut[s] == 0).nonzero().tolist()} == zero


def test_hops_with_logits_of_their_own_are_judged_by_these():
    task = Composition(asked=(1, 2), n_symbols=3)
    config = TransformerConfig(2, 16, 2, d_mlp=8, init="fan_in", causal=False)
    model = Transformer(
        config, 1, task.d_target, task.length, task.n_read, 0, task.vocabulary
    )
    batch = task.sample(12, torch.Generator().manual_seed(0))
    bench = Bench(model.eval().requires_grad_(False), task, batch)
    intact, replaced = bench.errors([{}, {(0, 0): Paths(frozenset({"y_1"}))}]).mean(1)
    assert torch.allclose(
        intact,
        task.targets.partial_losses(model(batch.inputs), batch.targets),
        atol=1e-5,
    )
    y_1 = bench.patterns.relation("y_1")
    pattern = torch.zeros(12, 6, 6).scatter(2, y_1.keys, 1.0)

    def tap(layer, own):
        return torch.stack([pattern, own[:, 1]], dim=1) if layer == 0 else own

    expected = task.targets.partial_losses(model(batch.inputs, tap=tap), batch.targets)
    assert torch.allclose(replaced, expected, atol=1e-5)
