"""How probable the two ways to go on with a text are, read in one go for many texts."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import takewhile

import torch
from torch import Tensor

from headway.errors import HeadwayError
from headway.language.completions import Completion
from headway.language.local import LocalModel

ROWS = 16
"""Texts that are read at once."""

Tokens = tuple[int, ...]


@dataclass(frozen=True)
class Odds:
    """Log-probabilities of the two ways to go on with a text.

    Both are tokens of the whole text, prompt and all, so that a word is cut as it is in running
    text. Two readings:

    - *token*: the first token in which the two differ, given the prompt and the tokens that they
      share. With one token each, as ` Spain` and ` the`, there is nothing else to read. A first
      token may also begin other words.
    - *whole*: all tokens of each, given the prompt. It counts nothing else, but a way to go on with
      more tokens is less probable by that alone.

    Attributes:
        answer: by the telling token.
        generic: by the telling token.
        answer_whole: by all tokens.
        generic_whole: by all tokens.
    """

    answer: float
    generic: float
    answer_whole: float
    generic_whole: float

    def to_json(self) -> dict[str, float]:
        """Rounded to what single precision tells."""
        return {name: round(value, 5) for name, value in asdict(self).items()}


class Completer:
    """A model, and texts in its tokens: called, it tells the odds of every text.

    Args:
        model: local.
        texts: to go on with.

    Raises:
        HeadwayError: if a text does not fit into the model's context, or its tokens do not tell the
            two ways to go on apart.
    """

    def __init__(self, model: LocalModel, texts: Sequence[Completion]):
        self.model = model
        self.pairs = [_tokens(model, text) for text in texts]
        starts: dict[Tokens, int] = {}
        for pair in self.pairs:
            for way in pair.ways:
                starts[way[:-1]] = min(pair.start, starts.get(way[:-1], pair.start))
        self.rows = sorted(starts.items(), key=lambda item: (len(item[0]), item))

    @torch.no_grad()
    def __call__(self) -> list[Odds]:
        """The odds of every text, in order."""
        told: dict[tuple[Tokens, int], Tensor] = {}
        for first in range(0, len(self.rows), ROWS):
            told |= self._read(self.rows[first : first + ROWS])
        found = []
        for pair in self.pairs:
            ways = [told[way, pair.start] for way in pair.ways]
            token = [log_p[pair.shared].item() for log_p in ways]
            found.append(Odds(*token, *(log_p.sum().item() for log_p in ways)))
        return found

    def _read(self, rows: Sequence[tuple[Tokens, int]]) -> dict[tuple[Tokens, int], Tensor]:
        """The log-probabilities of the tokens after the prompt, of every text whose last token is
        all that a row lacks, by text and start.

        Shorter rows are filled up at their end, where no token of theirs can see it.
        """
        device = self.model.device
        longest, earliest = max(len(row) for row, _ in rows), min(start for _, start in rows) - 1
        filled = torch.tensor([[*row, *[0] * (longest - len(row))] for row, _ in rows])
        wanted = torch.arange(earliest, longest, device=device)
        out = self.model.model(input_ids=filled.to(device), logits_to_keep=wanted, use_cache=False)
        number = {row: i for i, (row, _) in enumerate(rows)}
        log_p = out.logits.float().log_softmax(-1).cpu()
        found = {}
        for pair in self.pairs:
            for way in pair.ways:
                if way[:-1] in number:
                    here = log_p[number[way[:-1]], pair.start - 1 - earliest :]
                    after = torch.tensor(way[pair.start :])
                    found[way, pair.start] = here[: len(after)].gather(1, after[:, None])[:, 0]
        return found


@dataclass(frozen=True)
class _Pair:
    """Both ways in tokens, the prompt before them.

    Attributes:
        ways: the text with the answer, and with the generic word.
        start: tokens of the prompt.
        shared: tokens after it that both ways begin with.
    """

    ways: tuple[Tokens, Tokens]
    start: int
    shared: int


def _tokens(model: LocalModel, text: Completion) -> _Pair:
    prompt = tuple(model.tokenizer(text.prompt)["input_ids"])
    ways = [
        tuple(model.tokenizer(text.after(told))["input_ids"])
        for told in (text.answer, text.generic)
    ]
    longest = max(map(len, ways))
    if longest > model.context:
        raise HeadwayError(
            f"a text of {longest} tokens, {text.prompt[:40]!r} …, does not fit into the"
            f" {model.context} of {model.name}"
        )
    start = len(prompt)
    after = [way[start:] for way in ways]
    shared = sum(1 for _ in takewhile(lambda both: both[0] == both[1], zip(*after, strict=False)))
    begin = start > 0 and all(way[:start] == prompt for way in ways)
    if not begin or shared >= min(map(len, after)):
        raise HeadwayError(
            f"the tokens of {model.name} do not tell {text.answer!r} from {text.generic!r} after"
            f" {text.prompt[:40]!r} …"
        )
    return _Pair((ways[0], ways[1]), start, shared)
