"""All minimal circuits of every model under every ablation: a line of JSON each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway.circuits import (
    AttentionPath,
    Bench,
    NoCircuitError,
    Yardstick,
    discover,
    every_circuit,
)
from headway.errors import require
from headway.fields import found_in, to_json
from headway.language import Ledger
from headway.tasks import Task
from headway.training import held_out
from headway_experiments.identifiability.models import Model

ABLATIONS = ("zero", "uniform", "own", "mean", "resample")
"""The contents of rows without a path, of a head that has paths."""

SEQUENCES = 128
"""Held-out sequences that sets of paths are judged on."""

MOST = 2_000
"""Sets of paths that are judged at most, a model and ablation."""


@dataclass(frozen=True)
class Count:
    """The minimal circuits of a model under an ablation.

    Attributes:
        family: of the model.
        model: its name.
        ablation: what stands in rows without a path.
        refused: why there is no circuit to look for; empty if there is.
        threshold: the loss that circuits stay below.
        candidates: the paths that circuits are made of.
        complete: no minimal circuit can be missing.
        circuits: the paths of every one of them.
    """

    family: str
    model: str
    ablation: str
    refused: str = ""
    threshold: float = 0.0
    candidates: int = 0
    complete: bool = True
    circuits: tuple[tuple[str, ...], ...] = ()

    @property
    def heads(self) -> set[frozenset[tuple[int, int]]]:
        """The different sets of heads that the circuits use."""
        parsed = ([AttentionPath.parse(path) for path in paths] for paths in self.circuits)
        return {frozenset(path.at for path in paths) for paths in parsed}

    def verdict(self, of: str) -> str:
        """The number of circuits (`paths`), or of sets of `heads`: none, one, several, or unknown.

        Unknown if the search is not complete and has not found two.
        """
        found = len(self.heads if of == "heads" else self.circuits)
        if found > 1:
            return "several"
        return ("none", "one")[found] if self.complete else "unknown"


def counted(
    folder: Path, models: Sequence[Model], most: int, watch: Callable[[Count], None]
) -> list[Count]:
    """The counts of all models, but for those of which the folder has them.

    Args:
        folder: of the counts, and of the models that are trained.
        models: to study.
        most: sets of paths that are judged at most, a model and ablation.
        watch: called with every new count.

    Raises:
        HeadwayError: if `most` is out of range, or the folder is in use or holds something else.
    """
    require(most >= 1, "most", most, "a whole number of at least 1")
    ledger = ledger_of(folder, most)
    with ledger.writing("cpu"):
        there = {(one.model, one.ablation) for one in read(ledger)}
        for model in models:
            left = [one for one in ABLATIONS if (model.name, one) not in there]
            built = model.build(folder) if left else None
            for ablation in left:
                assert built is not None
                found = count(model, *built, ablation, most)
                ledger.add(to_json(found))
                watch(found)
    return read(ledger)


def ledger_of(folder: Path, most: int = MOST) -> Ledger:
    """The folder of a study as a ledger."""
    asked = {"format": 1, "sequences": SEQUENCES, "most": most}
    return Ledger(folder, "identifiability", asked, "counts")


def read(ledger: Ledger) -> list[Count]:
    """The counts of a folder.

    Raises:
        HeadwayError: if a line is something else.
    """
    return [found_in(Count, line, str(ledger.path)) for line in ledger.lines()]


def count(model: Model, module: Any, task: Task, ablation: str, most: int) -> Count:
    """The minimal circuits of a model under an ablation, with the same threshold under all.

    It is the task's own, or else the loss that closes four fifths of the gap between the model's
    own loss and that without attention.
    """
    bench = Bench(module, task, held_out(task, SEQUENCES, 0, "cpu", "circuit"))
    known = model.family, model.name, ablation
    try:
        threshold = Yardstick.of(bench).limits(bench)[-1]
        found = discover(
            module,
            task,
            threshold=threshold,
            sequences=SEQUENCES,
            ablation=ablation,
            trials=False,
            workers=1,
        )
    except NoCircuitError as reason:
        return Count(*known, refused=str(reason))
    every = every_circuit(module, task, found, sequences=SEQUENCES, most=most, workers=1)
    circuits = tuple(tuple(map(str, paths)) for paths in every.circuits)
    return Count(*known, "", round(threshold, 4), len(every.candidates), every.complete, circuits)
