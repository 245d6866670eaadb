"""A language model with weights cut to low rank: how it goes on with texts, kept and resumable."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from headway.errors import HeadwayError
from headway.files import clear_content_errors
from headway.language import Ledger, LocalModel
from headway_experiments.truncation.cuts import Cut, Cuts, Truncation
from headway_experiments.truncation.odds import Completer, Odds
from headway_experiments.truncation.texts import Completion
from headway_experiments.truncation.weights import layers_of, named_matrices

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
        about = {"model": self.model, **asdict(self.cuts), "texts": [asdict(t) for t in self.texts]}
        return Ledger(folder, "truncation", {"format": 1, **about})

    def kept(self, folder: Path) -> Lines | None:
        """A folder's lines by `truncate_model`; None if one is missing.

        Raises:
            HeadwayError: if the folder holds something else, or is damaged.
        """
        ledger = self.ledger(folder)
        ledger.require_same()
        there, n_layers = self.there(ledger)
        wanted = self.cuts.of(n_layers)
        return {cut: there[cut] for cut in wanted} if there.keys() >= set(wanted) else None

    def there(self, ledger: Ledger) -> tuple[Lines, int]:
        """The lines so far, and how many layers the model has, 0 if none tells."""
        found, n_layers = Lines(), 0
        with clear_content_errors(ledger.path):
            for data in ledger.lines():
                cut = Cut(tuple(data["layers"]), data["weights"], data["fraction"])
                found[cut], n_layers = tuple(Odds(**one) for one in data["odds"]), data["n_layers"]
                if len(found[cut]) != len(self.texts):
                    raise HeadwayError(f"{ledger.path} does not fit the texts asked about")
        return found, n_layers


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
        HeadwayError: if the model has no such layer or weight, if a text does not fit into it, or
            if the folder holds something else, is damaged or in use.
    """
    ledger = asked.ledger(folder)
    ledger.require_same()
    model = load()
    layers = layers_of(model.model)
    places = named_matrices(layers)
    asked.cuts.require_in(places)
    wanted, truncation = asked.cuts.of(len(layers)), Truncation(places)
    completer = Completer(model, asked.texts)
    with ledger.writing(model.device):
        known, _ = asked.there(ledger)
        missing = [cut for cut in wanted if cut not in known]
        for done, cut in enumerate(missing, start=len(known) + 1):
            with truncation.applied(cut):
                odds = [one.to_json() for one in completer()]
            ledger.add({**asdict(cut), "n_layers": len(layers), "odds": odds})
            watch(done, len(wanted))
    return asked.kept(folder) or {}
