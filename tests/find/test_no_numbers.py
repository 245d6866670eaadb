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
from headway.judge.verdicts import verdicts
from headway.judge.yardstick import percent, r2
from headway.models import tapped
from headway.replace import Bench, Circuit, Paths, Uniform
from headway.tasks import IGNORE_INDEX, Tokens, Vectors
from headway.training import held_out
from two_back import LENGTH, PAST, TOKENS, WIDTH, LooksBack, TwoBackTold

pytestmark = pytest.mark.filterwarnings("ignore:how the pattern of layer 0")
"""Some modules here divide what heads read by sums of their patterns, of which `tapped`
warns.
"""

FEW = {"sequences": 16, "trials": False}
TASK = TwoBackTold()
NAN, INFINITE = math.nan, math.inf


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
    return (pattern @ value) * pattern.sum(-1).prod(-1).pow(4).reciprocal()[
        ..., None, None
    ]


@pytest.mark.parametrize(
    "attend", [renormalised, renormalised_in_place, renormalised_behind]
)
def test_a_renormalised_module_has_the_circuit_of_the_plain_one(attend):
    plain, other = (
        discover(model.eval(), TASK, **FEW)
        for model in (LooksBack(), LooksBack(1, attend))
    )
    assert other.circuit == plain.circuit
    assert other.yardstick == plain.yardstick
    assert [one.holds for one in verdicts(other)] == [
        one.holds for one in verdicts(plain)
    ]
    assert other.replaced_loss == pytest.approx(plain.replaced_loss, abs=1e-4)


@pytest.fixture(scope="module")
def without_zeros():
    model = LooksBack(1, by_reciprocals).eval()
    return model, discover(model, TASK, ablation="uniform", threshold=0.05, **FEW)


def test_a_circuit_is_found_where_zeros_leave_no_numbers(without_zeros):
    _, found = without_zeros
    assert [str(path) for path in found.circuit.paths] == ["L0.H0 two back"]
    assert found.evidence.necessity[0].loss == INFINITE
    assert found.faithful
    assert verdicts(found)[2].holds


def test_infinite_losses_are_kept_in_json(without_zeros):
    _, found = without_zeros
    written = json.dumps(found.to_json(), allow_nan=False)
    assert "infinite" in written
    assert Discovery.from_json(json.loads(written)) == found
    assert re.search(r"^L0.H0 two back .* inf\b", str(found), re.M)


def test_other_verbs_take_them_as_infinite(without_zeros):
    model, found = without_zeros
    every = every_circuit(model, TASK, found, sequences=16)
    assert [list(map(str, one)) for one in every.circuits] == [["L0.H0 two back"]]
    cut = found.circuit.without(found.circuit.paths[0])
    assert certify(model, TASK, cut, agreement=0.5, sequences=16).agreeing == 0


def test_a_gap_has_a_finite_end(monkeypatch):
    bench = Bench(
        tapped(LooksBack(), TASK.sample(2, generator()).inputs), TASK, sample()
    )
    losses = {"own": 0.1, "mean": 0.9, "zero": INFINITE}

    def loss(candidate=None):
        return losses[
            str(candidate[0, 0]).replace("nothing", "zero") if candidate else "own"
        ]

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


def generator():
    return torch.Generator().manual_seed(0)


def sample():
    return held_out(TASK, 16, 0, "cpu", "circuit")


class Sometimes(LooksBack):
    """It gives no numbers where a sequence begins with a token."""

    def forward(self, tokens):
        outputs = super().forward(tokens)
        return outputs.masked_fill((tokens[:, :1] == 3)[..., None], NAN)


@pytest.mark.parametrize("threshold", [None, 0.05])
def test_a_model_that_gives_no_numbers_itself_is_refused_by_name(threshold):
    count = int((held_out(TASK, 64, 0, "cpu", "circuit").inputs[:, 0] == 3).sum())
    with refusing(f"the model's own answers are no numbers in {count} of 64 sequences"):
        discover(Sometimes().eval(), TASK, sequences=64, threshold=threshold)


def test_a_patch_between_runs_without_numbers_is_refused():
    clean, corrupted = (TASK.sample(64, generator()) for _ in range(2))
    model = tapped(Sometimes().eval(), torch.arange(LENGTH).expand(2, -1) % TOKENS)
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
    circuit = Circuit({(0, 0): Paths(frozenset({"two back"}))})
    (history,) = emergence(models, circuit, TASK, sequences=32).paths
    assert history.needed == pytest.approx(5)
    assert crossing([0, 10], [0.0, INFINITE], 0.5) == 10


# Where losses are made.


def test_errors_that_are_no_numbers_are_infinite():
    targets = torch.tensor([[[1], [IGNORE_INDEX]], [[2], [0]]])
    logits, tokens = torch.zeros(2, 2, 3), Tokens(3)
    logits[0, 1] = NAN  # where nothing is asked
    assert tokens.errors(logits, targets).isfinite().all()
    logits[1, 0, 0] = NAN
    assert tokens.errors(logits, targets).isinf().tolist() == [[False], [True]]
    assert tokens.partial_losses(logits, targets).tolist() == [INFINITE]
    assert tokens.loss(logits, targets).isnan()  # of which training tells
    vectors, wanted = Vectors(2), torch.zeros(1, 1, 1, 2)
    assert vectors.errors(torch.tensor([[[NAN, 0.0]]]), wanted).tolist() == [[INFINITE]]


def test_a_token_that_cannot_be_is_no_matter_where_nothing_is_asked():
    logits = torch.tensor([[[-INFINITE, 0.0], [0.0, 0.0]]])
    targets = torch.tensor([[[IGNORE_INDEX], [1]]])
    assert Tokens(2).errors(logits, targets).item() == pytest.approx(math.log(2))


def test_what_is_no_number_is_no_answer():
    targets = torch.zeros(1, 2, 1, dtype=torch.long)
    logits, tokens = torch.tensor([[[1.0, 0.0], [NAN, NAN]]]), Tokens(2)
    assert tokens.same(logits, logits, targets).flatten().tolist() == [True, False]
    assert tokens.accuracies(logits, targets).item() == 0.5


def test_intervals_and_shares_of_infinite_losses():
    losses = torch.ones(8)
    losses[3] = INFINITE
    assert interval_of(losses) == (INFINITE, INFINITE)
    assert percent(-INFINITE) == percent(None) == "-"


def test_an_r2_without_numbers_is_as_bad_as_can_be():
    bench = Bench(tapped(LooksBack(), sample().inputs[:2]), TASK, sample())
    intact = bench.outputs([{}])[0]
    assert r2(bench, intact * NAN, intact) == -INFINITE
    assert bench.loss({(0, 0): Uniform()}) > bench.loss()
