"""Heads that carry what they carry in corrupted sequences."""

import pytest
import torch

from headway import HeadwayError
from headway.replace import Bench, Exchanged, ExchangedBench, Paths
from headway.replace.subject import with_tap
from headway_experiments.language import Repeats
from small_llama import prompts, small_llama


@pytest.fixture(scope="module")
def task():
    return prompts()


@pytest.fixture(scope="module")
def model(task):
    return with_tap(small_llama(), task)


@pytest.fixture(scope="module")
def bench(model, task):
    return ExchangedBench(
        model, task, task.sample(12, torch.Generator().manual_seed(0))
    )


def test_with_every_head_exchanged_the_answer_is_that_of_the_corrupted_text(
    bench, task
):
    every = dict.fromkeys(bench.heads, Exchanged())
    with torch.no_grad():
        corrupted = bench.model(bench.batch.corrupted)[:, -1:]
        clean = bench.model(bench.batch.inputs)[:, -1:]
    # The last token is the same in both, and all else reaches it through heads.
    exchanged, own = bench.outputs([every, {}])
    assert torch.allclose(exchanged, corrupted, atol=1e-4)
    assert torch.allclose(own, clean, atol=1e-4)
    difference = task.targets.values(clean, bench.batch.targets).mean().item()
    assert bench.loss() == pytest.approx(-difference, abs=1e-4)


def test_a_head_with_a_path_keeps_its_rows_and_no_others(bench):
    anywhere = Paths(frozenset({"anywhere"}))
    at_end = Paths(frozenset({"end←anywhere"}))
    elsewhere = Paths(frozenset({"IO←anywhere"}))
    last = [head for head in bench.heads if head[0] == 1]
    losses = bench.losses(
        [
            {},
            dict.fromkeys(last, anywhere),
            dict.fromkeys(last, at_end),
            dict.fromkeys(last, Exchanged()),
            dict.fromkeys(last, elsewhere),
        ]
    )
    # In the last layer only the last row counts.
    assert losses[1] == pytest.approx(losses[0], abs=1e-5)
    assert losses[2] == pytest.approx(losses[0], abs=1e-5)
    assert losses[4] == pytest.approx(losses[3], abs=1e-5)
    assert abs(losses[3] - losses[0]) > 1e-3


def test_effects_of_all_cells_add_up_to_the_gap(bench):
    every = dict.fromkeys(bench.heads, Exchanged())
    gap = bench.loss(every) - bench.loss()
    shares = [(step + 0.5) / 40 for step in range(40)]
    assert bench.effects(shares).sum().item() == pytest.approx(gap, rel=0.02)


def test_of_a_rank_slopes_are_those_of_the_logit_difference(bench, model, task):
    ranked = ExchangedBench(model, task.by("rank"), bench.batch)
    assert torch.allclose(ranked.effects([0.5]), bench.effects([0.5]))
    assert ranked.loss() >= 0


def test_no_sequence_is_left_out_where_losses_may_be_negative(bench):
    assert bench.parts == [slice(0, 12)]
    assert bench.losses([{}], limit=bench.loss() + 1e-3) == [bench.loss()]


def test_what_is_exchanged_is_no_pattern(model, task):
    batch = task.sample(8, torch.Generator().manual_seed(0))
    bench = Bench(model, task, batch, "corrupted")
    with pytest.raises(HeadwayError, match=r"ablation = 'corrupted' .* exchanged"):
        bench.loss({(0, 0): Exchanged()})
    without = task.by("loss")
    plain = Repeats(n_tokens=task.vocabulary, n_places=12, lowest=0)
    sequences = plain.sample(8, torch.Generator().manual_seed(0))
    object.__setattr__(sequences, "corrupted", None)
    with pytest.raises(HeadwayError, match="lays out no corrupted sequences"):
        ExchangedBench(model, plain, sequences)
    assert without.metric == "loss"
