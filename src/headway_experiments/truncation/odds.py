"""The probabilities of the two ways to go on with a text, read in one go for many texts."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import torch

from headway.errors import HeadwayError
from headway.language import LocalModel, common_start
from headway_experiments.truncation.texts import Completion

ROWS = 16
"""Texts that are read at once."""


@dataclass(frozen=True)
class Odds:
    """Log-probabilities of the two ways to go on with a text.

    Both are tokens of the whole text, prompt and all, so that a word is cut as it is in running
    text. They are told apart by the first token in which they differ, given all before it: with
    one token each, as ` Spain` and ` the`, there is nothing else to read. Such a token may also
    begin other words.

    Attributes:
        answer: of the answer's telling token.
        generic: of the generic word's.
        top: of the likeliest of all tokens in their place.
    """

    answer: float
    generic: float
    top: float

    def to_json(self) -> dict[str, float]:
        """As plain data, rounded to single precision."""
        return {name: round(value, 5) for name, value in asdict(self).items()}


class Completer:
    """A model, and texts in its tokens; a call gives the odds of every text.

    Args:
        model: local.
        texts: to go on with.

    Raises:
        HeadwayError: if a text does not fit into the model's context, or its tokens do not tell the
            two ways to go on apart.
    """

    def __init__(self, model: LocalModel, texts: Sequence[Completion]):
        self.model = model
        self.texts = [_tokens(model, text) for text in texts]
        alike: dict[int, list[int]] = {}
        for number, (before, _) in enumerate(self.texts):
            alike.setdefault(len(before), []).append(number)
        self.batches = [
            numbers[first : first + ROWS]
            for numbers in alike.values()
            for first in range(0, len(numbers), ROWS)
        ]

    @torch.no_grad()
    def __call__(self) -> list[Odds]:
        """The odds of every text, in order."""
        found: dict[int, Odds] = {}
        for numbers in self.batches:
            ids = torch.tensor([self.texts[n][0] for n in numbers], device=self.model.device)
            out = self.model.model(input_ids=ids, logits_to_keep=1, use_cache=False)
            for number, row in zip(numbers, out.logits[:, -1].float().log_softmax(-1), strict=True):
                answer, generic = row[self.texts[number][1]].tolist()
                found[number] = Odds(answer, generic, row.max().item())
        return [found[number] for number in range(len(self.texts))]


def _tokens(model: LocalModel, text: Completion) -> tuple[list[int], list[int]]:
    """The tokens that both ways to go on begin with, and the first in which each differs."""
    ways = [model.tokens(text.after(told)) for told in (text.answer, text.generic)]
    longest, start = max(map(len, ways)), common_start(ways)
    if longest > model.context:
        raise HeadwayError(
            f"a text of {longest} tokens, {text.prompt[:40]!r} …, does not fit into the"
            f" {model.context} of {model.name}"
        )
    if start == 0 or start >= min(map(len, ways)):
        raise HeadwayError(
            f"the tokens of {model.name} do not tell {text.answer!r} from {text.generic!r} after"
            f" {text.prompt[:40]!r} …"
        )
    return ways[0][:start], [way[start] for way in ways]
