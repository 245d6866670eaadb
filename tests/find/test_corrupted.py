"""Circuits by way of corrupted sequences."""

import json
from dataclasses import replace

import pytest
import torch

from headway import Batch, HeadwayError, Task, discover
from headway.judge import Discovery
from headway.judge.verdicts import verdicts
from headway.relations.paths import AttentionPath
from headway.replace import Circuit, Corrupted, KnockOut, Paths
from headway.replace.ablation import Bench
from headway.replace.patterns import attention_patterns
from headway_experiments.language import Repeats

TASK = Repeats(n_tokens=64, n_places=12, stretch=2, lowest=0)
INDUCTION, PREVIOUS = "L1.H2 after same token", "L0.H1 previous token"


class Planted(torch.nn.Module):
    """An induction head, which reads what a previous-token head brought, among other
    heads.

    Args:
        brought: how much of what each of two heads of the first layer brings it reads;
            the second attends to the previous token, too, if this is not 0.
    """

    n_layers, n_heads = 2, 3

    def __init__(self, brought=(1.0, 0.0)):
        super().__init__()
        self.brought = brought

    def forward(self, inputs, tap=None):
        tap = tap or (lambda _, pattern: pattern)
        n, tokens = inputs.shape[1], torch.nn.functional.one_hot(inputs, 64).float()
        own, before = torch.eye(n), torch.eye(n).roll(1, 0)
        one, two = self.brought
        other = before if two else 0 * own
        scores = torch.stack([own, 2 * before, 2 * other]).expand(
            len(inputs), -1, -1, -1
        )
        first = tap(0, weighed(5 * scores)) @ tokens[:, None]
        heard = one * first[:, 1] + two * first[:, 2]
        alike = tokens @ heard.transpose(1, 2)
        scores = torch.stack([0 * alike, own.expand_as(alike), 2 * alike], 1)
        second = tap(1, weighed(5 * scores)) @ tokens[:, None]
        return 9 * second[:, 2] + 0.1 * (first[:, 0] + second[:, 1])


def weighed(scores):
    hidden = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    return scores.masked_fill(hidden, -torch.inf).softmax(-1)


@pytest.fixture(scope="module")
def found():
    return discover(Planted(), TASK, sequences=16)


def test_an_induction_head_and_the_one_that_brings_its_key_are_named(found):
    assert list(map(str, found.circuit.paths)) == [PREVIOUS, INDUCTION]
    assert found.ablation == "corrupted"
    assert found.faithful
    assert found.circuit.idle_heads == {"corrupted": [(0, 0), (0, 2), (1, 0), (1, 1)]}
    assert {trial.jaccard for trial in found.evidence.trials} == {1.0}


@pytest.mark.parametrize(
    ("brought", "is_named"), [((1.0, 0.02), False), ((0.4, 0.4), True)]
)
def test_a_head_below_is_named_only_if_much_of_the_attention_above_is_lost_without_it(
    brought, is_named
):
    found = discover(Planted(brought), TASK, sequences=16, trials=False)
    also = ["L0.H2 previous token"] * is_named
    assert list(map(str, found.circuit.paths)) == [PREVIOUS, *also, INDUCTION]


def test_what_is_measured_is_what_it_is_called(found):
    batch = TASK.sample(1, torch.Generator().manual_seed(0))
    bench = Bench(Planted(), TASK, replace(batch, corrupted=batch.inputs), "corrupted")
    every = dict.fromkeys(bench.heads, Corrupted())
    assert bench.loss(every) == pytest.approx(bench.loss(), abs=1e-6)
    lines = {str(one.path): one for one in found.evidence.necessity}
    own, without = found.intact_loss, found.evidence.likeness.ablated.loss
    assert lines[INDUCTION].loss == pytest.approx(without, rel=0.05)
    # In the corrupted sequence the head below attends as it should, so that nothing is
    # lost.
    assert lines[PREVIOUS].loss == pytest.approx(found.replaced_loss, rel=0.05)
    cost = found.evidence.judgement.paths[AttentionPath.parse(PREVIOUS)]
    assert cost.most > 0.5
    assert found.threshold == pytest.approx(own + 0.1 * (without - own))


def test_a_discovery_comes_back_from_its_file(found):
    back = Discovery.from_json(json.loads(json.dumps(found.to_json())))
    assert back == found
    assert "corrupted: L0.H0 L0.H2 L1.H0 L1.H1" in str(found)


def test_a_given_circuit_is_measured(found):
    bare = Circuit({head: Corrupted() for head in found.circuit.mechanisms})
    given = bare.replacing((1, 2), Paths(frozenset({"after same token"})))
    assert discover(Planted(), TASK, circuit=given, sequences=16).faithful
    nothing = discover(Planted(), TASK, circuit=bare, sequences=16)
    assert [one.holds for one in verdicts(nothing)] == [False, False, None]


def test_heads_carry_what_they_carry_in_the_corrupted_sequence(found):
    assert [one.holds for one in verdicts(found)] == [True, True, True]


def test_what_takes_many_passes_is_left_out(found):
    evidence = found.evidence
    assert (evidence.drawn, found.looks) == (16, [])
    asked = discover(Planted(), TASK, sequences=16, threshold=3.0, trials=False)
    assert (asked.threshold, asked.yardstick.ablated) == (3.0, "corrupted")


def test_a_corrupted_head_attends_as_in_the_corrupted_sequence():
    batch = TASK.sample(4, torch.Generator().manual_seed(1))
    bench = Bench(Planted(), TASK, batch, "corrupted")
    assert batch.corrupted is not None
    there = attention_patterns(Planted(), batch.corrupted)
    assert torch.equal(bench.patterns.dense(Corrupted(), (1, 2)), there[:, 1, 2])
    rows = bench.patterns.dense(Paths(frozenset({"same token"})), (1, 2))
    assert torch.equal(rows[:, :-2], there[:, 1, 2, :-2])
    assert bench.patterns.edit(
        (1, 2), KnockOut(frozenset({"same token"})), there[:, 1, 2]
    ).all


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
