"""Losses and accuracies of what is predicted: vectors and tokens."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from headway.tasks import IGNORE_INDEX, Tokens, Vectors
from sampling import seeded


def random(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=seeded(0))


def batch_of(*queries) -> torch.Tensor:
    """A batch of one sequence, of which every query is given."""
    return torch.tensor([queries])


def by_query(of_one_hop: torch.Tensor) -> list:
    """What holds of the first sequence, query by query."""
    return of_one_hop[0, :, 0].tolist()


def test_the_loss_of_vectors_is_the_mean_of_the_losses_of_the_hops():
    vectors = Vectors(4)
    predicted = random(5, 3, 8)
    targets = random(5, 3, 3, 4)[:, :, :2]
    hops = vectors.partial_losses(predicted, targets)
    assert hops.shape == (2,)
    second = F.mse_loss(predicted[..., 4:], targets[:, :, 1])
    assert_close(hops[1], second)
    whole = F.mse_loss(predicted, targets.flatten(2))
    assert_close(hops.mean(), whole)
    assert_close(vectors.loss(predicted, targets), whole)


def test_vectors_that_are_not_asked_count_for_nothing_and_have_no_gradient():
    vectors = Vectors(4)
    predicted = random(5, 3, 8).requires_grad_()
    targets = random(5, 3, 2, 4)
    targets[0, 1, 0] = math.nan
    targets = vectors.leaving_out(targets, [1])
    first_hop = targets[:, :, 0]
    errors = predicted[..., :4] - first_hop
    squares = errors.square().mean(-1)
    is_asked = ~first_hop.isnan().any(-1)
    assert is_asked.sum() == 14
    loss = vectors.loss(predicted, targets)
    assert_close(loss, squares[is_asked].mean())
    loss.backward()
    gradient = predicted.grad
    assert gradient is not None
    assert gradient.isfinite().all()
    assert not gradient[..., 4:].any()
    assert not gradient[0, 1].any()


def a_token_asked_here_and_there():
    """Logits, targets of two hops of which some are not asked, and the losses of those
    that are.
    """
    logits = random(4, 3, 5)
    places = [[1, IGNORE_INDEX], [IGNORE_INDEX, 2], [3, 4]]
    targets = torch.tensor([places] * 4)
    targets[0, 0, 0] = IGNORE_INDEX
    told = logits.log_softmax(-1)
    losses = {0: [], 1: []}
    for sequence in range(4):
        for query, hop in ((0, 0), (1, 1), (2, 0), (2, 1)):
            if (sequence, query) != (0, 0):
                token = targets[sequence, query, hop]
                losses[hop].append(-told[sequence, query, token])
    return logits, targets, losses


def means(losses):
    by_hop = [torch.stack(of_hop).mean() for of_hop in losses.values()]
    return torch.stack(by_hop)


def test_partial_losses_of_tokens():
    logits, targets, losses = a_token_asked_here_and_there()
    partial = Tokens(5).partial_losses(logits, targets)
    assert_close(partial, means(losses))


def test_the_loss_of_tokens_is_over_all_that_are_asked():
    logits, targets, losses = a_token_asked_here_and_there()
    whole = torch.stack(losses[0] + losses[1]).mean()
    assert_close(Tokens(5).loss(logits, targets), whole)


def test_errors_of_parts_of_a_batch_are_those_of_the_whole():
    logits, targets, losses = a_token_asked_here_and_there()
    tokens = Tokens(5)
    often = tokens.how_often(targets)
    first = tokens.errors(logits[:2], targets[:2], often)
    second = tokens.errors(logits[2:], targets[2:], often)
    whole = torch.cat([first, second])
    assert_close(whole.mean(0), means(losses))


def logits_of_two_hops():
    """Logits of their own for two hops, and targets of which some are not asked."""
    logits = random(4, 3, 2 * 5)
    targets = torch.randint(5, (4, 3, 2), generator=seeded(0))
    targets[0, :, 1] = IGNORE_INDEX
    targets[1, 2, 0] = IGNORE_INDEX
    return logits, targets


@pytest.mark.parametrize("name", ["partial_losses", "accuracies", "each"])
def test_hops_that_have_logits_of_their_own(name):
    logits, targets = logits_of_two_hops()
    own = getattr(Tokens(5, own_logits=True), name)
    shared = getattr(Tokens(5), name)
    first = shared(logits[..., :5], targets[:, :, :1])
    second = shared(logits[..., 5:], targets[:, :, 1:])
    apart = torch.cat([first, second], dim=-1)
    assert_close(own(logits, targets), apart, atol=1e-6, rtol=1e-5)


def test_the_loss_of_hops_that_have_logits_of_their_own():
    logits, targets = logits_of_two_hops()
    first_logits = logits[..., :5].mT
    second_logits = logits[..., 5:].mT
    first = F.cross_entropy(first_logits, targets[..., 0], reduction="sum")
    second = F.cross_entropy(second_logits, targets[..., 1], reduction="sum")
    count = (targets != IGNORE_INDEX).sum()
    loss = Tokens(5, own_logits=True).loss(logits, targets)
    assert_close(loss, (first + second) / count)


def test_what_is_never_asked_costs_nothing_and_has_no_accuracy():
    tokens = Tokens(5)
    targets = torch.full((2, 3, 1), IGNORE_INDEX)
    logits = random(2, 3, 5)
    assert tokens.loss(logits, targets) == 0
    (hop,) = tokens.partial_losses(logits, targets)
    assert hop == 0
    assert tokens.accuracies(logits, targets).isnan().all()
    targets[0, 1, 0] = logits[0, 1].argmax()
    targets[1, 1, 0] = logits[1, 1].argmin()
    (accuracy,) = tokens.accuracies(logits, targets)
    assert accuracy == 0.5


def test_tokens_diverge_by_the_information_that_is_lost_where_something_is_asked():
    tokens = Tokens(2)
    logits = batch_of([0.0, 0.0], [3.0, -3.0])
    other = batch_of([math.log(3), 0.0], [-5.0, 5.0])
    targets = batch_of([1], [IGNORE_INDEX])
    lost_to_first = 0.5 * math.log(0.5 / 0.75)
    lost_to_second = 0.5 * math.log(0.5 / 0.25)
    lost = lost_to_first + lost_to_second
    forwards = tokens.divergence(logits, other, targets)
    backwards = tokens.divergence(other, logits, targets)
    assert forwards.item() == pytest.approx(lost)
    assert backwards.item() != pytest.approx(lost)
    unasked = torch.full_like(targets, IGNORE_INDEX)
    assert tokens.divergence(logits, other, unasked) == 0


def test_vectors_diverge_by_their_mean_squared_difference_where_something_is_asked():
    vectors = Vectors(2)
    predicted = batch_of([1.0, 2.0], [5.0, 5.0])
    other = batch_of([1.0, 5.0], [0.0, 0.0])
    targets = torch.zeros(1, 2, 1, 2)
    targets[0, 1] = math.nan
    divergence = vectors.divergence(predicted, other, targets)
    assert divergence.item() == pytest.approx(9 / 2)


def test_answers_are_the_same_if_all_their_numbers_are_and_one_is_asked_for():
    vectors = Vectors(2)
    nothing = [math.nan, math.nan]
    targets = batch_of([[0.0, 1.0]], [[0.0, -1.0]], [nothing])
    first = batch_of([0.1, 0.9], [0.1, -0.9], [0.0, 1.0])
    second = batch_of([0.2, 0.6], [0.1, 0.9], [0.0, 1.0])
    same = vectors.same(first, second, targets)
    assert by_query(same) == [True, False, False]
    assert by_query(vectors.right(first, targets)) == [True, True, False]
    assert by_query(vectors.right(second, targets)) == [True, False, False]


def test_what_is_not_asked_is_no_answer_to_choose():
    """The prediction is nearest to 0, which would stand for a target that there is
    not.
    """
    vectors = Vectors(1)
    targets = batch_of([[1.0]], [[3.0]], [[math.nan]])
    predicted = batch_of([-0.5], [2.5], [0.0])
    answers = vectors.answers(predicted, targets)
    assert answers[0, :2, 0, 0].tolist() == [1.0, 3.0]
    assert by_query(vectors.right(predicted, targets)) == [True, True, False]


def test_logits_count_less_their_mean():
    tokens = Tokens(5)
    logits = random(2, 3, 5)
    targets = torch.zeros(2, 3, 2, dtype=torch.long)
    numbers = tokens.numbers(logits + 7.0, targets)
    assert numbers.shape == (2, 3, 2, 5)
    assert_close(numbers, tokens.numbers(logits, targets), atol=1e-5, rtol=1e-5)
    sums = numbers.sum(-1)
    assert sums.abs().max() < 1e-5


def test_a_query_chooses_among_the_answers_of_its_sequence():
    targets = torch.zeros(2, 3, 1, 4)
    targets[0, :2] = math.nan
    assert Vectors(4).choices(targets) == 3


def test_a_query_chooses_among_all_tokens():
    targets = torch.zeros(2, 3, 1, dtype=torch.long)
    assert Tokens(5).choices(targets) == 5


def test_numbers_put_out_at_a_query():
    vectors = Vectors(4)
    assert vectors.width(3) == 12
    assert Tokens(5).width(3) == 5
    assert Tokens(5, own_logits=True).width(3) == 15
    predicted = random(2, 7, 12)
    targets = torch.zeros(2, 3, 2, 4)
    at_queries = vectors.at_queries(predicted, targets)
    assert torch.equal(at_queries, predicted[:, 4:, :8])
