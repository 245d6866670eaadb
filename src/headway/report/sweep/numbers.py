"""The results of some runs over seeds: counts, median, mean and deviation."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, median, stdev

from headway.report.page.html import joined, number
from headway.report.sweep.entries import Entry


@dataclass(frozen=True)
class Came:
    """The results of some runs.

    Attributes:
        runs: how many there are.
        done: how many of them are done; what follows is about these.
        solved: how many of them solved the task.
        losses: their validation losses at the end, the least first.
    """

    runs: int
    done: int
    solved: int
    losses: list[float]

    @classmethod
    def of(cls, entries: Sequence[Entry]) -> "Came":
        """Counts the runs."""
        done = [entry for entry in entries if entry.done]
        losses = sorted(entry.loss for entry in done if entry.loss is not None)
        return cls(len(entries), len(done), sum(entry.solved for entry in done), losses)

    @property
    def median(self) -> float | None:
        """Of the losses."""
        return median(self.losses) if self.losses else None

    @property
    def cells(self) -> list[object]:
        """The cells of a table; their names are `COLUMNS`."""
        spread = stdev(self.losses) if len(self.losses) > 1 else None
        average = number(mean(self.losses) if self.losses else None)
        least, most = (self.losses[0], self.losses[-1]) if self.losses else (None, None)
        return [
            f"{self.done} of {self.runs}",
            f"{self.solved} of {self.done}",
            number(self.median),
            average if spread is None else joined(average, " ± ", number(spread)),
            self.done,
            number(least),
            number(most),
        ]


COLUMNS = ("done", "solved", "median loss", "mean ± st. dev.", "n", "least", "largest")


def bounds(losses: Sequence[float]) -> tuple[float, float]:
    """The ends of a logarithmic axis of losses."""
    return 0.8 * max(min([*losses, 0.04]), 1e-9), max([1.3, *losses])
