"""Circuits of prompts by exchange."""

import pytest

from headway import HeadwayError, discover
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
