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
from headway.tasks import IGNORE_INDEX, Tokens, Vectors
from headway.training.data import held_out
from headway_experiments.arena import Known, compiled
from known_circuits import true_circuit

EVEN = Yardstick(0.05, "uniform", "r2")


def bench_of(known: Known) -> Bench:
    batch = held_out(known.task, 48, 0, "cpu", "certificate")
    return Bench(known.model, known.task, batch)


def test_the_true_circuit_is_the_model_and_nothing_is_left_without_it():
    known = compiled(2)
    found = likenesses(bench_of(known), true_circuit(known), EVEN)
    whole = found.circuit
    assert whole.agreement == 1.0
    assert whole.sequence_agreement == 1.0
    assert whole.agreement_by_hop == {"x_1": 1.0, "x_2": 1.0}
    assert whole.r2 == pytest.approx(1, abs=1e-3)
    assert whole.faithfulness == pytest.approx(1, abs=1e-3)
    assert found.complement.agreement < 0.5
    assert found.ablated.faithfulness == 0.0
    assert found.ablated.sequence_agreement == 0.0


@pytest.fixture(scope="module")
def bench():
    return bench_of(compiled(2))


@pytest.fixture(scope="module")
def cut():
    """The true circuit without its last path."""
    known = compiled(2)
    return true_circuit(known).without(max(known.required))


@pytest.fixture(scope="module")
def measured(bench, cut):
    return likenesses(bench, cut, EVEN).circuit


@torch.no_grad()
def outputs(bench, mechanisms):
    """What the model puts out where it is read, by a whole forward pass."""
    tap = tap_of(bench.patterns, [mechanisms], slice(None))
    return bench.model(bench.batch.inputs, tap)[:, -bench.task.n_read :]


def answers_by_hand(bench, outputs):
    """The nearest of a sequence's targets, [sequence, query, hop]."""
    targets = bench.batch.targets
    answers = torch.zeros(targets.shape[:3])
    by_hop = outputs.unflatten(-1, targets.shape[2:])
    for at in product(*map(range, answers.shape)):
        sequence, _, hop = at
        distances = (targets[sequence, :, hop] - by_hop[at]).norm(dim=-1)
        answers[at] = distances.argmin()
    return answers


def test_agreement_is_the_share_of_answers_that_are_the_models(bench, cut, measured):
    own = answers_by_hand(bench, outputs(bench, {}))
    circuits = answers_by_hand(bench, outputs(bench, cut.mechanisms))
    same = (own == circuits).float()
    assert 0.2 < measured.agreement < 0.9
    assert measured.agreement == pytest.approx(same.mean().item())
    by_hop = list(measured.agreement_by_hop.values())
    assert by_hop == pytest.approx(same.mean((0, 1)).tolist())
    whole_sequences = same.flatten(1).amin(1)
    assert measured.sequence_agreement == whole_sequences.mean().item()


def test_r2_is_the_share_of_the_models_variance(bench, cut, measured):
    own = outputs(bench, {})
    missed = (outputs(bench, cut.mechanisms) - own).square().sum()
    variance = (own - own.mean(0)).square().sum()
    share = 1 - missed / variance
    assert measured.r2 == pytest.approx(share.item(), abs=1e-4)


def test_faithfulness_is_the_share_of_what_uniform_attention_loses(
    bench, cut, measured
):
    blank = bench.loss(dict.fromkeys(bench.heads, Uniform()))
    assert measured.loss == pytest.approx(bench.loss(cut), abs=1e-6)
    share = (blank - measured.loss) / (blank - bench.loss())
    assert measured.faithfulness == pytest.approx(share, abs=1e-5)


def test_the_complement_cuts_the_circuits_paths_and_nothing_else():
    known = compiled(2)
    circuit = true_circuit(known)
    cut_paths = set()
    for at, mechanism in circuit.complement.items():
        assert isinstance(mechanism, KnockOut)
        cut_paths |= {(at, relation) for relation in mechanism.relations}
    assert cut_paths == {(path.at, path.relation) for path in known.required}


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


WANTED = torch.ones(1, 4, 1, 2)
"""Vectors that four queries are asked for; the last is asked for nothing."""
WANTED[:, 0] = 0.0
WANTED[:, 3] = torch.nan
PREDICTED = torch.tensor([[0.1, 0.2], [0.9, 2.0], [0.4, 0.4], [5.0, 5.0]])[None]


def test_the_answer_is_the_nearest_candidate():
    vectors = Vectors(2)
    answers = vectors.answers(PREDICTED, WANTED)
    assert answers[0, :3, 0].tolist() == [[0, 0], [1, 1], [0, 0]]
    assert vectors.choices(WANTED) == 3


def test_answers_are_the_same_where_something_is_asked():
    vectors = Vectors(2)
    assert not vectors.same(PREDICTED, PREDICTED.flip(1), WANTED).any()
    same = vectors.same(PREDICTED, PREDICTED, WANTED)
    assert same.flatten().tolist() == [True, True, True, False]


ASKED = torch.tensor([[[2, IGNORE_INDEX]]])
"""Two hops of one query, of which one is asked for."""
LOGITS = torch.tensor([[[0.0, 1.0, 3.0]]])


def test_the_answer_is_the_likeliest_token():
    tokens = Tokens(3)
    assert tokens.answers(LOGITS, ASKED).flatten().tolist() == [2, 2]
    same = tokens.same(LOGITS, LOGITS, ASKED)
    assert same.flatten().tolist() == [True, False]
    numbers = tokens.numbers(LOGITS, ASKED)[0, 0, 1]
    assert numbers.tolist() == pytest.approx([-4 / 3, -1 / 3, 5 / 3])


def test_hops_with_logits_of_their_own_have_answers_of_their_own():
    of_second_hop = torch.tensor([[[4.0, 0.0, 0.0]]])
    both = torch.cat([LOGITS, of_second_hop], -1)
    answers = Tokens(3, own_logits=True).answers(both, ASKED)
    assert answers.flatten().tolist() == [2, 0]
