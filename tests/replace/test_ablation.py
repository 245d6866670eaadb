"""Ablated patterns are exactly what mechanisms say; shared computing changes no
loss.
"""

import math
import subprocess
import sys
from unittest.mock import patch

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from commands import refusing
from headway.errors import HeadwayError
from headway.find import discover
from headway.models import Transformer, TransformerConfig, attention_patterns, tapped
from headway.replace import (
    ABLATIONS,
    Bench,
    Identity,
    KnockOut,
    Paths,
    Uniform,
    ablation,
    streams,
)
from headway.replace.patterns import Patterns
from headway.tasks import Conditional, Retrieval
from headway.training import generator_for


def pattern_of(bench, head, mechanism, own, intact):
    """The pattern [batch, query, key] of a mechanism, written slowly, entry by entry.

    `own` is what the head attends to here, `intact` what all heads of the intact model
    attend to.
    """
    n, causal = own.shape[-1], bench.model.config.causal
    pattern = torch.zeros_like(own)
    for b in range(len(own)):
        for i in range(n):
            seen = i + 1 if causal else n
            uniform = torch.zeros(n)
            uniform[:seen] = 1 / seen
            if isinstance(mechanism, Uniform):
                pattern[b, i] = uniform
            elif isinstance(mechanism, Identity):
                pattern[b, i, i] = 1
            else:
                pairs = [
                    (int(key), 1 / len(keys))
                    for name in mechanism.relations
                    for query, keys in zip(
                        bench.patterns.relations[name].queries[b],
                        bench.patterns.relations[name].keys[b],
                        strict=True,
                    )
                    if query == i
                    for key in keys
                ]
                if isinstance(mechanism, KnockOut):
                    pattern[b, i] = own[b, i]
                    for key, _ in pairs:
                        pattern[b, i, key] = 0
                elif pairs:
                    for key, weight in pairs:
                        pattern[b, i, key] += weight
                    pattern[b, i] /= sum(weight for _, weight in pairs)
                else:
                    row = intact[:, *head, i]
                    fills = {
                        "zero": torch.zeros(n),
                        "uniform": uniform,
                        "own": own[b, i],
                        "mean": row.mean(0),
                        "resample": row[b - 1],
                    }
                    pattern[b, i] = fills[
                        bench.patterns.rows if mechanism.relations else "zero"
                    ]
    return pattern


@pytest.fixture(params=[True, False], ids=["causal", "unmasked"])
def bench(request) -> Bench:
    task = Retrieval(depth=2, n_chains=3)
    config = TransformerConfig(n_layers=3, d_model=16, n_heads=2, causal=request.param)
    model = Transformer(config, task.d_input, task.d_target, task.length, task.n_chains)
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.3 * torch.randn_like(weight))
    return Bench(model.eval(), task, task.sample(5, generator_for("cpu", 1)))


BENCHES = st.fixed_dictionaries(
    {
        "order": st.sampled_from(["deep-first", "shallow-first"]),
        "depth": st.integers(0, 3),
        "n_chains": st.integers(1, 3),
        "n_layers": st.integers(1, 4),
        "n_heads": st.sampled_from([1, 2]),
        "d_head": st.sampled_from([None, 5]),
        "d_mlp": st.sampled_from([0, 24]),
        "causal": st.booleans(),
        "rows": st.sampled_from(sorted(ABLATIONS.keys() - {"corrupted"})),
        "seed": st.integers(0, 10**6),
    }
)


def made(order, depth, n_chains, rows, seed, shared=True, **shape) -> Bench:
    """A model with random weights on the retrieval problem, or (depth 0) the
    conditional one.
    """
    if depth:
        task = Retrieval(depth=depth, n_chains=n_chains, order=order)
    else:
        task = Conditional(n_chains=n_chains, order=order)
    config = TransformerConfig(d_model=16, **shape)
    model = Transformer(config, task.d_input, task.d_target, task.length, task.n_chains)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.2 * torch.randn(weight.shape, generator=generator))
    return Bench(model.eval(), task, task.sample(5, generator), rows, shared)


def drawn(data, bench):
    """Mechanisms for some heads, several times."""
    kinds = st.sampled_from(["uniform", "identity", "paths", "knock-out"])
    names = st.frozensets(
        st.sampled_from(list(bench.patterns.relations)), min_size=1, max_size=4
    )
    heads = st.dictionaries(st.sampled_from(bench.heads), st.tuples(kinds, names))
    made = {
        "uniform": lambda names: Uniform(),
        "identity": lambda names: Identity(),
        "paths": Paths,
        "knock-out": KnockOut,
    }
    return [
        {head: made[kind](names) for head, (kind, names) in candidate.items()}
        for candidate in data.draw(st.lists(heads, min_size=2, max_size=6))
    ]


@given(BENCHES, st.data())
@settings(max_examples=20)
def test_candidates_computed_together_lose_what_each_loses_alone(shape, data):
    bench = made(**shape)
    several = drawn(data, bench)
    with torch.no_grad():
        intact = attention_patterns(bench.model, bench.batch.inputs)
    found = bench.errors(several)
    for candidate, errors in zip(several, found, strict=True):

        def replace(layer, pattern, candidate=candidate):
            own = list(pattern.unbind(1))
            for (at, head), mechanism in candidate.items():
                if at == layer:
                    own[head] = pattern_of(
                        bench, (at, head), mechanism, own[head], intact
                    )
            return torch.stack(own, 1)

        with torch.no_grad():
            predicted = bench.model(bench.batch.inputs, replace)
        wrong = (
            predicted.unflatten(-1, bench.batch.targets.shape[2:]) - bench.batch.targets
        )
        assert torch.allclose(errors, wrong.square().mean((1, 3)), rtol=1e-3, atol=1e-5)


@given(BENCHES, st.data(), st.sampled_from([1, 40, 300]), st.sampled_from([1, 3]))
@settings(max_examples=10)
def test_forgetting_what_was_computed_changes_nothing(shape, data, vectors, together):
    bench = made(**shape)
    several = drawn(data, bench)
    expected = bench.losses(several)
    with (
        patch.object(streams, "MOST_VECTORS", vectors),
        patch.object(streams, "AT_ONCE", vectors),
        patch.object(ablation, "TOGETHER", together),
    ):
        other = made(**shape)
        for loss, candidate in zip(expected, several, strict=True):
            assert other.loss(candidate) == pytest.approx(loss, rel=1e-4)
        assert other.losses(several) == pytest.approx(expected, rel=1e-4)


@given(BENCHES, st.data())
@settings(max_examples=15)
def test_a_limit_only_saves_work(shape, data):
    bench = made(**shape)
    several = drawn(data, bench)
    whole = bench.errors(several).mean((1, 2)).tolist()
    limit = data.draw(st.sampled_from(whole)) * data.draw(
        st.sampled_from([0.5, 0.99, 1.01, 2.0])
    )
    for loss, below in zip(whole, bench.losses(several, limit), strict=True):
        assert below == (pytest.approx(loss, rel=1e-4) if loss < limit else math.inf)
    assert bench.losses(several) == pytest.approx(whole, rel=1e-4)
    for one in several:
        assert made(**shape).losses([one], ablation.above(bench.loss(one))) != [
            math.inf
        ]


def test_what_candidates_share_is_computed_once(bench):
    bench.loss()
    once = bench.forwards
    assert once <= 1
    bench.loss({(2, 0): Uniform()})
    assert bench.forwards - once <= 1 / 3 + 1e-6
    spent = bench.forwards
    assert bench.losses([{}, {(2, 0): Uniform()}]) == [
        bench.loss(),
        bench.loss({(2, 0): Uniform()}),
    ]
    assert bench.forwards == spent


def test_a_group_with_a_member_that_is_known_to_be_too_bad_costs_nothing(bench):
    bad, other = {(0, 0): Uniform()}, {(0, 1): Uniform()}
    limit = bench.loss(bad)
    spent = bench.forwards
    assert bench.worst([(bad, other)], limit) == [math.inf]
    assert bench.forwards == spent
    assert bench.worst([(other, bad)], 10 * limit) == [max(bench.loss(other), limit)]
    assert bench.forwards > spent


@pytest.mark.parametrize(
    ("mechanisms", "complaint"),
    [
        ({(3, 0): Uniform()}, r"\(layer, head\) = \(3, 0\) is not allowed"),
        ({(0, 0): Paths(frozenset({"s0←s9"}))}, "path = 's0←s9' is not allowed"),
    ],
)
def test_what_the_model_or_the_task_lacks_is_refused(bench, mechanisms, complaint):
    with pytest.raises(HeadwayError, match=complaint):
        bench.loss(mechanisms)
    with pytest.raises(
        HeadwayError, match=r"ablation = 'none' is not allowed.*zero, uniform"
    ):
        Bench(bench.model, bench.task, bench.batch, "none")


def test_a_path_that_the_mask_hides_is_refused(bench):
    hidden = {(0, 0): Paths(frozenset({"s1←s0"}))}
    if bench.model.config.causal:
        with pytest.raises(HeadwayError, match="path = 's1←s0' is not allowed"):
            bench.loss(hidden)
    else:
        assert bench.loss(hidden) > 0


def test_a_model_of_another_task_is_refused(bench):
    task = Conditional()
    with pytest.raises(HeadwayError, match=r"task( =)? 'conditional'"):
        Bench(bench.model, task, task.sample(2, generator_for("cpu", 1)))


class Sunk(torch.nn.Module):
    """Attention with a key that is no position."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.read, self.write = torch.nn.Linear(8, 8), torch.nn.Linear(8, 4)
        self.inner = torch.nn.MultiheadAttention(
            8, 2, add_zero_attn=True, batch_first=True
        )

    def forward(self, inputs):
        x = self.read(inputs)
        mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
        return self.write(self.inner(x, x, x, attn_mask=mask)[0])


@pytest.mark.parametrize("rows", sorted(ABLATIONS.keys() - {"corrupted"}))
def test_a_key_that_is_no_position_is_on_no_path(rows):
    task, model = Retrieval(depth=1), Sunk().eval()
    found = discover(
        model, task, threshold=10.0, sequences=8, ablation=rows, trials=False
    )
    assert found.replaced_loss < 10
    assert Patterns(tapped(model), task.sample(2, torch.Generator()), {}).causal


def test_an_unknown_fill_of_rows_is_refused_by_name(bench):
    with refusing(
        "mechanism = 'novel' is not allowed", "uniform, own, mean", "resample"
    ):
        bench.loss({(0, 0): Paths(frozenset({"s0←s0"}), "novel")})


UNKNOWN = """
from headway.replace import Bench
from headway.errors import HeadwayError
from headway.training import held_out
from headway_experiments.arena import compiled

known = compiled(1)
bench = Bench(known.model, known.task, held_out(known.task, 2, 0, "cpu"))
for mechanism in ("uniform", object, None):
    try:
        bench.loss({(0, 0): mechanism})
    except HeadwayError as error:
        print(str(error).count("is not allowed"))
"""


def test_an_unknown_mechanism_is_refused_where_assertions_are_off():
    command = [sys.executable, "-O", "-c", UNKNOWN]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1", "1", "1"]


@given(st.floats(0, 100))
def test_a_limit_above_a_loss_is_larger_than_its_rounding(loss):
    single = torch.tensor(loss).float().item()
    assert 2e-7 * max(loss, 1) < ablation.above(loss) - loss < 1e-4 * max(loss, 1)
    assert single < ablation.above(loss)
