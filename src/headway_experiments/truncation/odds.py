"""How probable the two ways to go on with a text are, read in one go for many texts."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass

import torch
from torch import Tensor

from headway.errors import HeadwayError
from headway.language import LocalModel, common_start
from headway_experiments.truncation.replay import Replay
from headway_experiments.truncation.texts import Completion

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
    - *whole*: all tokens of each, given the prompt. A way to go on with more tokens is less
      probable by that alone.

    Attributes:
        answer: by the telling token.
        generic: by the telling token.
        top: of the likeliest of all tokens in the place of the answer's telling one.
        answer_whole: by all tokens.
        generic_whole: by all tokens.
    """

    answer: float
    generic: float
    top: float
    answer_whole: float
    generic_whole: float

    def to_json(self) -> dict[str, float]:
        """As plain data, rounded to single precision."""
        return {name: round(value, 5) for name, value in asdict(self).items()}


class Completer:
    """A model, and texts in its tokens; a call gives the odds of every text.

    Args:
        model: local.
        texts: to go on with.
        replay: of the model's layers; by default all are computed every time.

    Raises:
        HeadwayError: if a text does not fit into the model's context, or its tokens do not tell the
            two ways to go on apart.
    """

    def __init__(
        self, model: LocalModel, texts: Sequence[Completion], replay: Replay | None = None
    ):
        self.model, self.replay = model, replay
        self.pairs = [_tokens(model, text) for text in texts]
        groups: dict[tuple[int, int], dict[Tokens, None]] = {}
        for pair in self.pairs:
            for row in pair.rows:
                groups.setdefault((len(row), pair.start), {})[row] = None
        self.batches = [
            (start, rows[first : first + ROWS])
            for (_, start), rows in ((place, list(group)) for place, group in groups.items())
            for first in range(0, len(rows), ROWS)
        ]

    @torch.no_grad()
    def __call__(self, changed_from: int | None = None) -> list[Odds]:
        """The odds of every text, in order.

        Args:
            changed_from: the lowest layer that is changed, if any.
        """
        told: dict[tuple[Tokens, int], tuple[Tensor, Tensor]] = {}
        for batch, (start, rows) in enumerate(self.batches):
            replay = self.replay and self.replay.intact_below(changed_from, batch)
            with replay or nullcontext():
                told |= self._read(start, rows)
        found = []
        for pair in self.pairs:
            (answer, top), (generic, _) = (told[way, pair.start] for way in pair.ways)
            token = [log_p[pair.shared].item() for log_p in (answer, generic, top)]
            whole = [log_p.sum().item() for log_p in (answer, generic)]
            found.append(Odds(*token, *whole))
        return found

    def _read(
        self, start: int, rows: Sequence[Tokens]
    ) -> dict[tuple[Tokens, int], tuple[Tensor, Tensor]]:
        """The log-probabilities of the tokens after the prompt, and of the likeliest in their
        places, for every way to go on that is read from these rows, by way and start.

        Args:
            start: tokens of every prompt.
            rows: of one length, so that nothing has to be filled up.
        """
        device = self.model.device
        kept = len(rows[0]) - start + 1
        out = self.model.model(
            input_ids=torch.tensor(rows, device=device), logits_to_keep=kept, use_cache=False
        )
        number = {row: i for i, row in enumerate(rows)}
        log_p = out.logits.float().log_softmax(-1)
        found = {}
        for pair in self.pairs:
            for way, row in zip(pair.ways, pair.rows, strict=True):
                if row in number and pair.start == start:
                    after = torch.tensor(way[start:], device=device)
                    here = log_p[number[row], : len(after)]
                    own = here.gather(1, after[:, None])[:, 0]
                    found[way, start] = own.cpu(), here.amax(1).cpu()
        return found


@dataclass(frozen=True)
class _Pair:
    """Both ways in tokens, the prompt before them.

    Attributes:
        ways: the text with the answer, and with the generic word.
        start: tokens of the prompt, as far as neither way changes them.
        shared: tokens after it that both ways begin with.
    """

    ways: tuple[Tokens, Tokens]
    start: int
    shared: int

    @property
    def rows(self) -> tuple[Tokens, Tokens]:
        """What is read for each way: all but its last token, or the other way's if it begins so."""
        one, other = (way[:-1] for way in self.ways)
        if one[: len(other)] == other:
            return one, one
        if other[: len(one)] == one:
            return other, other
        return one, other


def _tokens(model: LocalModel, text: Completion) -> _Pair:
    prompt = tuple(model.tokens(text.prompt))
    ways = [tuple(model.tokens(text.after(told))) for told in (text.answer, text.generic)]
    longest = max(map(len, ways))
    if longest > model.context:
        raise HeadwayError(
            f"a text of {longest} tokens, {text.prompt[:40]!r} …, does not fit into the"
            f" {model.context} of {model.name}"
        )
    start = common_start([prompt, *ways])
    after = [way[start:] for way in ways]
    same = common_start(after)
    if start == 0 or same >= min(map(len, after)):
        raise HeadwayError(
            f"the tokens of {model.name} do not tell {text.answer!r} from {text.generic!r} after"
            f" {text.prompt[:40]!r} …"
        )
    return _Pair((ways[0], ways[1]), start, same)
