"""A language model with weights cut to low rank: how it goes on with texts, kept and
resumable.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from headway.errors import HeadwayError
from headway.training.files import clear_content_errors
from headway_experiments.language import Ledger, LocalModel, common_start
from headway_experiments.truncation.cuts import Cut, Cuts, Truncation
from headway_experiments.truncation.texts import Completion
from headway_experiments.truncation.weights import layers_of, named_matrices

ROWS = 16
"""Texts that are read at once."""


@dataclass(frozen=True)
class Odds:
    """Log-probabilities of the two ways to go on with a text.

    Both are tokens of the whole text, prompt and all, so that a word is cut as it is in
    running text. They are told apart by the first token in which they differ, given all
    before it: with one token each, as ` Spain` and ` the`, there is nothing else to
    read. Such a token may also begin other words.

    Attributes:
        answer: of the answer's telling token.
        generic: of the generic word's.
        top: of the likeliest of all tokens in their place.
    """

    answer: float
    generic: float
    top: float


Lines = dict[Cut, tuple[Odds, ...]]
"""The odds of every text, in order, by cut, the intact model first."""


@dataclass(frozen=True)
class Truncating:
    """The plan of a truncation, and the texts that the model goes on with.

    Attributes:
        model: its name or path.
        cuts: of its weights.
        texts: to go on with.
    """

    model: str
    cuts: Cuts
    texts: tuple[Completion, ...]

    def ledger(self, folder: Path) -> Ledger:
        """The folder that keeps the results."""
        texts = [asdict(text) for text in self.texts]
        about = {"format": 1, "model": self.model, **asdict(self.cuts), "texts": texts}
        return Ledger(folder, "truncation", about)

    def kept(self, folder: Path) -> Lines | None:
        """A folder's lines by `truncate_model`; None if one is missing.

        Raises:
            HeadwayError: if the folder holds something else, or is damaged.
        """
        ledger = self.ledger(folder)
        ledger.require_same()
        done, n_layers = self.evaluated(ledger)
        wanted = self.cuts.of(n_layers)
        return (
            {cut: done[cut] for cut in wanted} if done.keys() >= set(wanted) else None
        )

    def evaluated(self, ledger: Ledger) -> tuple[Lines, int]:
        """The lines so far, and how many layers the model has, 0 if none tells."""
        lines: Lines = {}
        n_layers = 0
        with clear_content_errors(ledger.path):
            for data in ledger.lines():
                cut = Cut(tuple(data["layers"]), data["weights"], data["fraction"])
                odds = tuple(Odds(**each) for each in data["odds"])
                n_layers = data["n_layers"]
                if len(odds) != len(self.texts):
                    raise HeadwayError(
                        f"{ledger.path} does not fit the texts asked about"
                    )
                lines[cut] = odds
        return lines, n_layers


def truncate_model(
    asked: Truncating,
    load: Callable[[], LocalModel],
    folder: Path,
    watch: Callable[[int, int], None] = lambda done, total: None,
) -> Lines:
    """Evaluates all cuts that the folder does not hold yet; each is kept at once.

    Args:
        asked: what is truncated, and the texts.
        load: the model; called once, and before anything is written.
        folder: new, or of the same asking before.
        watch: called with how many cuts are evaluated, and of how many.

    Raises:
        HeadwayError: if the model has no such layer or weight, if a text does not fit
            into it, or if the folder holds something else, is damaged or in use.
    """
    ledger = asked.ledger(folder)
    ledger.require_same()
    model = load()
    places = named_matrices(layers_of(model.model))
    asked.cuts.require_in(places)
    wanted = asked.cuts.of(len(places))
    truncation = Truncation(places)
    completer = Completer(model, asked.texts)
    with ledger.writing(model.device):
        known = asked.evaluated(ledger)[0]
        missing = [cut for cut in wanted if cut not in known]
        for done, cut in enumerate(missing, start=len(known) + 1):
            with truncation.applied(cut):
                odds = list(map(_rounded, completer()))
            ledger.add({**asdict(cut), "n_layers": len(places), "odds": odds})
            watch(done, len(wanted))
    return asked.kept(folder) or {}


def _rounded(odds: Odds) -> dict[str, float]:
    exact = asdict(odds)
    return {name: round(value, 5) for name, value in exact.items()}


class Completer:
    """A model, and texts in its tokens; a call gives the odds of every text.

    Args:
        model: local.
        texts: to go on with.

    Raises:
        HeadwayError: if a text does not fit into the model's context, or its tokens do
            not tell the two ways to go on apart.
    """

    def __init__(self, model: LocalModel, texts: Sequence[Completion]):
        self.model = model
        self.texts = [_tokens(model, text) for text in texts]
        alike: dict[int, list[int]] = {}
        for number, (before, _) in enumerate(self.texts):
            alike.setdefault(len(before), []).append(number)
        self.batches = []
        for numbers in alike.values():
            for first in range(0, len(numbers), ROWS):
                self.batches.append(numbers[first : first + ROWS])

    @torch.no_grad()
    def __call__(self) -> list[Odds]:
        """The odds of every text, in order."""
        odds: dict[int, Odds] = {}
        for numbers in self.batches:
            prompts = [self.texts[number][0] for number in numbers]
            ids = torch.tensor(prompts, device=self.model.device)
            out = self.model.model(input_ids=ids, logits_to_keep=1, use_cache=False)
            log_ps = out.logits[:, -1].float().log_softmax(-1)
            for number, row in zip(numbers, log_ps, strict=True):
                answer, generic = row[self.texts[number][1]].tolist()
                odds[number] = Odds(answer, generic, row.max().item())
        return [odds[number] for number in range(len(self.texts))]


def _tokens(model: LocalModel, text: Completion) -> tuple[list[int], list[int]]:
    """The tokens that both ways to go on begin with, and the first in which each
    differs.
    """
    answer = model.tokens(text.after(text.answer))
    generic = model.tokens(text.after(text.generic))
    longest = max(len(answer), len(generic))
    shortest = min(len(answer), len(generic))
    beginning = f"{text.prompt[:40]!r} …"
    if longest > model.context:
        size = f"{model.context} of {model.name}"
        raise HeadwayError(
            f"a text of {longest} tokens, {beginning}, does not fit into the {size}"
        )
    start = common_start([answer, generic])
    if start == 0 or start >= shortest:
        both = f"{text.answer!r} from {text.generic!r}"
        raise HeadwayError(
            f"the tokens of {model.name} do not tell {both} after {beginning}"
        )
    return answer[:start], [answer[start], generic[start]]
