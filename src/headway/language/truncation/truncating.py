"""A language model with weights cut to low rank: how it goes on with texts, kept and resumable."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from headway.errors import HeadwayError
from headway.language.ledger import Ledger
from headway.language.local import LocalModel
from headway.language.truncation import low_rank
from headway.language.truncation.completing import Completer, Odds
from headway.language.truncation.completions import Completion
from headway.language.truncation.low_rank import Cut
from headway.language.truncation.matrices import layers_of, matrices
from headway.language.truncation.replay import Replay
from headway.training.files import clear_content_errors

FORMAT = 1
"""Of `truncation.json`."""

NAME = "truncation"

UPPER = 1 / 3
"""The part of a model's layers that are truncated if none are named: the late ones."""


@dataclass(frozen=True)
class Truncating:
    """What is truncated, and which texts are gone on with.

    Attributes:
        model: its name or path.
        layers: each alone and with those above it among them; by default the upper third.
        weights: sets of weights, each truncated as one.
        fractions: of the full rank.
        texts: to go on with.
    """

    model: str
    layers: tuple[int, ...] | None
    weights: tuple[str, ...]
    fractions: tuple[float, ...]
    texts: tuple[Completion, ...]

    def __post_init__(self):
        low_rank.require_fractions(self.fractions)
        low_rank.require_names(self.weights)

    def ledger(self, folder: Path) -> Ledger:
        """The folder that keeps what comes of it."""
        return Ledger(folder, NAME, {"format": FORMAT, **asdict(self)})


@dataclass(frozen=True)
class Line:
    """What comes of one cut.

    Attributes:
        cut: what is truncated; the intact model is among the lines.
        kept: share of the truncated weights' squares that is left.
        n_layers: that the model has.
        odds: of every text, in order.
    """

    cut: Cut
    kept: float
    n_layers: int
    odds: tuple[Odds, ...]

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        odds = [one.to_json() for one in self.odds]
        about = {"kept": round(self.kept, 6), "n_layers": self.n_layers}
        return {**asdict(self.cut), **about, "odds": odds}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Line":
        """What `to_json` wrote."""
        cut = Cut(tuple(data["layers"]), data["weights"], data["fraction"])
        odds = tuple(Odds(**one) for one in data["odds"])
        return cls(cut, data["kept"], data["n_layers"], odds)


def truncate(
    asked: Truncating,
    load: Callable[[], LocalModel],
    folder: Path,
    watch: Callable[[int, int], None] | None = None,
) -> list[Line]:
    """Evaluates all cuts that the folder does not hold yet; each is kept at once.

    Args:
        asked: what.
        load: the model; called once, and before anything is written.
        folder: new, or of the same asking before.
        watch: told how many of how many cuts are evaluated.

    Returns: a line a cut, the intact model first.

    Raises:
        HeadwayError: if the model has no such layer or weight, if a text does not fit into it, or
            if the folder holds something else, is damaged or in use.
    """
    ledger = asked.ledger(folder)
    ledger.require_same()
    model = load()
    layers = layers_of(model.model)
    places = matrices(layers)
    chosen = _chosen(asked, len(places))
    low_rank.require_there(places, chosen, asked.weights)
    wanted = low_rank.cuts(chosen, asked.weights, asked.fractions)
    reader = Completer(model, asked.texts, Replay(layers, chosen))
    with ledger.writing(model.device):
        known = {line.cut for line in _lines(ledger, asked)}
        missing = [cut for cut in wanted if cut not in known]
        for cut, kept, odds in low_rank.truncate(places, missing, lambda cut: reader(cut.lowest)):
            ledger.add(Line(cut, kept, len(places), tuple(odds)).to_json())
            known.add(cut)
            if watch is not None:
                watch(len(known), len(wanted))
    return _whole(asked, _lines(ledger, asked)) or []


def truncated(asked: Truncating, folder: Path) -> list[Line] | None:
    """What `truncate` left in a folder; none if something of it is missing.

    Raises:
        HeadwayError: if the folder holds something else, or is damaged.
    """
    ledger = asked.ledger(folder)
    ledger.require_same()
    return _whole(asked, _lines(ledger, asked))


def _whole(asked: Truncating, lines: Sequence[Line]) -> list[Line] | None:
    """The lines in the order of what is wanted, if none is missing."""
    if not lines:
        return None
    wanted = low_rank.cuts(_chosen(asked, lines[0].n_layers), asked.weights, asked.fractions)
    found = {line.cut: line for line in lines}
    return [found[cut] for cut in wanted] if found.keys() >= set(wanted) else None


def _chosen(asked: Truncating, n_layers: int) -> list[int]:
    late = range(n_layers - max(1, round(UPPER * n_layers)), n_layers)
    return sorted(set(late if asked.layers is None else asked.layers))


def _lines(ledger: Ledger, asked: Truncating) -> list[Line]:
    data = ledger.lines()
    with clear_content_errors(ledger.folder / f"{NAME}.jsonl"):
        lines = [Line.from_json(line) for line in data]
    if any(len(line.odds) != len(asked.texts) for line in lines):
        raise HeadwayError(f"{ledger.folder / NAME}.jsonl does not fit the texts asked about")
    return lines
