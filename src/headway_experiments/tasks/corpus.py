"""Statistics of the characters of a text, or of a chain that is made of numbers."""

import functools
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from headway.errors import HeadwayError, require
from headway.files import read_bytes

SYNTHETIC = "synthetic"


@dataclass(frozen=True)
class Chain:
    """The frequency of every token, and of those that follow it.

    Attributes:
        origin: what the statistics are of, in words.
        unigrams: the share of every token, of a text's characters the most frequent first.
        bigrams: of every token (row), the shares of those that follow it.
    """

    origin: str
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


def chain_of(path: Path, vocabulary: int) -> Chain:
    """The statistics of a text in UTF-8: at most so many tokens, its most frequent characters.

    Raises:
        HeadwayError: if the file cannot be read, or holds no text.
    """
    try:
        text = read_bytes(path).decode("utf-8-sig")
    except (HeadwayError, UnicodeDecodeError) as error:
        message = f"task.corpus = {str(path)!r} must be a text in UTF-8 that can be read ({error})"
        raise HeadwayError(message) from None
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return counted(text, vocabulary, f"text in {path.name}")


def counted(text: str, vocabulary: int, origin: str) -> Chain:
    """The statistics of a text's most frequent characters, all others left out.

    The text is read as a ring, the first character after the last: so every character is followed
    by one, and the unigrams are the bigrams' stationary distribution.

    Raises:
        HeadwayError: if fewer than two different characters are in it.
    """
    codes = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
    counts = np.bincount(codes)
    different = counts.nonzero()[0]
    allowed = f"text of at least two different characters: this has {len(different)}"
    require(len(different) >= 2, "task.corpus", origin, allowed)
    kept = different[np.argsort(-counts[different], kind="stable")][:vocabulary]
    token_of = np.full(len(counts), -1)
    token_of[kept] = np.arange(len(kept))
    tokens = token_of[codes]
    tokens = tokens[tokens >= 0]
    pairs = tokens * len(kept) + np.roll(tokens, -1)
    table = np.bincount(pairs, minlength=len(kept) ** 2).reshape(len(kept), -1)
    bigrams = torch.from_numpy(table).double()
    followed = bigrams.sum(1)
    return Chain(origin, followed / followed.sum(), bigrams / followed[:, None])


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
    about = f"synthetic chain of {vocabulary} tokens, exponent {exponent:g}, "
    about += "no bigrams" if concentration is None else f"concentration {concentration:g}"
    return Chain(about, torch.from_numpy(frequencies), torch.from_numpy(rows))
