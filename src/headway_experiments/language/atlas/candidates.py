"""The words that a head's attention on text is told in: relations of the language, over
classes of tokens that text has.

A class is a relation that is given with the texts, so all that composes relations
composes it: `latest punctuation`, `after latest same word`, `previous token for queries
of number`.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from headway.relations import Composed, Edges

Of = Callable[[str], bool]

WORDS = {
    "article": "the a an",
    "preposition": "of in to for with on at from by about as into like through after "
    "over between out against during without before under around among up upon",
    "pronoun": "i you he she it we they me him her us them my your his its our their "
    "this that these those who which what one",
    "conjunction": "and or but if than because while when where so though",
    "auxiliary": "is are was were be been being am has have had do does did will would "
    "shall should can could may might must",
}
"""Closed classes of English words."""

FUNCTION_WORDS = frozenset(" ".join(WORDS.values()).split()) | {"not", "no", "there"}

LAST = (2, 3, 4, 6, 8, 12)
"""Lengths of the stretch before a query that are tried."""

COMPOSED = "", "latest ", "second latest ", "after ", "after latest ", "since latest "
"""Words before a class that are tried with it."""

OF_QUERIES = (
    *("previous token", "2 back", "last 3", "end of a word", "punctuation"),
    *("function word", "content word", "same word", "since latest punctuation"),
)
"""Relations that are tried for queries of one class alone."""

SHARE = 0.002
"""A relation is tried if it has at least this share of all pairs of positions."""


def _written(pattern: str, text: str) -> bool:
    return re.fullmatch(pattern, text, re.DOTALL) is not None


def _among(words: frozenset[str], text: str) -> bool:
    return text.strip().lower() in words


def _content_word(text: str) -> bool:
    return _written(r"\s?[^\W\d_]{2,}", text) and not _among(FUNCTION_WORDS, text)


CLASSES: Mapping[str, Of] = {
    "line break": partial(_written, r".*\n.*"),
    "full stop": partial(_written, r"""\s*[.!?]+["'”’]?\s*"""),
    "comma": partial(_written, r"""\s*[,;:]["'”’]?"""),
    "quotation mark": partial(_written, r'.*["“”].*'),
    "punctuation": partial(_written, r"\s*[^\w\s]+\s*"),
    "capital": partial(_written, r"\s*[A-Z].*"),
    "number": partial(_written, r".*\d.*"),
    "letters after no space": partial(_written, r"[^\W\d_].*"),
    "content word": _content_word,
    "function word": partial(_among, FUNCTION_WORDS),
    **{
        name: partial(_among, frozenset(words.split())) for name, words in WORDS.items()
    },
}
"""Classes of tokens by name: what a token's text is, to be in one."""

BASE = (
    *("sink", "own position", "previous token", "same word", "end of a word"),
    *CLASSES,
)
"""Relations that every head has a weight for, beside how near a key is."""


@dataclass(frozen=True)
class Reader:
    """The text of every token of a model.

    Args:
        decode: from token numbers to a text.
        before: a token that stands before others, so that no space is stripped.
    """

    decode: Callable[[list[int]], str]
    before: int

    @classmethod
    def of(cls, tokenizer: Any, tokens: Tensor) -> "Reader":
        """The reader of some texts."""
        return cls(tokenizer.decode, int(tokens[0, 1]))

    def __call__(self, token: int) -> str:
        """The text of a token."""
        front = self.decode([self.before])
        return self.decode([self.before, token]).removeprefix(front)


def composed(tokens: Tensor, read: Reader) -> Composed:
    """Texts on which relations are evaluated, with classes of tokens as relations.

    Args:
        tokens: [text, token].
        read: gives a token's text.
    """
    known, places = tokens.unique(return_inverse=True)
    texts = [read(token) for token in known.tolist()]
    length = tokens.shape[1]
    seen = torch.ones(length, length, dtype=torch.bool, device=tokens.device).tril()
    given = dict[str, Edges]()
    for name, is_of in CLASSES.items():
        of_token = torch.tensor([is_of(text) for text in texts], device=tokens.device)
        given[name] = Edges.where(of_token[places][:, None] & seen)
    given |= _of_words(texts, places, seen)
    return Composed(tokens, given=given, ordered=False)


def _of_words(texts: list[str], places: Tensor, seen: Tensor) -> dict[str, Edges]:
    """Relations of words, however they are written."""
    plain = [text.strip().lower() for text in texts]
    distinct = dict.fromkeys(plain)
    numbers = {text: number for number, text in enumerate(distinct)}
    by_token = torch.tensor([numbers[text] for text in plain], device=places.device)
    words = by_token[places]
    before = seen.tril(-1)
    same = (words[:, :, None] == words[:, None]) & before
    goes_on = CLASSES["letters after no space"]
    inside = torch.tensor([goes_on(text) for text in texts], device=places.device)
    is_word = torch.tensor([text.isalpha() for text in plain], device=places.device)
    ends = is_word[places]
    ends[:, :-1] &= ~inside[places][:, 1:]
    # Only the next token, which a query cannot see, tells whether its word ends.
    return {
        "same word": Edges.where(same),
        "end of a word": Edges.where(ends[:, None] & before),
    }


def relations_of_text() -> Iterator[str]:
    """The relations that are tried, the simplest first."""
    yield from ("2 back", "3 back", "4 back")
    yield from (f"last {count}" for count in LAST)
    for name in (*CLASSES, "end of a word", "same word", "same token"):
        yield from (f"{word}{name}" for word in COMPOSED if f"{word}{name}" not in BASE)
    for named in CLASSES:
        for relation in ("own position", *OF_QUERIES):
            if relation != named:
                yield f"{relation} for queries of {named}"


KINDS = {
    "word": re.compile(r"same (word|token)"),
    "punctuation": re.compile(r"punctuation|full stop|comma|quotation|line break"),
    "place": re.compile(r"(previous token|\d back|last \d+|own position)( for .*)?"),
}
"""Kinds of relations, by how they are written; others are of classes of words."""


def kind_of(relation: str) -> str:
    """The kind of a relation: word, punctuation, place or class."""
    plain, _, _ = relation.partition(" for queries of ")
    for kind, pattern in KINDS.items():
        if pattern.search(plain):
            return kind
    return "class"


def tried_on(at: Composed) -> tuple[list[str], Float[Tensor, "name text query key"]]:
    """The relations of text that lead somewhere often enough, and where they lead."""
    least = SHARE * at.seen.sum()
    names = []
    masks = []
    for name in relations_of_text():
        mask = at.mask(name)
        if mask.sum() >= least:
            names.append(name)
            masks.append(mask)
    return names, _keys(masks)


def masks_of(
    names: Sequence[str], at: Composed
) -> Float[Tensor, "name text query key"]:
    """The keys of relations."""
    return _keys([at.mask(name) for name in names])


def _keys(masks: list[Tensor]) -> Tensor:
    """Masks as numbers, the first position left out."""
    keys = torch.stack(masks).float()
    keys[..., 0] = 0
    return keys
