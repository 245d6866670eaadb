"""Losses and accuracies of what is predicted: vectors and tokens."""

import math

import pytest
import torch
import torch.nn.functional as F

from headway.tasks import IGNORE_INDEX, Tokens, Vectors


def random(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


def test_the_loss_of_vectors_is_the_mean_of_the_losses_of_the_hops():
    predicted, targets, vectors = random(5, 3, 8), random(5, 3, 3, 4)[:, :, :2], Vectors(4)
    hops = vectors.partial_losses(predicted, targets)
    assert hops.shape == (2,)
    assert hops[1] == pytest.approx((predicted[..., 4:] - targets[:, :, 1]).square().mean().item())
    whole = F.mse_loss(predicted, targets.flatten(2)).item()
    assert hops.mean().item() == pytest.approx(whole)
    assert vectors.loss(predicted, targets).item() == pytest.approx(whole)


def test_vectors_that_are_not_asked_count_for_nothing_and_have_no_gradient():
    predicted, targets, vectors = random(5, 3, 8).requires_grad_(), random(5, 3, 2, 4), Vectors(4)
    targets[0, 1, 0] = math.nan
    targets = vectors.leaving_out(targets, [1])
    asked = [(s, q) for s in range(5) for q in range(3) if (s, q) != (0, 1)]
    expected = sum((predicted[s, q, :4] - targets[s, q, 0]).square().mean() for s, q in asked) / 14
    loss = vectors.loss(predicted, targets)
    assert loss.item() == pytest.approx(expected.item())
    loss.backward()
    assert predicted.grad is not None
    assert predicted.grad.isfinite().all()
    assert not predicted.grad[..., 4:].any()
    assert not predicted.grad[0, 1].any()


def test_partial_losses_of_tokens():
    logits, tokens = random(4, 3, 5), Tokens(5)
    targets = torch.tensor([[[1, IGNORE_INDEX], [IGNORE_INDEX, 2], [3, 4]]] * 4)
    targets[0, 0, 0] = IGNORE_INDEX
    told = logits.log_softmax(-1)
    first = [-told[s, q, targets[s, q, 0]] for s in range(4) for q in (0, 2) if (s, q) != (0, 0)]
    second = [-told[s, q, targets[s, q, 1]] for s in range(4) for q in (1, 2)]
    expected = [torch.stack(x).mean().item() for x in (first, second)]
    assert tokens.partial_losses(logits, targets).tolist() == pytest.approx(expected)
    whole = torch.stack(first + second).mean().item()
    assert tokens.loss(logits, targets).item() == pytest.approx(whole)
    often = tokens.how_often(targets)
    halves = [tokens.errors(logits[i : i + 2], targets[i : i + 2], often) for i in (0, 2)]
    assert torch.cat(halves).mean(0).tolist() == pytest.approx(expected)


def test_hops_that_have_logits_of_their_own():
    logits, own, shared = random(4, 3, 2 * 5), Tokens(5, own_logits=True), Tokens(5)
    targets = torch.randint(5, (4, 3, 2), generator=torch.Generator().manual_seed(0))
    targets[0, :, 1] = targets[1, 2, 0] = IGNORE_INDEX
    hops = [(logits[..., :5], targets[:, :, :1]), (logits[..., 5:], targets[:, :, 1:])]
    for name in ("partial_losses", "accuracies", "each"):
        apart = torch.cat([getattr(shared, name)(*hop) for hop in hops], dim=-1)
        assert torch.allclose(getattr(own, name)(logits, targets), apart, atol=1e-6)
    asked = [F.cross_entropy(said.mT, wanted[..., 0], reduction="none") for said, wanted in hops]
    count = (targets != IGNORE_INDEX).sum()
    assert torch.allclose(own.loss(logits, targets), sum(x.sum() for x in asked) / count)


def test_what_is_never_asked_costs_nothing_and_has_no_accuracy():
    targets, tokens = torch.full((2, 3, 1), IGNORE_INDEX), Tokens(5)
    logits = random(2, 3, 5)
    assert tokens.loss(logits, targets) == 0
    assert tokens.partial_losses(logits, targets).tolist() == [0]
    assert tokens.accuracies(logits, targets).isnan().all()
    targets[0, 1, 0] = logits[0, 1].argmax()
    targets[1, 1, 0] = logits[1, 1].argmin()
    assert tokens.accuracies(logits, targets).tolist() == [0.5]


def test_tokens_diverge_by_the_information_that_is_lost_where_something_is_asked():
    tokens = Tokens(2)
    logits = torch.tensor([[[0.0, 0.0], [3.0, -3.0]]])
    other = torch.tensor([[[math.log(3), 0.0], [-5.0, 5.0]]])
    targets = torch.tensor([[[1], [IGNORE_INDEX]]])
    lost = 0.5 * math.log(0.5 / 0.75) + 0.5 * math.log(0.5 / 0.25)
    assert tokens.divergence(logits, other, targets).item() == pytest.approx(lost)
    assert tokens.divergence(other, logits, targets).item() != pytest.approx(lost)
    assert tokens.divergence(logits, other, torch.full_like(targets, IGNORE_INDEX)) == 0


def test_vectors_diverge_by_their_mean_squared_difference_where_something_is_asked():
    vectors = Vectors(2)
    predicted = torch.tensor([[[1.0, 2.0], [5.0, 5.0]]])
    other = torch.tensor([[[1.0, 5.0], [0.0, 0.0]]])
    targets = torch.zeros(1, 2, 1, 2)
    targets[0, 1] = math.nan
    assert vectors.divergence(predicted, other, targets).item() == pytest.approx(9 / 2)


def test_answers_are_the_same_if_all_their_numbers_are_and_one_is_asked_for():
    vectors = Vectors(2)
    targets = torch.tensor([[[[0.0, 1.0]], [[0.0, -1.0]], [[math.nan, math.nan]]]])
    first = torch.tensor([[[0.1, 0.9], [0.1, -0.9], [0.0, 1.0]]])
    second = torch.tensor([[[0.2, 0.6], [0.1, 0.9], [0.0, 1.0]]])
    assert vectors.same(first, second, targets)[0, :, 0].tolist() == [True, False, False]
    assert vectors.right(first, targets)[0, :, 0].tolist() == [True, True, False]
    assert vectors.right(second, targets)[0, :, 0].tolist() == [True, False, False]


def test_what_is_not_asked_is_no_answer_to_choose():
    """The prediction is nearest to 0, which would stand for a target that there is not."""
    targets = torch.tensor([[[[1.0]], [[3.0]], [[math.nan]]]])
    predicted = torch.tensor([[[-0.5], [2.5], [0.0]]])
    assert Vectors(1).answers(predicted, targets)[0, :2, 0, 0].tolist() == [1.0, 3.0]
    assert Vectors(1).right(predicted, targets)[0, :, 0].tolist() == [True, True, False]


def test_logits_count_less_their_mean():
    logits = random(2, 3, 5)
    targets = torch.zeros(2, 3, 2, dtype=torch.long)
    numbers = Tokens(5).numbers(logits + 7.0, targets)
    assert numbers.shape == (2, 3, 2, 5)
    assert torch.allclose(numbers, Tokens(5).numbers(logits, targets), atol=1e-5)
    assert torch.allclose(numbers.sum(-1), torch.zeros(2, 3, 2), atol=1e-5)


def test_a_query_chooses_among_the_answers_of_its_sequence_or_all_tokens():
    targets = torch.zeros(2, 3, 1, 4)
    targets[0, 0] = targets[0, 1] = math.nan
    assert Vectors(4).choices(targets) == 3
    assert Tokens(5).choices(torch.zeros(2, 3, 1, dtype=torch.long)) == 5


def test_numbers_put_out_at_a_query():
    assert Vectors(4).width(3) == 12
    assert Tokens(5).width(3) == 5
    assert Tokens(5, own_logits=True).width(3) == 15
    predicted = random(2, 7, 12)
    targets = torch.zeros(2, 3, 2, 4)
    assert torch.equal(Vectors(4).at_queries(predicted, targets), predicted[:, 4:, :8])
