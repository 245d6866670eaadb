"""The gap between clean and corrupted prompts, and what each head does."""

import pytest
import torch

from headway import HeadwayError
from headway.find.gap import bench_of, cuts_of, gap_of
from headway.replace import Exchanged
from headway_experiments.language import Repeats
from small_llama import prompts, small_llama


@pytest.fixture(scope="module")
def bench():
    return bench_of(small_llama(), prompts(), 12)


def test_the_gap_is_that_of_the_model_on_both_texts():
    model, task = small_llama(), prompts()
    gap = gap_of(model, task, 12)
    batch = bench_of(model, task, 12).batch
    with torch.no_grad():
        clean = model(batch.inputs).logits[:, -1:]
        corrupted = model(batch.corrupted).logits[:, -1:]
    for name in ("logit difference", "probability", "rank", "loss"):
        targets = task.by(name).targets
        own = targets.values(clean, batch.targets).mean().item()
        theirs = targets.values(corrupted, batch.targets).mean().item()
        assert gap.clean[name] == pytest.approx(own, abs=1e-4)
        assert gap.corrupted[name] == pytest.approx(theirs, abs=1e-4)
    right = task.targets.right(clean, batch.targets).float().mean().item()
    assert gap.right == pytest.approx(right)
    assert gap.pairs == 12
    # The last token is the same in both: all of the gap goes through heads.
    assert gap.share(gap.heads) == pytest.approx(1.0, abs=1e-3)
    assert gap.share(gap.clean["logit difference"]) == 0
    assert "heads carry 100%" in str(gap)


def test_what_a_head_does_is_what_is_lost_without_it(bench):
    cuts = cuts_of(bench, bench.heads)
    assert sorted(cut.head for cut in cuts) == bench.heads
    lost = [cut.lost for cut in cuts]
    assert lost == sorted(lost, reverse=True)
    for cut in cuts:
        expected = bench.loss({cut.head: Exchanged()}) - bench.loss()
        assert cut.lost == pytest.approx(expected, abs=1e-5)
        low, high = cut.interval
        assert low <= cut.lost <= high
        assert cut.is_sure == (low > 0 or high < 0)


def test_another_task_has_no_such_gap():
    with pytest.raises(HeadwayError, match=r"task = 'repeats' .* headway.Prompts"):
        gap_of(small_llama(), Repeats(n_tokens=124, n_places=12, lowest=0), 8)
