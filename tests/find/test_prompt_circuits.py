"""Circuits of prompts by exchange."""

from types import SimpleNamespace

import pytest

from headway import HeadwayError, discover
from headway.find import HeadCut
from headway.find.exchanged import _Search
from headway.judge import verdicts
from headway.replace import Exchanged, Paths
from headway.training.data import held_out
from small_llama import prompts, small_llama


@pytest.fixture(scope="module")
def found():
    return discover(small_llama(), prompts(), sequences=12, trials=False)


def test_a_circuit_of_prompts_is_found_by_exchange(found):
    mechanisms = found.circuit.mechanisms.values()
    assert found.ablation == found.yardstick.ablated == "exchanged"
    assert found.yardstick.metric == "logit difference"
    assert {type(mechanism) for mechanism in mechanisms} == {Exchanged, Paths}
    assert found.circuit.paths
    like = found.evidence.likeness
    assert like.ablated.faithfulness == pytest.approx(0, abs=1e-5)
    assert found.evidence.sequences == 12


def test_its_loss_is_the_logit_difference_that_is_left(found):
    model, task = small_llama(), prompts()
    batch = held_out(task, 12, 0, "cpu", "certificate")
    logits = model(batch.inputs).logits[:, -1:]
    own = task.targets.values(logits, batch.targets).mean().item()
    assert found.intact_loss == pytest.approx(-own, abs=1e-4)
    low, high = found.evidence.intact_interval
    assert low <= found.intact_loss <= high
    kept = found.evidence.likeness.circuit.faithfulness
    gap = found.evidence.likeness.ablated.loss - found.intact_loss
    assert found.evidence.likeness.ablated.loss - found.replaced_loss == pytest.approx(
        kept * gap, abs=1e-5
    )


def test_it_is_told_in_the_metric_and_judged(found):
    text = str(found)
    assert "logit difference" in text
    assert f"{-found.intact_loss:.3f}" in text
    assert [verdict.name for verdict in verdicts(found)] == [
        "enough",
        "complete",
        "nothing spare",
    ]
    assert all(verdict.holds is not None for verdict in verdicts(found))


def test_another_ablation_is_refused_in_one_line():
    with pytest.raises(HeadwayError, match=r"ablation = 'corrupted' .* exchanged"):
        discover(small_llama(), prompts(), ablation="corrupted", sequences=12)


def test_patterns_alone_may_be_exchanged_in_the_older_way():
    model, task = small_llama(), prompts(metric="loss")
    found = discover(model, task, way="corrupted", sequences=12, trials=False)
    assert found.ablation == "corrupted"
    assert found.intact_loss > 0


HEADS = [(0, number) for number in range(6)]
ALONE = [8.0, -6.0, 5.5, 2.0, 1.9, 1.8]
"""What each head does alone."""


@pytest.mark.parametrize(
    ("serving", "named"),
    [(2, 3), (3, 3), (4, 6), (7, 0)],
    ids=["down to a drop", "at the drop", "to the end", "none serves"],
)
def test_the_strongest_heads_are_named_down_to_a_drop(monkeypatch, serving, named):
    """A drop is one to three quarters at most, behind heads that serve."""

    def losses(candidates):
        kept = [len(HEADS) - len(exchanged) for exchanged in candidates]
        return [0.0 if count >= serving else 1.0 for count in kept]

    cuts = [
        HeadCut(head, lost, (lost, lost))
        for head, lost in zip(HEADS, ALONE, strict=True)
    ]
    search = object.__new__(_Search)
    bench = SimpleNamespace(heads=HEADS, losses=losses)
    monkeypatch.setattr(search, "bench", bench, raising=False)
    monkeypatch.setattr(search, "limit", 0.5, raising=False)
    monkeypatch.setattr(search, "cuts_alone", lambda: cuts)
    assert search.strongest_heads() == HEADS[:named]
