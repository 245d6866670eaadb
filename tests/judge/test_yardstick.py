"""The yardstick of any task, and intervals that cover."""

from dataclasses import replace

import jaxtyping
import pytest
import torch
from jaxtyping import Float
from torch import Tensor

import array_checks
from headway.errors import HeadwayError
from headway.find import discover
from headway.judge import Yardstick
from headway.judge.evidence import interval_of
from headway.tasks import Hops
from headway_experiments.arena import compiled
from headway_experiments.tasks import Bigrams
from known_circuits import bench_of
from sampling import seeded


@pytest.fixture
def bench():
    return bench_of(compiled(1), 16)


def unbounded(task):
    """The same task without a loss of its own."""
    task = replace(task)
    object.__setattr__(task, "threshold", None)
    return task


def test_a_task_names_its_own_loss_and_another_can_be_asked_for(bench):
    assert Hops.threshold == 0.05
    assert bench.task.threshold == 0.05
    assert Bigrams.threshold is None
    assert Yardstick.of(bench) == Yardstick(0.05, "uniform", "r2")
    asked = Yardstick.of(bench, 0.2)
    assert asked.limits(bench) == [0.2]
    assert asked.agrees(0.0, 0.0)
    assert not Yardstick(None, "zero", "r2").agrees(1.0, 0.0)


def test_elsewhere_shares_of_the_gap_to_the_ablated_model_count(bench):
    gap = Yardstick(None, "zero", "r2")
    own, most = bench.losses([{}, gap.without(bench)])
    limits = gap.limits(bench)
    shares = [(most - limit) / (most - own) for limit in limits]
    assert shares == pytest.approx([0.95, 0.9, 0.8])
    assert gap.met(bench, 0.15 * most) == limits[2]
    assert gap.met(bench, 9.0) == limits[2]


def test_the_gap_is_to_the_ablation_that_costs_more(bench):
    bench.task = unbounded(bench.task)
    costs = {}
    for ablated in ("mean", "zero"):
        gap = Yardstick(None, ablated, "r2")
        costs[ablated] = bench.loss(gap.without(bench))
    chosen = Yardstick.of(bench).ablated
    assert costs[chosen] == max(costs.values())


def test_a_model_that_has_learnt_nothing_has_no_circuit(bench):
    bench.task = unbounded(bench.task)
    for weights in bench.model.parameters():
        weights.data.mul_(0.0)
    with pytest.raises(HeadwayError, match="the model has not learnt the task: "):
        Yardstick.of(bench)


def test_what_one_answer_would_lose_is_of_the_hops_that_count():
    known = compiled(2)
    bench = bench_of(known, 16)
    bench.task = unbounded(known.task)
    bench.columns = [1]
    bench.batch.targets[:, :, 0] = 0.0
    known.model.unembed.weight.data.mul_(0.2)
    assert 0.5 < bench.loss() < 1.0
    assert Yardstick.of(bench).loss is None


def test_a_right_circuit_is_faithful_where_no_loss_is_named():
    known = compiled(1)
    task = unbounded(known.task)
    found = discover(known.model, task, sequences=16, trials=False, workers=1)
    assert found.yardstick.loss is None
    assert found.faithful
    assert set(found.circuit.paths) == known.required


def test_intervals_cover_where_few_sequences_carry_much_of_the_loss():
    generator = seeded(0)
    rare = 0.01

    def drawn(count):
        is_rare = torch.rand(count, generator=generator) < rare
        size = torch.where(is_rare, 0.7 / rare, 1.0)
        return size * torch.rand(count, generator=generator)

    truth = drawn(2_000_000).mean()
    covered = 0
    for _ in range(200):
        low, high = interval_of(drawn(2048))
        covered += bool(low <= truth <= high)
    assert covered >= 0.93 * 200


def test_arrays_of_a_wrong_shape_are_refused_in_functions_of_core_rooms_and_inside():
    @jaxtyping.jaxtyped(typechecker=array_checks.checked)
    def within(losses: Float[Tensor, " sequence"]) -> None:
        interval_of(losses)

    for refuses in (interval_of, within):
        with pytest.raises(jaxtyping.TypeCheckError, match="losses"):
            refuses(torch.zeros(2, 3))


def test_one_bad_sequence_does_not_blow_an_interval_up():
    losses = torch.full((2048,), 1e-5)
    losses[0] = 4.0
    low, high = interval_of(losses)
    mean = losses.mean()
    assert low <= mean < high < 8 * mean  # Poisson's own: 5.6 times


def test_the_interval_of_losses_that_are_all_alike_is_a_point():
    assert interval_of(torch.ones(9)) == (1.0, 1.0)
