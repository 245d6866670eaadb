"""Statistics of a text that is made of numbers: what follows what."""

import functools
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True)
class Chain:
    """The frequency of every token, and of those that follow it.

    Attributes:
        unigrams: the share of every token.
        bigrams: of every token (row), the shares of those that follow it.
    """

    unigrams: Float[Tensor, " token"]
    bigrams: Float[Tensor, "token following"]

    @property
    def unigram_entropy(self) -> float:
        """The entropy of a token, in nats."""
        return torch.special.entr(self.unigrams).sum().item()

    @property
    def bigram_entropy(self) -> float:
        """The entropy of a token given the one before, in nats."""
        return (self.unigrams @ torch.special.entr(self.bigrams).sum(1)).item()


@functools.cache
def synthetic(vocabulary: int, exponent: float, concentration: float | None) -> Chain:
    """A chain that is a function of these numbers alone.

    Token j (from 1) has the share p_j ∝ 1/j^exponent, and what follows a token is drawn from
    Dirichlet(concentration · p): on average p, and the more predictable the smaller the
    concentration. The unigrams are the stationary distribution of what came out.

    Args:
        vocabulary: the number of tokens.
        exponent: of Zipf's law; 0 makes all tokens equally frequent.
        concentration: None makes every row p itself, so that a token tells nothing of the next.
    """
    shares = np.arange(1, vocabulary + 1) ** -float(exponent)
    shares /= shares.sum()
    rows, frequencies = np.tile(shares, (vocabulary, 1)), shares
    if concentration is not None:
        rows = np.random.default_rng(0).dirichlet(concentration * shares, size=vocabulary)
        # p P = p and sum p = 1, solved at once: a chain that mixes slowly would take long to walk.
        conditions = np.vstack([rows.T - np.eye(vocabulary), np.ones(vocabulary)])
        frequencies = np.linalg.lstsq(conditions, np.eye(vocabulary + 1)[-1], rcond=None)[0]
        frequencies = frequencies.clip(min=0) / frequencies.clip(min=0).sum()
    return Chain(torch.from_numpy(frequencies), torch.from_numpy(rows))
