import math

import pytest
import torch

from headway_experiments.tasks.corpus import synthetic


def test_tokens_alike_are_as_open_as_a_die():
    alike = synthetic(8, 0.0, None)
    assert alike.unigram_entropy == alike.bigram_entropy == pytest.approx(math.log(8))


def test_the_synthetic_chain_is_a_function_of_its_numbers():
    once = synthetic.__wrapped__(65, 0.9, 12.0)
    again = synthetic.__wrapped__(65, 0.9, 12.0)
    assert torch.equal(once.bigrams, again.bigrams)
    for chain in (once, synthetic(65, 0.9, 0.1)):
        assert torch.allclose(chain.unigrams @ chain.bigrams, chain.unigrams, atol=1e-9)
    torch.testing.assert_close(once.bigrams.sum(1), torch.ones(65).double())
    # About as open as Shakespeare's characters are: 3.3 and 2.5 nats.
    assert once.unigram_entropy == pytest.approx(3.37, abs=0.01)
    assert once.bigram_entropy == pytest.approx(2.47, abs=0.01)
    assert synthetic(65, 0.9, 3.0).bigram_entropy < once.bigram_entropy
