from dataclasses import dataclass

import pytest
import torch

from headway.circuits import Circuit
from headway.circuits.exchange import Exchange
from headway.circuits.judge import judge
from headway.circuits.mechanism import Mean, Paths
from headway.circuits.partners import partners
from headway.relations.paths import AttentionPath
from headway.tasks import Batch, Task
from headway_experiments.arena import compiled, planted


def exchange_of(known, count=64):
    given = partners(known.task, count, torch.Generator().manual_seed(77))
    return Exchange.among(known.model, known.task, given)


@pytest.fixture(scope="module")
def two_hops():
    known = compiled(2)
    return exchange_of(known), Circuit.of(sorted(known.required))


def test_the_circuit_of_a_compiled_model_has_three_yeses(two_hops):
    exchange, right = two_hops
    judged = judge(exchange, right)
    assert judged.broken() == {}
    assert {*judged.paths} == {*right.paths}
    assert judged.passes < 40


@pytest.mark.parametrize("seed", [6100, 6101])
def test_the_circuit_of_a_planted_model_has_three_yeses(seed):
    known = planted(seed)
    options = (group[0] for group in known.alternatives)
    right = Circuit.of(sorted(known.required.union(*options)))
    assert judge(exchange_of(known), right).broken() == {}


def test_a_circuit_without_one_of_its_paths_is_not_complete(two_hops):
    exchange, right = two_hops
    for path in right.paths:
        broken = judge(exchange, right.without(path)).broken()
        assert "complete" in broken or "enough" in broken, path


def test_a_spare_path_is_named(two_hops):
    exchange, right = two_hops
    names = exchange.patterns.used_as("path")
    for head in right.useful_heads:
        more = [AttentionPath.of(*head, name) for name in names]
        spare = next(path for path in more if path not in right.paths)
        broken = judge(exchange, right.adding(spare)).broken()
        assert broken["nothing spare"] == [str(spare)]


def test_a_needed_head_by_its_mean_is_named(two_hops):
    exchange, right = two_hops
    top = right.useful_heads[-1]
    broken = judge(exchange, right.replacing(top, Mean())).broken()
    assert broken["complete"] == [f"L{top[0]}.H{top[1]}"]


def test_a_head_that_attends_by_place_may_be_said_to(two_hops):
    """The first head reads the token before, wherever roles stand."""
    exchange, right = two_hops
    first = right.useful_heads[0]
    stated = judge(exchange, right.replacing(first, Mean()))
    assert stated.heads[0].role == "by place"
    assert "complete" not in stated.broken()
    silent = judge(exchange, right.replacing(first, Paths(frozenset())))
    assert silent.broken()["complete"] == [f"L{first[0]}.H{first[1]}"]


class Twins(torch.nn.Module):
    """Two heads that both look two back; either alone puts out the right token."""

    def forward(self, tokens):
        length = tokens.shape[1]
        back = torch.arange(length)[:, None] - torch.arange(length)
        scores = torch.where(back == 2, 20.0, 0.0).masked_fill(back < 0, -torch.inf)
        pattern = scores.expand(len(tokens), 2, -1, -1).softmax(-1)
        values = torch.nn.functional.one_hot(tokens, 6).float()[:, None]
        return 20 * (pattern @ values).sum(1)


@dataclass(frozen=True)
class TwoBack(Task, registered=False):
    """Random tokens; the answer is the token two back."""

    vocabulary = 6

    def draw(self, count, generator):
        return (torch.randint(6, (count, 10), generator=generator),)

    def assemble(self, draws):
        return Batch(draws[0], draws[0][:, :-2, None])


def test_the_shape_of_a_head_shows_when_its_twin_is_exchanged():
    task = TwoBack()
    given = partners(task, 64, torch.Generator().manual_seed(77))
    exchange = Exchange.among(Twins().eval(), task, given)
    first = AttentionPath.of(0, 0, "2 back")
    second = AttentionPath.of(0, 1, "2 back")
    wide = AttentionPath.of(0, 1, "all so far")
    right = judge(exchange, Circuit.of([first, second]))
    assert right.broken() == {}
    wrong = judge(exchange, Circuit.of([first, wide]))
    assert wrong.broken() == {"enough": ["L0.H1 hard while L0.H0 is exchanged"]}
