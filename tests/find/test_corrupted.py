"""Circuits by way of corrupted sequences."""

import json
from dataclasses import replace

import pytest
import torch

from causal import causal_softmax
from headway import Batch, HeadwayError, Task, discover
from headway.judge import Discovery
from headway.relations.paths import AttentionPath
from headway.replace import Circuit, Corrupted, KnockOut
from headway.replace.ablation import Bench
from headway.replace.patterns import attention_patterns
from headway_experiments.language import Repeats
from known_circuits import along, holds, words_of
from sampling import sample

TASK = Repeats(n_tokens=64, n_places=12, stretch=2, lowest=0)
INDUCTION = "L1.H2 after same token"
PREVIOUS = "L0.H1 previous token"


class Planted(torch.nn.Module):
    """An induction head, which reads what a previous-token head brought, among other
    heads.

    Args:
        brought: how much of what each of two heads of the first layer brings it reads;
            the second attends to the previous token, too, if this is not 0.
    """

    n_layers = 2
    n_heads = 3

    def __init__(self, brought=(1.0, 0.0)):
        super().__init__()
        self.brought = brought

    def forward(self, inputs, tap=None):
        tap = tap or (lambda _, pattern: pattern)
        tokens = torch.nn.functional.one_hot(inputs, 64).float()
        values = tokens[:, None]
        own = torch.eye(inputs.shape[1])
        before = own.roll(1, 0)
        first_share, second_share = self.brought
        other = before if second_share else torch.zeros_like(own)
        scores = torch.stack([own, 2 * before, 2 * other])
        scores = scores.expand(len(inputs), -1, -1, -1)
        lower = tap(0, causal_softmax(5 * scores)) @ values
        heard = first_share * lower[:, 1] + second_share * lower[:, 2]
        alike = tokens @ heard.mT
        blank = torch.zeros_like(alike)
        scores = torch.stack([blank, own.expand_as(alike), 2 * alike], 1)
        upper = tap(1, causal_softmax(5 * scores)) @ values
        beside = lower[:, 0] + upper[:, 1]
        return 9 * upper[:, 2] + 0.1 * beside


@pytest.fixture(scope="module")
def found():
    return discover(Planted(), TASK, sequences=16)


def test_an_induction_head_and_the_one_that_brings_its_key_are_named(found):
    assert words_of(found.circuit) == [PREVIOUS, INDUCTION]
    assert found.ablation == "corrupted"
    assert found.faithful
    (idle,) = found.circuit.idle_heads.items()
    assert idle == ("corrupted", [(0, 0), (0, 2), (1, 0), (1, 1)])
    assert {trial.jaccard for trial in found.evidence.trials} == {1.0}


@pytest.mark.parametrize(
    ("brought", "is_named"), [((1.0, 0.02), False), ((0.4, 0.4), True)]
)
def test_a_head_below_is_named_only_if_much_of_the_attention_above_is_lost_without_it(
    brought, is_named
):
    found = discover(Planted(brought), TASK, sequences=16, trials=False)
    also = ["L0.H2 previous token"] * is_named
    assert words_of(found.circuit) == [PREVIOUS, *also, INDUCTION]


def test_what_is_measured_is_what_it_is_called(found):
    batch = sample(TASK, 1)
    uncorrupted = replace(batch, corrupted=batch.inputs)
    bench = Bench(Planted(), TASK, uncorrupted, "corrupted")
    every = dict.fromkeys(bench.heads, Corrupted())
    assert bench.loss(every) == pytest.approx(bench.loss(), abs=1e-6)
    lines = {str(one.path): one for one in found.evidence.necessity}
    own = found.intact_loss
    without = found.evidence.likeness.ablated.loss
    assert lines[INDUCTION].loss == pytest.approx(without, rel=0.05)
    # In the corrupted sequence the head below attends as it should, so that nothing is
    # lost.
    assert lines[PREVIOUS].loss == pytest.approx(found.replaced_loss, rel=0.05)
    cost = found.evidence.judgement.paths[AttentionPath.parse(PREVIOUS)]
    assert cost.most > 0.5
    assert found.threshold == pytest.approx(own + 0.1 * (without - own))


def test_a_discovery_comes_back_from_its_file(found):
    written = json.dumps(found.to_json())
    assert Discovery.from_json(json.loads(written)) == found
    assert "corrupted: L0.H0 L0.H2 L1.H0 L1.H1" in str(found)


def test_a_given_circuit_is_measured(found):
    bare = Circuit({head: Corrupted() for head in found.circuit.mechanisms})
    given = bare.replacing((1, 2), along("after same token"))
    assert discover(Planted(), TASK, circuit=given, sequences=16).faithful
    nothing = discover(Planted(), TASK, circuit=bare, sequences=16)
    assert holds(nothing) == [False, False, None]


def test_heads_carry_what_they_carry_in_the_corrupted_sequence(found):
    assert holds(found) == [True, True, True]


def test_what_takes_many_passes_is_left_out(found):
    evidence = found.evidence
    assert evidence.drawn == 16
    assert found.looks == []
    asked = discover(Planted(), TASK, sequences=16, threshold=3.0, trials=False)
    assert asked.threshold == 3.0
    assert asked.yardstick.ablated == "corrupted"


UPPER = (1, 2)
"""The induction head."""


@pytest.fixture
def batch():
    return sample(TASK, 4, seed=1)


@pytest.fixture
def patterns(batch):
    return Bench(Planted(), TASK, batch, "corrupted").patterns


@pytest.fixture
def in_corrupted(batch):
    """What the induction head attends to in the corrupted sequences."""
    return attention_patterns(Planted(), batch.corrupted)[:, *UPPER]


def test_a_corrupted_head_attends_as_in_the_corrupted_sequence(patterns, in_corrupted):
    assert torch.equal(patterns.dense(Corrupted(), UPPER), in_corrupted)


def test_rows_without_a_path_are_those_of_the_corrupted_sequence(
    patterns, in_corrupted
):
    pattern = patterns.dense(along("same token"), UPPER)
    assert torch.equal(pattern[:, :-2], in_corrupted[:, :-2])


def test_a_knock_out_cuts_the_attention_that_is_given(batch, patterns, in_corrupted):
    cut = patterns.edit(UPPER, KnockOut(frozenset({"same token"})), in_corrupted)
    is_alike = batch.inputs[:, :, None] == batch.inputs[:, None]
    is_cut = is_alike.tril(-1)
    assert is_cut.any()
    assert torch.equal(cut, in_corrupted.masked_fill(is_cut, 0.0))


class Echo(Task):
    """Random tokens; at each, itself."""

    @property
    def vocabulary(self):
        return 64

    def draw(self, count, generator):
        return (torch.randint(64, (count, 6), generator=generator),)

    def assemble(self, draws):
        return Batch(draws[0], draws[0][..., None])


def test_a_task_without_corrupted_sequences_has_other_ablations():
    with pytest.raises(HeadwayError, match="does not lay out a corrupted sequence"):
        discover(Planted(), Echo(), ablation="corrupted", sequences=8)
