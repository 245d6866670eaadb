"""A loss that is no number counts as infinite, wherever losses are compared."""

import json
import math
import re

import pytest
import torch

from commands import refusing
from headway import certify, discover, emergence, every_circuit, patch_all
from headway.dynamics import Timeline
from headway.dynamics.emergence import crossing
from headway.judge import Discovery, Yardstick
from headway.judge.evidence import interval_of
from headway.judge.yardstick import percent, r2
from headway.models import tapped
from headway.replace import Bench, Circuit, Uniform
from headway.tasks import IGNORE_INDEX, Tokens, Vectors
from headway.training import held_out
from known_circuits import along, holds, words_of
from sampling import seeded
from two_back import LENGTH, PAST, TOKENS, WIDTH, LooksBack, TwoBackTold

pytestmark = pytest.mark.filterwarnings("ignore:how the pattern of layer 0")
"""Some modules here divide what heads read by sums of their patterns, of which `tapped`
warns.
"""

FEW = {"sequences": 16, "trials": False}
TASK = TwoBackTold()
NAN = math.nan
INFINITE = math.inf


def weights_of(query, key):
    scores = query @ key.mT / math.sqrt(WIDTH)
    return scores.masked_fill(~PAST, -torch.inf).softmax(-1)


def renormalised(query, key, value):
    """Weights are divided by their sums: zeros would be divided by zero."""
    pattern = weights_of(query, key)
    return (pattern / pattern.sum(-1, keepdim=True)) @ value


def renormalised_in_place(query, key, value):
    pattern = weights_of(query, key) * PAST
    pattern /= pattern.sum(-1, keepdim=True)
    return pattern @ value


def renormalised_behind(query, key, value):
    """What is read is divided by the sums of weights."""
    pattern = weights_of(query, key)
    return torch.div(pattern @ value, pattern.sum(-1)[..., None])


def by_reciprocals(query, key, value):
    """What all rows read is no number if one of them has no attention."""
    pattern = weights_of(query, key)
    product = pattern.sum(-1).prod(-1)
    factor = product.pow(4).reciprocal()
    return (pattern @ value) * factor[..., None, None]


@pytest.mark.parametrize(
    "attend", [renormalised, renormalised_in_place, renormalised_behind]
)
def test_a_renormalised_module_has_the_circuit_of_the_plain_one(attend):
    plain = discover(LooksBack().eval(), TASK, **FEW)
    other = discover(LooksBack(1, attend).eval(), TASK, **FEW)
    assert other.circuit == plain.circuit
    assert other.yardstick == plain.yardstick
    assert holds(other) == holds(plain)
    assert other.replaced_loss == pytest.approx(plain.replaced_loss, abs=1e-4)


@pytest.fixture(scope="module")
def without_zeros():
    model = LooksBack(1, by_reciprocals).eval()
    return model, discover(model, TASK, ablation="uniform", threshold=0.05, **FEW)


def test_a_circuit_is_found_where_zeros_leave_no_numbers(without_zeros):
    _, found = without_zeros
    assert words_of(found.circuit) == ["L0.H0 two back"]
    assert found.evidence.necessity[0].loss == INFINITE
    assert found.faithful
    assert holds(found)[2]


def test_infinite_losses_are_kept_in_json(without_zeros):
    _, found = without_zeros
    written = json.dumps(found.to_json(), allow_nan=False)
    assert "infinite" in written
    assert Discovery.from_json(json.loads(written)) == found
    assert re.search(r"^L0.H0 two back .* inf\b", str(found), re.M)


def test_other_verbs_take_them_as_infinite(without_zeros):
    model, found = without_zeros
    every = every_circuit(model, TASK, found, sequences=16)
    ((path,),) = every.circuits
    assert str(path) == "L0.H0 two back"
    cut = found.circuit.without(path)
    certificate = certify(model, TASK, cut, agreement=0.5, sequences=16)
    assert certificate.agreeing == 0


def test_a_gap_has_a_finite_end(monkeypatch):
    bench = bench_of_plain()
    losses = {"own": 0.1, "mean": 0.9, "nothing": INFINITE}

    def loss(candidate=None):
        kind = str(candidate[0, 0]) if candidate else "own"
        return losses[kind]

    monkeypatch.setattr(bench, "loss", loss)
    assert Yardstick.of(bench) == Yardstick(None, "mean", "agreement")
    losses["mean"] = 0.1
    with refusing(
        "with mean ablation of every head it is 0.100 (with zero ablation it gives no"
    ):
        Yardstick.of(bench)
    losses["mean"] = INFINITE
    with refusing(
        "with mean and zero ablation of every head the model gives no numbers"
    ):
        Yardstick.of(bench)


def sequences(count=16):
    return held_out(TASK, count, 0, "cpu", "circuit")


def bench_of_plain():
    batch = sequences()
    return Bench(tapped(LooksBack(), batch.inputs[:2]), TASK, batch)


class Sometimes(LooksBack):
    """It gives no numbers where a sequence begins with a token."""

    def forward(self, tokens):
        outputs = super().forward(tokens)
        is_spoilt = tokens[:, :1] == 3
        return outputs.masked_fill(is_spoilt[..., None], NAN)


@pytest.mark.parametrize("threshold", [None, 0.05])
def test_a_model_that_gives_no_numbers_itself_is_refused_by_name(threshold):
    firsts = sequences(64).inputs[:, 0]
    count = int((firsts == 3).sum())
    with refusing(f"the model's own answers are no numbers in {count} of 64 sequences"):
        discover(Sometimes().eval(), TASK, sequences=64, threshold=threshold)


def test_a_patch_between_runs_without_numbers_is_refused():
    clean = TASK.sample(64, seeded(0))
    corrupted = TASK.sample(64, seeded(0))
    example = torch.arange(LENGTH) % TOKENS
    model = tapped(Sometimes().eval(), example.expand(2, -1))
    with refusing("clean: loss by hop", "inf"):
        patch_all(model, TASK, clean, corrupted, at="heads")


def test_dates_where_a_cut_leaves_no_numbers(without_zeros):
    model, found = without_zeros
    models = {0: LooksBack().eval(), 10: model, 20: model}
    timeline = emergence(models, found, TASK, sequences=8)
    (history,) = timeline.paths
    assert history.loss_without[0] < history.loss_without[1] == INFINITE
    assert history.needed == 10
    assert Timeline.from_json(timeline.to_json()) == timeline


def test_dates_where_the_model_gives_no_numbers():
    models = {0: Sometimes().eval(), 10: LooksBack().eval()}
    circuit = Circuit({(0, 0): along("two back")})
    (history,) = emergence(models, circuit, TASK, sequences=32).paths
    assert history.needed == pytest.approx(5)
    assert crossing([0, 10], [0.0, INFINITE], 0.5) == 10


# Where losses are made.


TWO_SEQUENCES = torch.tensor([[[1], [IGNORE_INDEX]], [[2], [0]]])
"""Tokens that are asked of two queries of two sequences."""


def test_no_numbers_where_nothing_is_asked_are_no_matter():
    logits = torch.zeros(2, 2, 3)
    logits[0, 1] = NAN
    errors = Tokens(3).errors(logits, TWO_SEQUENCES)
    assert errors.isfinite().all()


def test_errors_of_tokens_that_are_no_numbers_are_infinite():
    logits = torch.zeros(2, 2, 3)
    logits[1, 0, 0] = NAN
    tokens = Tokens(3)
    errors = tokens.errors(logits, TWO_SEQUENCES)
    assert errors.isinf().tolist() == [[False], [True]]
    (loss,) = tokens.partial_losses(logits, TWO_SEQUENCES)
    assert loss == INFINITE


def test_training_is_told_of_losses_that_are_no_numbers():
    logits = torch.full((2, 2, 3), NAN)
    assert Tokens(3).loss(logits, TWO_SEQUENCES).isnan()


def test_errors_of_vectors_that_are_no_numbers_are_infinite():
    predicted = torch.tensor([[[NAN, 0.0]]])
    targets = torch.zeros(1, 1, 1, 2)
    assert Vectors(2).errors(predicted, targets).item() == INFINITE


def test_a_token_that_cannot_be_is_no_matter_where_nothing_is_asked():
    logits = torch.tensor([[[-INFINITE, 0.0], [0.0, 0.0]]])
    targets = torch.tensor([[[IGNORE_INDEX], [1]]])
    error = Tokens(2).errors(logits, targets).item()
    assert error == pytest.approx(math.log(2))


def test_what_is_no_number_is_no_answer():
    targets = torch.zeros(1, 2, 1, dtype=torch.long)
    logits = torch.tensor([[[1.0, 0.0], [NAN, NAN]]])
    tokens = Tokens(2)
    first, second = tokens.same(logits, logits, targets).flatten()
    assert first
    assert not second
    assert tokens.accuracies(logits, targets).item() == 0.5


def test_intervals_and_shares_of_infinite_losses():
    losses = torch.ones(8)
    losses[3] = INFINITE
    assert interval_of(losses) == (INFINITE, INFINITE)
    assert percent(-INFINITE) == "-"
    assert percent(None) == "-"


def test_an_r2_without_numbers_is_as_bad_as_can_be():
    bench = bench_of_plain()
    (intact,) = bench.outputs([{}])
    assert r2(bench, intact * NAN, intact) == -INFINITE
    assert bench.loss({(0, 0): Uniform()}) > bench.loss()
