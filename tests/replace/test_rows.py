"""Where a head matters is measured: rows weigh what changing them moves."""

from dataclasses import dataclass

import pytest
import torch
from torch import nn

from causal import causal_softmax
from headway import Batch, Task
from headway.replace import rows
from headway.replace.rows import measured_weights
from headway.tasks import IGNORE_INDEX
from headway.training import held_out
from headway_experiments.arena import compiled
from sampling import seeded

LENGTH = 9
TOKENS = 8
PLACE = 4
CONTENT = 6
"""A row that attends to the position before in all sequences, and one that attends by
content.
"""


@dataclass(frozen=True)
class TokenBefore(Task):
    """Random tokens; the answer is the one before a place."""

    vocabulary = TOKENS

    def draw(self, count, generator):
        return (torch.randint(TOKENS, (count, LENGTH), generator=generator),)

    def assemble(self, draws):
        inputs = draws[0]
        answers = inputs[:, PLACE - 1]
        return Batch(inputs, answers[:, None, None])


class Read(nn.Module):
    """Layer 0 looks back at one place and by content at others; layer 1 reads some of
    its rows.

    Args:
        read: how much of the answer each row of layer 0 makes up.
        is_normed: whether what a row reads is divided by the sum of the row.
    """

    n_layers = 2
    n_heads = 1

    def __init__(self, read, is_normed=False):
        super().__init__()
        self.read = torch.tensor(read)
        self.is_normed = is_normed
        generator = seeded(0)
        self.content = 3 * torch.randn(TOKENS, TOKENS, generator=generator)

    def forward(self, inputs, tap=None):
        tap = tap or (lambda _, pattern: pattern)
        tokens = torch.eye(TOKENS)[inputs]
        queries, keys = inputs[:, :, None], inputs[:, None]
        scores = self.content[queries, keys]
        is_before = torch.arange(LENGTH) == PLACE - 1
        scores[:, PLACE] = 40.0 * is_before
        pattern = tap(0, causal_softmax(scores)[:, None])[:, 0]
        brought = pattern @ tokens
        if self.is_normed:
            brought = brought / pattern.sum(-1, keepdim=True)
        last = self.read.expand(len(inputs), 1, LENGTH, LENGTH)
        reading = tap(1, last)[:, 0, -1:]
        return 9 * reading @ brought


class Shown(nn.Module):
    """One head, whose attention in every sequence is given; what its rows read is put
    out.
    """

    n_layers = n_heads = 1

    def __init__(self, pattern):
        super().__init__()
        self.pattern = pattern

    def forward(self, inputs, tap=None):
        tap = tap or (lambda _, pattern: pattern)
        pattern = tap(0, self.pattern[:, None])[:, 0]
        return pattern @ torch.eye(TOKENS)[inputs]


def read_of(**rows):
    """How much layer 1 reads of every row: hardly anything of those that are not
    given.
    """
    return [rows.get(f"row_{place}", 0.01) for place in range(LENGTH)]


def weights_of(model, count=64):
    batch = TokenBefore().sample(count, seeded(1))
    return measured_weights(model, TokenBefore(), batch)


def by_place(weights):
    return weights[:, 0, 0].sum(0)


def test_a_row_that_is_the_same_in_all_sequences_weighs_what_depends_on_it():
    weights = weights_of(Read(read_of(row_4=1.0)))
    of_heads = weights.sum((0, 3))
    assert torch.allclose(of_heads, torch.ones(2, 1))
    assert by_place(weights)[PLACE] > 0.9
    # The others are not read out.
    last_of_layer_1 = weights[:, 1, 0, -1].sum()
    assert last_of_layer_1 == pytest.approx(1.0)


def test_rows_by_place_and_by_content_of_one_head_both_weigh():
    weights = by_place(weights_of(Read(read_of(row_4=1.0, row_6=1.0))))
    place, content = weights[PLACE], weights[CONTENT]
    assert place + content > 0.9
    assert min(place, content) > 0.3


def test_a_row_by_place_on_which_nothing_depends_weighs_nothing():
    found = by_place(weights_of(Read(read_of(row_4=0.0, row_6=1.0))))
    assert found[PLACE] == 0
    assert found[CONTENT] > 0.8


@pytest.mark.parametrize("turns", [2, 5])
def test_of_large_models_sequences_take_turns(monkeypatch, turns):
    model = Read(read_of(row_4=1.0, row_6=0.5))
    calls = []
    whole = by_place(weights_of(model, 256))
    model.register_forward_pre_hook(lambda *_: calls.append(1))
    passes = 2 * 2 * LENGTH
    monkeypatch.setattr(rows, "MOST_VECTORS", passes * 256 * LENGTH * 2 // turns)
    some = weights_of(model, 256)
    assert len(calls) < 0.8 * passes
    assert by_place(some)[PLACE] == pytest.approx(whole[PLACE].item(), abs=0.05)
    tried = (some[:, 0, 0] > 0).sum(1)
    assert tried.max() <= -(-LENGTH // turns)


def test_what_is_no_number_without_a_row_does_not_hide_the_others():
    found = by_place(weights_of(Read(read_of(row_4=1.0, row_6=1.0), is_normed=True)))
    assert torch.isfinite(found).all()
    assert found[CONTENT] > 0.5


@pytest.mark.parametrize(
    ("is_last_asked", "expected"), [(True, [2 / 3, 1 / 3]), (False, [1, 0])]
)
def test_a_row_weighs_what_zeros_move_as_far_as_it_attends_by_place(
    is_last_asked, expected
):
    """All tokens are the same: whatever a row attends to, it reads the same, if not
    nothing.
    """
    pattern = torch.eye(LENGTH).repeat(2, 1, 1)
    pattern[:, -2:] = 0.0
    pattern[:, -2, 2] = 1.0  # by place
    # Half of the mean of both is the row's own.
    pattern[0, -1, 0] = 1.0
    pattern[1, -1, 1] = 1.0
    tokens = torch.zeros(2, LENGTH, dtype=torch.long)
    targets = tokens[:, -2:, None].clone()
    if not is_last_asked:
        targets[:, -1] = IGNORE_INDEX
    weights = measured_weights(Shown(pattern), TokenBefore(), Batch(tokens, targets))
    last_two = by_place(weights)[-2:]
    assert last_two.tolist() == pytest.approx(expected)


def test_rows_of_the_last_layer_that_nothing_reads_weigh_nothing(
    monkeypatch,
):
    known = compiled(2)
    batch = held_out(known.task, 16, 0, "cpu")
    last = known.model.n_layers - 1
    few = measured_weights(known.model, known.task, batch, [(last, 0)])
    monkeypatch.setattr(rows.Outputs, "_first_read", lambda self, head: 0)
    every = measured_weights(known.model, known.task, batch, [(last, 0)])
    assert few.sum() > 0
    assert torch.equal(few, every)


def test_rows_of_lower_layers_are_all_tried():
    known = compiled(2)
    batch = held_out(known.task, 16, 0, "cpu")
    first_read = batch.inputs.shape[1] - batch.targets.shape[1]
    weights = measured_weights(known.model, known.task, batch, [(0, 0)])
    assert weights[:, 0, 0, :first_read].sum() > 0
