"""Texts cut into tokens, by a tokenizer of any library.

Known are tokenizers of Transformers, of `tokenizers`, of tiktoken and SentencePiece,
and any function from a text to a list of numbers.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from headway.errors import HeadwayError, require, shown
from headway.tasks.prompts.marks import Span
from headway.userfile import described

PROBE = "a is 1. b is a. What is b? " * 8
"""A text before which a tokenizer shows what it puts in front of every text."""


class Cut(NamedTuple):
    """A text as tokens.

    Attributes:
        ids: by number.
        spans: the characters of every token.
    """

    ids: list[int]
    spans: list[Span]


class Cutter:
    """A tokenizer that cuts texts into tokens, and says which characters each stands
    for.

    Args:
        tokenizer: of Transformers, `tokenizers`, tiktoken or SentencePiece, or a
            function from a text to a list of whole numbers.
        name: what errors call it.
    """

    def __init__(self, tokenizer: Any, name: str = "the tokenizer"):
        self.tokenizer, self.name = tokenizer, name
        allowed = "a tokenizer, or a function from a text to a list of whole numbers"
        is_one = hasattr(tokenizer, "encode") or callable(tokenizer)
        require(
            is_one and not isinstance(tokenizer, type), "tokenizer", tokenizer, allowed
        )
        self._of_transformers = hasattr(tokenizer, "convert_ids_to_tokens")

    def ids(self, text: str, special: bool = False) -> list[int]:
        """The tokens of a text by number.

        Args:
            text: that is cut.
            special: whether the tokenizer puts in front and behind what it puts there.

        Raises:
            HeadwayError: if the tokenizer cannot read the text.
        """
        try:
            numbers = self._encoded(text, special)
            return [int(token) for token in getattr(numbers, "ids", numbers)]
        except Exception as error:  # whatever a tokenizer of somebody's may raise
            raise HeadwayError(
                f"{self.name} cannot read {shown(text, 40)}: {described(error)}"
            ) from error

    def _encoded(self, text: str, special: bool) -> Any:
        """The tokens of a text."""
        if self._of_transformers:
            return self.tokenizer(text, add_special_tokens=special)["input_ids"]
        if not hasattr(self.tokenizer, "encode"):
            return self.tokenizer(text)
        if hasattr(self.tokenizer, "token_to_id"):  # of the library `tokenizers`
            return self.tokenizer.encode(text, add_special_tokens=special)
        return self.tokenizer.encode(text)

    @property
    def count(self) -> int | None:
        """The number of tokens; None if the tokenizer does not tell."""
        for told in ("n_vocab", "get_vocab_size", "vocab_size"):
            size = getattr(self.tokenizer, told, None)
            number = size() if callable(size) else size
            if isinstance(number, int):
                return max(number, self._length())
        return None

    def _length(self) -> int:
        try:
            return len(self.tokenizer)
        except TypeError:
            return 0

    def front(self) -> list[int]:
        """The tokens that the tokenizer puts in front of every text.

        Raises:
            HeadwayError: if it also changes the text's own tokens.
        """
        bare = self.ids(PROBE)
        whole = self.ids(PROBE, special=True)
        for start in range(len(whole)):
            if whole[start : start + len(bare)] == bare:
                return whole[:start]
        raise HeadwayError(f"the special tokens of {self.name} change the text's own")

    def token(self, text: str, field: str) -> int:
        """The one token that a text is.

        Raises:
            HeadwayError: if it is none or several.
        """
        ids = self.ids(text)
        require(len(ids) == 1, field, text, f"one token: it is {len(ids)}")
        return ids[0]

    def cut(self, text: str) -> Cut:
        """A text as tokens, with the characters of each.

        Raises:
            HeadwayError: if the tokenizer cannot read it, or does not tell which
                characters tokens stand for.
        """
        ids = self.ids(text)
        spans = self._told_spans(text)
        if spans is None or len(spans) != len(ids):
            spans = self._tried_spans(text, ids)
        return Cut(ids, spans)

    def _told_spans(self, text: str) -> list[Span] | None:
        """The characters of every token as the tokenizer tells them, if it does."""
        if self._of_transformers and getattr(self.tokenizer, "is_fast", False):
            told = self.tokenizer(
                text, add_special_tokens=False, return_offsets_mapping=True
            )
            return [Span(*ends) for ends in told["offset_mapping"]]
        if hasattr(self.tokenizer, "token_to_id"):
            told = self.tokenizer.encode(text, add_special_tokens=False)
            return [Span(*ends) for ends in told.offsets]
        return None

    def _tried_spans(self, text: str, ids: Sequence[int]) -> list[Span]:
        """The characters of every token, by beginnings of the text that are cut
        alike.
        """
        spans = list[Span]()
        start = stop = 0
        for number in range(1, len(ids) + 1):
            stop = start
            while stop < len(text) and self.ids(text[:stop]) != [*ids[:number]]:
                stop += 1
            spans.append(Span(start, stop))
            start = stop
        return spans

    def word(self, token: int) -> str:
        """The text of a token; its number if the tokenizer does not tell."""
        decode: Callable[[list[int]], Any] | None
        decode = getattr(self.tokenizer, "decode", None)
        if decode is None:
            return str(token)
        try:
            return str(decode([token]))
        except Exception:  # a number that the tokenizer has no text for
            return str(token)
