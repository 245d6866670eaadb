"""Texts of equal length, cut out of a file: some to choose words on, others to judge
them on."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Int
from torch import Tensor

from headway.errors import HeadwayError, require
from headway.reading import read_bytes
from headway_experiments.language.local import LocalModel

SHIPPED = Path(__file__).with_name("holmes.txt")
"""Two stories of *The Adventures of Sherlock Holmes*; limits were chosen on two
others."""

LICENCES = {
    SHIPPED: "Arthur Conan Doyle, The Adventures of Sherlock Holmes (1892), stories "
    "III and IV: public domain",
}
"""Source and licence of the texts that come with the package."""

FITTED = 60
"""Texts to choose words on."""

FEWEST = 8
"""Texts to judge on, at least."""

STARTS = re.compile(r"""(?:^|[.!?]["']?\s+|\n+)(?=\S)""")
"""A text begins with a sentence or a line."""

LETTERS = 12
"""A token has at most so many characters, on the average of a text."""


@dataclass(frozen=True)
class Texts:
    """Texts of a file, no two of which overlap.

    Attributes:
        source: the file, and the licence where it is known.
        fit: to choose words on.
        judge: to judge them on.
    """

    source: str
    fit: Int[Tensor, "text token"]
    judge: Int[Tensor, "text token"]

    @property
    def length(self) -> int:
        """The number of tokens in every text."""
        return self.fit.shape[1]


def texts_of(
    local: LocalModel, file: Path | None, count: int, length: int, seed: int
) -> Texts:
    """Texts of a file: `FITTED` to choose words on, and so many to judge them on.

    Args:
        local: the model that reads them.
        file: of plain text, in UTF-8; by default the one that is shipped.
        count: to judge on.
        length: tokens of a text, with those that the model puts in front.
        seed: of the draw.

    Raises:
        HeadwayError: if the file holds too few texts, or a number is not allowed.
    """
    require(FEWEST <= count <= 10_000, "texts", count, f"from {FEWEST} to 10000")
    require(12 <= length <= 64, "tokens", length, "from 12 to 64")
    path = SHIPPED if file is None else file
    passages = list(passages_of(local, _content(path), length))
    most = len(passages) - FITTED
    allowed = f"at most {most}: {path.name} has {len(passages)} of {length} tokens"
    require(count <= most, "texts", count, f"{allowed}, of which {FITTED} choose words")
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(passages), generator=generator)
    drawn = torch.tensor(passages, device=local.device)[order]
    source = LICENCES.get(path, path.name)
    return Texts(source, drawn[:FITTED], drawn[FITTED : FITTED + count])


def passages_of(local: LocalModel, text: str, length: int) -> Iterator[list[int]]:
    """Texts of so many tokens, each from the first start of a sentence or a line behind
    the text before. One that the tokenizer does not give back to the letter is left
    out.
    """
    taken = 0
    for match in STARTS.finditer(text):
        start = match.end()
        if start < taken:
            continue
        ids = local.tokens(text[start : start + LETTERS * length])[:length]
        passage = local.tokenizer.decode(ids[len(local.front) :])
        if len(ids) == length and text.startswith(passage, start):
            yield ids
            taken = start + len(passage)


def _content(path: Path) -> str:
    try:
        return read_bytes(path).decode()
    except UnicodeDecodeError:
        raise HeadwayError(f"{path} is not plain text in UTF-8") from None
