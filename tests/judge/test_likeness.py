"""How like the model a circuit is: measured as defined, and told apart from other
circuits.
"""

from itertools import product

import pytest
import torch
from torch import nn

from headway.judge.yardstick import Yardstick, likenesses
from headway.replace import Bench, Circuit, KnockOut, Uniform
from headway.replace.patterns import tap_of
from headway.tasks import Tokens, Vectors
from headway.training.data import held_out
from headway_experiments.arena import Known, compiled
from known_circuits import true_circuit

EVEN = Yardstick(0.05, "uniform", "r2")


def bench_of(known: Known, count: int = 48, **how) -> Bench:
    batch = held_out(known.task, count, 0, "cpu", "certificate")
    return Bench(known.model, known.task, batch, **how)


def test_the_true_circuit_is_the_model_and_nothing_is_left_without_it():
    known = compiled(2)
    found = likenesses(bench_of(known), true_circuit(known), EVEN)
    whole = found.circuit
    assert (whole.agreement, whole.sequence_agreement) == (1.0, 1.0)
    assert whole.agreement_by_hop == {"x_1": 1.0, "x_2": 1.0}
    assert whole.r2 == pytest.approx(1, abs=1e-3)
    assert whole.faithfulness == pytest.approx(1, abs=1e-3)
    assert found.complement.agreement < 0.5
    assert found.ablated.faithfulness == 0.0
    assert found.ablated.sequence_agreement == 0.0


def test_the_measures_are_what_their_definitions_say():
    known = compiled(2)
    path = sorted(known.required)[-1]
    circuit, bench = true_circuit(known).without(path), bench_of(known)
    found, batch = likenesses(bench, circuit, EVEN).circuit, bench.batch
    with torch.no_grad():
        both = ({}, circuit.mechanisms)
        taps = [tap_of(bench.patterns, [one], slice(None)) for one in both]
        model, other = (
            known.model(batch.inputs, tap)[:, -known.task.n_read :] for tap in taps
        )
        blank = bench.loss({head: Uniform() for head in bench.heads})
    size = batch.targets.shape[-1]
    sequences, queries, hops = batch.targets.shape[:3]
    same = torch.zeros(sequences, queries, hops)
    for s, q, hop in product(range(sequences), range(queries), range(hops)):
        here = slice(hop * size, (hop + 1) * size)
        one, another = (
            (batch.targets[s, :, hop] - said[s, q, here]).norm(dim=-1).argmin().item()
            for said in (model, other)
        )
        same[s, q, hop] = one == another
    assert 0.2 < found.agreement < 0.9
    assert found.agreement == pytest.approx(same.mean().item())
    assert list(found.agreement_by_hop.values()) == pytest.approx(
        same.mean((0, 1)).tolist()
    )
    assert found.sequence_agreement == same.flatten(1).amin(1).mean().item()
    about = (model - model.mean(0)).square().sum()
    assert found.r2 == pytest.approx(
        1 - ((other - model).square().sum() / about).item(), abs=1e-4
    )
    assert found.loss == pytest.approx(bench.loss(circuit), abs=1e-6)
    share = (blank - found.loss) / (blank - bench.loss())
    assert found.faithfulness == pytest.approx(share, abs=1e-5)
    errors = (
        bench.errors([{}, circuit, EVEN.without(bench)])
        .mean(2)
        .median(1)
        .values.tolist()
    )
    share = (errors[2] - errors[1]) / (errors[2] - errors[0])
    assert found.median_faithfulness == pytest.approx(share, abs=1e-5)


def test_the_complement_cuts_the_circuits_paths_and_nothing_else():
    known = compiled(2)
    circuit = true_circuit(known)
    cut = circuit.complement
    assert set(cut) == {path.at for path in known.required}
    assert all(isinstance(one, KnockOut) for one in cut.values())
    assert {
        (at, name) for at, one in cut.items() for name in getattr(one, "relations", ())
    } == {(path.at, path.relation) for path in known.required}


class Constant(nn.Module):
    """A model that says the same whatever it reads; its one head sees everything."""

    n_layers = n_heads = 1

    def __init__(self, output: torch.Tensor):
        super().__init__()
        self.output = output

    def forward(self, inputs, tap=None):
        size, n = inputs.shape[:2]
        if tap is not None:
            tap(0, torch.full((size, 1, n, n), 1 / n))
        return self.output.expand(size, n, -1)


def test_constant_outputs_have_no_r2_and_no_faithfulness():
    task = compiled(1).task
    batch = held_out(task, 16, 0, "cpu", "certificate")
    bench = Bench(Constant(torch.arange(task.d_target) / 3), task, batch)
    found = likenesses(bench, Circuit({(0, 0): Uniform()}), EVEN).circuit
    assert found.r2 is None
    assert found.faithfulness is None
    assert found.agreement == 1.0


def test_answers_are_the_nearest_candidate_and_the_likeliest_token():
    vectors, tokens, own = Vectors(2), Tokens(3), Tokens(3, own_logits=True)
    wanted = torch.tensor(
        [[[[0.0, 0.0]], [[1.0, 1.0]], [[1.0, 1.0]], [[float("nan")] * 2]]]
    )
    said = torch.tensor([[[0.1, 0.2], [0.9, 2.0], [0.4, 0.4], [5.0, 5.0]]])
    assert vectors.answers(said, wanted)[0, :3, 0].tolist() == [[0, 0], [1, 1], [0, 0]]
    assert not vectors.same(said, said.flip(1), wanted).any()
    assert vectors.same(said, said, wanted)[0, :, 0].tolist() == [
        True,
        True,
        True,
        False,
    ]
    assert vectors.choices(wanted) == 3
    asked = torch.tensor([[[2, -100]]])
    logits = torch.tensor([[[0.0, 1.0, 3.0]]])
    assert tokens.answers(logits, asked).tolist() == [[[[2], [2]]]]
    assert tokens.same(logits, logits, asked).tolist() == [[[True, False]]]
    assert tokens.numbers(logits, asked)[0, 0, 1].tolist() == pytest.approx(
        [-4 / 3, -1 / 3, 5 / 3]
    )
    both = torch.tensor([[[0.0, 1.0, 3.0, 4.0, 0.0, 0.0]]])
    assert own.answers(both, asked).tolist() == [[[[2], [0]]]]
