"""Ablated patterns are exactly what mechanisms say, and attention along relations is counted."""

import pytest
import torch

from headway.circuits import Bench, Identity, Paths, Uniform, attention_along
from headway.errors import HeadwayError
from headway.models import Transformer, TransformerConfig, attention_patterns
from headway.tasks import Conditional, Retrieval, RetrievalConfig
from headway.training import generator_for


@pytest.fixture(params=[True, False], ids=["causal", "unmasked"])
def bench(request) -> Bench:
    task = Retrieval(RetrievalConfig(depth=2, n_chains=3))
    config = TransformerConfig(n_layers=3, d_model=16, n_heads=2, causal=request.param)
    model = Transformer(config, task.d_input, task.d_target, task.length, task.n_chains)
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.3 * torch.randn_like(weight))
    return Bench(model.eval(), task, task.sample(5, generator_for("cpu", 1)))


def test_uniform_is_the_mean_over_what_a_position_sees(bench):
    pattern = bench.pattern(Uniform())
    n = bench.task.length
    for query in range(n):
        seen = query + 1 if bench.model.config.causal else n
        expected = torch.zeros(n)
        expected[:seen] = 1 / seen
        assert torch.allclose(pattern[0, query], expected)


def test_identity_is_oneself(bench):
    assert torch.equal(bench.pattern(Identity())[2], torch.eye(bench.task.length))


def test_paths_are_one_hot_where_they_apply_and_zero_elsewhere(bench):
    roles = bench.batch.roles
    pattern = bench.pattern(Paths(frozenset({"s2→s1", "s0→s4"})))
    expected = torch.zeros_like(pattern)
    for b in range(len(roles)):
        for chain in range(3):
            expected[b, roles[b, 2, chain], roles[b, 1, chain]] = 1
            expected[b, roles[b, 0, chain], roles[b, 4, chain]] = 1
    assert torch.equal(pattern, expected)


def test_two_paths_of_one_role_share_its_attention(bench):
    pattern = bench.pattern(Paths(frozenset({"s0→s1", "s0→s2"})))
    rows = pattern[0, bench.batch.roles[0, 0]]
    assert torch.equal(rows.sum(-1), torch.ones(3))
    assert rows.max() == 0.5


def test_the_model_sees_the_replaced_pattern_and_only_it(bench):
    mechanisms = {(0, 1): Paths(frozenset({"s2→s1"})), (2, 0): Uniform()}
    seen = []
    tap = bench.tap(mechanisms)

    def record(layer, pattern):
        seen.append((pattern, tap(layer, pattern)))
        return seen[-1][1]

    bench.model(bench.batch.inputs, record)
    for layer, (before, after) in enumerate(seen):
        for head in range(2):
            mechanism = mechanisms.get((layer, head))
            expected = before[:, head] if mechanism is None else bench.pattern(mechanism)
            assert torch.equal(after[:, head], expected)


def test_no_mechanism_changes_nothing(bench):
    predicted = bench.model(bench.batch.inputs).unflatten(-1, bench.batch.targets.shape[2:])
    expected = (predicted - bench.batch.targets).square().mean((0, 1, 3))
    assert torch.allclose(bench.losses(), expected, rtol=1e-4)
    assert bench.forwards == 1


def test_attention_along_a_relation_by_hand(bench):
    patterns = attention_patterns(bench.model, bench.batch.inputs)
    roles = bench.batch.roles
    for name, others in (("s0→s3", False), ("s0→s3 (other chains)", True)):
        relation = bench.task.relations(bench.batch)[name]
        expected = torch.zeros(3, 2)
        for b in range(len(roles)):
            for chain in range(3):
                for key in range(3):
                    if (key != chain) == others:
                        expected += patterns[b, :, :, roles[b, 0, chain], roles[b, 3, key]]
        expected /= roles.shape[0] * 3
        assert torch.allclose(attention_along(patterns, relation), expected, rtol=1e-4)


def test_a_head_the_model_does_not_have_is_refused(bench):
    with pytest.raises(HeadwayError, match=r"\(layer, head\) = \(3, 0\) is not allowed"):
        bench.loss({(3, 0): Uniform()})


def test_a_path_the_task_does_not_have_is_refused(bench):
    with pytest.raises(HeadwayError, match="path = 's0→s9' is not allowed"):
        bench.loss({(0, 0): Paths(frozenset({"s0→s9"}))})


def test_a_model_of_another_task_is_refused(bench):
    task = Conditional()
    with pytest.raises(HeadwayError, match="task = 'conditional' is not allowed"):
        Bench(bench.model, task, task.sample(2, generator_for("cpu", 1)))
