import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from causal import causal_softmax
from headway.tasks import Retrieval
from headway_experiments.arena.assembly import BALANCE, CONSTANT, ONE, Assembly, Match
from sampling import seeded

TASK = Retrieval(depth=1, n_chains=2, d_token=2)
seeds = st.integers(0, 2**31)
quick = settings(max_examples=25)


def random_inputs(seed=0, scale=1.0):
    return scale * torch.randn(3, TASK.length, TASK.d_input, generator=seeded(seed))


def blank(**starts):
    return Assembly({"a": 2, "b": 2, "c": 2}, {"a": 0, "b": 2}, starts)


@given(seed=seeds)
@quick
def test_a_head_attends_by_its_matches_and_moves_a_register(seed):
    assembly = blank(c=-1.5)
    weight = torch.tensor([[1.0, 2.0], [-0.5, 0.3]])
    sums = torch.full((1, 2), 3.0)
    matches = [Match("a", "b", weight), Match("b", "a", 0.7)]
    matches += [Match(ONE, "c", sums), Match("c", "a", -0.4)]
    assembly.heads[1, 1] = matches, [("b", "c"), ("a", "c")]
    inputs = random_inputs(seed)
    a, b = inputs.split(2, dim=-1)
    c = torch.full_like(a, -1.5)
    scores = a @ weight @ b.mT
    scores += 0.7 * b @ a.mT
    scores += 3.0 * c.sum(-1)[:, None]
    scores -= 0.4 * c @ a.mT
    expected = c + causal_softmax(scores) @ (a + b)
    predicted = assembly.build(TASK, ["c"], n_layers=2, n_heads=2)(inputs)
    assert_close(predicted, expected[:, -2:], atol=1e-3, rtol=1e-3)


@given(seed=seeds)
@quick
def test_units_read_and_write_registers(seed):
    assembly = blank()
    generator = seeded(seed)
    reads_a, reads_b = torch.randn(2, 5, 2, generator=generator)
    bias = torch.randn(5, generator=generator)
    writes = torch.randn(2, 5, generator=generator)
    for part in (slice(2), slice(2, 5)):
        reads = {"a": reads_a[part], "b": reads_b[part]}
        assembly.units(0, reads, bias[part], {"c": writes[:, part]})
    inputs = random_inputs(seed)
    a, b = inputs.split(2, dim=-1)
    hidden = a @ reads_a.T + b @ reads_b.T + bias
    expected = hidden.relu() @ writes.T
    predicted = assembly.build(TASK, ["c"], n_layers=1)(inputs)
    assert_close(predicted, expected[:, -2:], atol=1e-3, rtol=1e-3)


def test_the_mean_of_the_stream_stays_zero():
    assembly = blank(c=2.0)
    assembly.heads[0, 0] = [Match("a", "a", 1.0)], [("b", "c")]
    reads = {"a": torch.ones(1, 2)}
    assembly.units(0, reads, torch.ones(1), {"b": torch.ones(2, 1)})
    model = assembly.build(TASK, ["c"], n_layers=1)
    layer = model.layers[0]
    embedded = (model.embed.weight, model.embed.bias)
    for written in (*embedded, layer.attn.out.weight, layer.mlp.down.weight):
        assert written.abs().sum() > 0
        assert written.sum(0).abs().max() == 0


def test_the_error_of_the_norm_is_the_one_stated():
    inputs = random_inputs(scale=300.0)
    predicted = blank().build(TASK, ["a"], n_layers=1)(inputs)
    registers = inputs[:, -2:]
    expected = registers[..., :2]
    squares = registers.square().sum(-1)
    squared_sum = registers.sum(-1).square()
    stated = (squares + squared_sum) / (4 * CONSTANT**2)
    error = (1 - predicted / expected).mean(-1)
    assert stated.max() > 1e-3
    assert_close(error, stated, atol=2e-5, rtol=2e-2)


def test_what_is_not_mentioned_does_nothing():
    inputs = random_inputs()
    small = blank().build(TASK, ["b"], n_layers=1)
    large = blank().build(TASK, ["b"], n_layers=4, n_heads=3)
    assert large.config.attn_only
    assert_close(small(inputs), large(inputs))
    for name, weight in large.named_parameters():
        if "attn" in name:
            assert weight.abs().max() == 0, name
    assert large.embed.weight[:BALANCE].abs().max() == 0


def test_only_known_registers_can_be_written():
    assembly = blank()
    assembly.heads[0, 0] = [], [("a", "unheard_of")]
    with pytest.raises(ValueError, match="unheard_of"):
        assembly.build(TASK, ["a"], n_layers=1)
