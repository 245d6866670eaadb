import pytest
import torch
import torch.nn.functional as F

from headway_experiments.talk import associative_memory as memory


def drawn(seed=0):
    return torch.Generator().manual_seed(seed)


def test_a_memory_is_the_sum_of_its_pairs():
    values, keys = memory.random_vectors(3, 5, drawn()), memory.random_vectors(4, 6, drawn(1))
    classes, strengths = torch.tensor([2, 0, 1, 2]), torch.tensor([1.0, 0.5, 2.0, 3.0])
    expected = sum(
        strengths[z] * torch.outer(values[classes[z]], keys[z]) for z in range(len(keys))
    )
    assert torch.allclose(memory.stored(values, keys, classes, strengths), expected)
    logits = [[(values[k] @ expected @ keys[z]).item() for k in range(3)] for z in range(4)]
    assert torch.allclose(memory.logits(expected, values, keys), torch.tensor(logits), atol=1e-6)


def test_orthonormal_pairs_are_recalled_and_others_are_not():
    values, keys = (
        memory.orthonormal_vectors(6, 8, drawn()),
        memory.orthonormal_vectors(6, 9, drawn(1)),
    )
    assert torch.allclose(keys @ keys.T, torch.eye(6).double(), atol=1e-12)
    weights = memory.stored(values, keys)
    assert memory.is_recalled(weights, values, keys).mean() == 1.0
    moved = torch.tensor([1, 0, 2, 3, 4, 5])
    assert memory.is_recalled(weights, values, keys, moved).mean() == pytest.approx(4 / 6)
    assert memory.is_recalled(weights, values, keys, moved).tolist() == [0, 0, 1, 1, 1, 1]
    assert memory.is_recalled(-weights, values, keys).mean() == 0.0


@pytest.mark.parametrize("with_residual", [False, True])
def test_one_step_is_that_of_gradient_descent(with_residual):
    n, k, d = 7, 4, 5
    keys = memory.random_vectors(n, d, drawn()).double()
    values = memory.random_vectors(k, d, drawn(1)).double()
    classes, frequencies = torch.tensor([0, 1, 2, 3, 0, 0, 1]), memory.zipf(n, 1.0)
    before = keys @ values.T if with_residual else None
    weights = torch.zeros(d, d, dtype=torch.float64, requires_grad=True)
    told = keys @ weights.T @ values.T
    told = told if before is None else told + before
    loss = (frequencies * F.cross_entropy(told, classes, reduction="none")).sum()
    loss.backward()
    assert weights.grad is not None
    found = memory.one_step(values, keys, classes, frequencies, 3.0, before)
    assert torch.allclose(found, -3.0 * weights.grad, atol=1e-12)


@pytest.mark.parametrize(("n", "k"), [(16, 16), (16, 5)])
def test_one_step_has_the_logits_of_the_lemma(n, k):
    keys = memory.orthonormal_vectors(n, 20, drawn())
    values = memory.orthonormal_vectors(k, 20, drawn(1))
    classes = torch.randint(k, (n,), generator=drawn(2))
    frequencies = torch.full((n,), 1 / n, dtype=torch.float64)
    weights = memory.one_step(values, keys, classes, frequencies, 10.0)
    expected = memory.one_step_logits(classes, k, 10.0)
    assert (memory.logits(weights, values, keys) - expected).abs().max() < 1e-12
    assert expected[3, classes[3]] == pytest.approx(10 / n * (1 - 1 / k))
    assert memory.is_recalled(weights, values, keys, classes).mean() == 1.0


def test_schemes_keep_what_they_say():
    frequencies = memory.zipf(40, 2.0)
    assert frequencies.sum().item() == pytest.approx(1)
    assert (frequencies[0] / frequencies[9]).item() == pytest.approx(100)
    assert memory.scheme("all", frequencies, 16).tolist() == [1.0] * 40
    assert memory.scheme("first", frequencies, 16).tolist() == [1.0] * 2 + [0.0] * 38
    by_frequency = memory.scheme("frequency", frequencies, 16)
    assert torch.allclose(by_frequency, frequencies / frequencies[0])


def test_errors_count_by_frequency():
    keys = values = torch.eye(3)
    classes, frequencies = torch.arange(3), torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64)
    weights = memory.stored(values, keys, classes, torch.tensor([1.0, 0.0, 1.0]))
    weights[0, 1] = 1.0
    assert memory.error(weights, values, keys, classes, frequencies) == pytest.approx(0.3)


def test_what_was_not_sampled_is_missed_as_often_as_expected():
    frequencies = memory.zipf(50, 1.5)
    expected = (frequencies * (1 - frequencies) ** 20).sum().item()
    generator = drawn()
    found = [memory.unseen(frequencies, 20, generator) for _ in range(400)]
    assert sum(found) / len(found) == pytest.approx(expected, rel=0.05)
    assert memory.unseen(frequencies, 1, drawn()) < 1.0
