"""Ablated patterns are exactly what mechanisms say; shared computing changes no
loss.
"""

import math
import subprocess
import sys
from dataclasses import dataclass
from itertools import product
from unittest.mock import patch

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

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
from known_circuits import along
from sampling import sample, seeded


def pattern_of(bench, head, mechanism, own, intact):
    """The pattern [batch, query, key] of a mechanism, written slowly, row by row.

    `own` is what the head attends to here, `intact` what all heads of the intact model
    attend to.
    """
    pattern = torch.zeros_like(own)
    for sequence, query in product(range(len(own)), range(own.shape[1])):
        of_head = intact[:, *head, query]
        row = Row(bench, sequence, query, own[sequence, query], of_head)
        pattern[sequence, query] = row.of(mechanism)
    return pattern


@dataclass
class Row:
    """What one query attends to.

    Attributes:
        own: what it attends to here.
        intact: what it attends to in the intact model, in every sequence.
    """

    bench: Bench
    sequence: int
    query: int
    own: torch.Tensor
    intact: torch.Tensor

    def of(self, mechanism):
        """The row of a mechanism."""
        if isinstance(mechanism, Uniform):
            return self.uniform()
        row = torch.zeros_like(self.own)
        if isinstance(mechanism, Identity):
            row[self.query] = 1
            return row
        several = [keys for name in mechanism.relations for keys in self.keys(name)]
        if isinstance(mechanism, KnockOut):
            row = self.own.clone()
            for keys in several:
                row[keys] = 0
            return row
        if not several:
            fill = self.bench.patterns.rows if mechanism.relations else "zero"
            return self.filled(fill)
        for keys in several:
            row[keys] += 1 / len(keys)
        return row / len(several)

    def keys(self, name):
        """The keys of this query along a relation, for every time it is there."""
        relation = self.bench.patterns.relations[name]
        is_here = relation.queries[self.sequence] == self.query
        return relation.keys[self.sequence][is_here]

    def uniform(self):
        row = torch.zeros_like(self.own)
        seen = self.query + 1 if self.bench.model.config.causal else len(row)
        row[:seen] = 1 / seen
        return row

    def filled(self, fill):
        """A row without a path."""
        fills = {"own": self.own, "zero": torch.zeros_like(self.own)}
        fills["uniform"] = self.uniform()
        fills["mean"] = self.intact.mean(0)
        fills["resample"] = self.intact[self.sequence - 1]
        return fills[fill]


@pytest.fixture(params=[True, False], ids=["causal", "unmasked"])
def bench(request) -> Bench:
    task = Retrieval(depth=2, n_chains=3)
    config = TransformerConfig(n_layers=3, d_model=16, n_heads=2, causal=request.param)
    model = Transformer(config, task.d_input, task.d_target, task.length, task.n_chains)
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.3 * torch.randn_like(weight))
    return Bench(model.eval(), task, task.sample(5, generator_for("cpu", 1)))


ROWS = sorted(ABLATIONS.keys() - {"corrupted", "exchanged"})


@st.composite
def benches(draw):
    """What `made` is given."""
    shape = {"order": draw(st.sampled_from(["deep-first", "shallow-first"]))}
    shape["depth"] = draw(st.integers(0, 3))
    shape["n_chains"] = draw(st.integers(1, 3))
    shape["n_layers"] = draw(st.integers(1, 4))
    shape["n_heads"] = draw(st.sampled_from([1, 2]))
    shape["d_head"] = draw(st.sampled_from([None, 5]))
    shape["d_mlp"] = draw(st.sampled_from([0, 24]))
    shape["causal"] = draw(st.booleans())
    shape["rows"] = draw(st.sampled_from(ROWS))
    shape["seed"] = draw(st.integers(0, 10**6))
    return shape


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
    generator = seeded(seed)
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.2 * torch.randn(weight.shape, generator=generator))
    return Bench(model.eval(), task, task.sample(5, generator), rows, shared)


def drawn(data, bench):
    """Mechanisms for some heads, several times."""
    names = st.sampled_from(list(bench.patterns.relations))
    relations = st.frozensets(names, min_size=1, max_size=4)
    paths = st.builds(Paths, relations)
    knocked_out = st.builds(KnockOut, relations)
    mechanisms = st.one_of(st.just(Uniform()), st.just(Identity()), paths, knocked_out)
    candidates = st.dictionaries(st.sampled_from(bench.heads), mechanisms)
    return data.draw(st.lists(candidates, min_size=2, max_size=6))


@torch.no_grad()
def errors_alone(bench, candidate, intact):
    """The errors of one candidate, by a whole forward pass."""
    batch = bench.batch

    def replace(layer, pattern):
        replaced = list(pattern.unbind(1))
        for at, mechanism in candidate.items():
            if at[0] == layer:
                own = replaced[at[1]]
                replaced[at[1]] = pattern_of(bench, at, mechanism, own, intact)
        return torch.stack(replaced, 1)

    predicted = bench.model(batch.inputs, replace)
    by_hop = predicted.unflatten(-1, batch.targets.shape[2:])
    squares = (by_hop - batch.targets).square()
    return squares.mean((1, 3))


@given(benches(), st.data())
@settings(max_examples=20)
def test_candidates_computed_together_lose_what_each_loses_alone(shape, data):
    bench = made(**shape)
    several = drawn(data, bench)
    intact = attention_patterns(bench.model, bench.batch.inputs).detach()
    for candidate, errors in zip(several, bench.errors(several), strict=True):
        alone = errors_alone(bench, candidate, intact)
        assert_close(errors, alone, rtol=1e-3, atol=1e-5)


@given(benches(), st.data(), st.sampled_from([1, 40, 300]), st.sampled_from([1, 3]))
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


@given(benches(), st.data(), st.sampled_from([0.5, 0.99, 1.01, 2.0]))
@settings(max_examples=15)
def test_a_limit_only_saves_work(shape, data, times):
    bench = made(**shape)
    several = drawn(data, bench)
    whole = bench.errors(several).mean((1, 2)).tolist()
    limit = times * data.draw(st.sampled_from(whole))
    for loss, limited in zip(whole, bench.losses(several, limit), strict=True):
        expected = loss if loss < limit else math.inf
        assert limited == pytest.approx(expected, rel=1e-4)
    assert bench.losses(several) == pytest.approx(whole, rel=1e-4)
    for candidate in several:
        just_above = ablation.above(bench.loss(candidate))
        (loss,) = made(**shape).losses([candidate], just_above)
        assert loss < math.inf


def test_what_candidates_share_is_computed_once(bench):
    bench.loss()
    once = bench.forwards
    assert once <= 1
    bench.loss({(2, 0): Uniform()})
    assert bench.forwards - once <= 1 / 3 + 1e-6
    spent = bench.forwards
    intact, replaced = bench.losses([{}, {(2, 0): Uniform()}])
    assert intact == bench.loss()
    assert replaced == bench.loss({(2, 0): Uniform()})
    assert bench.forwards == spent


def test_a_group_with_a_member_that_is_known_to_be_too_bad_costs_nothing(bench):
    bad = {(0, 0): Uniform()}
    other = {(0, 1): Uniform()}
    limit = bench.loss(bad)
    spent = bench.forwards
    assert bench.worst([(bad, other)], limit) == [math.inf]
    assert bench.forwards == spent
    (worst,) = bench.worst([(other, bad)], 10 * limit)
    assert worst == max(bench.loss(other), limit)
    assert bench.forwards > spent


@pytest.mark.parametrize(
    ("mechanisms", "complaint"),
    [
        ({(3, 0): Uniform()}, r"\(layer, head\) = \(3, 0\) is not allowed"),
        ({(0, 0): along("s0←s9")}, "path = 's0←s9' is not allowed"),
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
    hidden = {(0, 0): along("s1←s0")}
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
        self.read = torch.nn.Linear(8, 8)
        self.write = torch.nn.Linear(8, 4)
        self.inner = torch.nn.MultiheadAttention(
            8, 2, add_zero_attn=True, batch_first=True
        )

    def forward(self, inputs):
        x = self.read(inputs)
        n = x.shape[1]
        future = torch.ones(n, n, dtype=torch.bool).triu(1)
        attended, _ = self.inner(x, x, x, attn_mask=future)
        return self.write(attended)


@pytest.mark.parametrize("rows", ROWS)
def test_a_key_that_is_no_position_is_on_no_path(rows):
    task = Retrieval(depth=1)
    model = Sunk().eval()
    found = discover(
        model, task, threshold=10.0, sequences=8, ablation=rows, trials=False
    )
    assert found.replaced_loss < 10
    patterns = Patterns(tapped(model), sample(task, 2), {})
    assert patterns.causal


def test_an_unknown_fill_of_rows_is_refused_by_name(bench):
    with refusing(
        "mechanism = 'novel' is not allowed", "uniform, own, mean", "resample"
    ):
        bench.loss({(0, 0): along("s0←s0", rows="novel")})


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
    rounded = torch.tensor(loss).float().item()
    limit = ablation.above(loss)
    size = max(loss, 1)
    assert 2e-7 * size < limit - loss < 1e-4 * size
    assert rounded < limit
