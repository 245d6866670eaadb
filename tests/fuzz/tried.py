"""Cases that were tried, and which of them failed."""

import contextlib
import signal
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from headway.errors import HeadwayError

PATIENCE = 10
"""Seconds of a processor that a case may take."""
WAITING = 60
"""Seconds by the clock, of a machine that has other work, too."""


class TooLongError(BaseException):
    """A case takes too long. Nobody takes it for an error of the disk."""


@dataclass
class Tried:
    """The number of cases tried in every area, and those that failed."""

    counts: Counter[str] = field(default_factory=Counter)
    failed: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @contextlib.contextmanager
    def case(self, area: str, what: str, may_refuse: bool = False) -> Iterator[None]:
        """One case, which must not take long.

        Args:
            area: it is one of.
            what: is tried.
            may_refuse: whether it may end in a refusal, of one line.
        """
        self.counts[area] += 1
        before = [
            signal.signal(one, _too_long) for one in (signal.SIGALRM, signal.SIGPROF)
        ]
        signal.setitimer(signal.ITIMER_REAL, WAITING)
        signal.setitimer(signal.ITIMER_PROF, PATIENCE)
        try:
            yield
        except HeadwayError as error:
            if not may_refuse or not is_one_line(error):
                self.failed.append((area, f"{what}: {error}"))
        except (Exception, TooLongError) as error:
            self.failed.append((area, f"{what}: {type(error).__name__}: {error}"))
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.setitimer(signal.ITIMER_PROF, 0)
            for one, handler in zip(
                (signal.SIGALRM, signal.SIGPROF), before, strict=True
            ):
                signal.signal(one, handler)

    def note(self, what: str) -> None:
        """Take note of something to be told with the table."""
        self.notes.append(what)

    def table(self) -> str:
        """Tried and failed, by area."""
        wrong = Counter(area for area, _ in self.failed)
        rows = [
            f"| {area} | {n:,} | {wrong[area]} |" for area, n in self.counts.items()
        ]
        return "\n".join(["| area | tried | failed |", "|---|---|---|", *rows])


def is_one_line(error: HeadwayError | str) -> bool:
    """Tell whether a complaint is one line."""
    return bool(str(error)) and "\n" not in str(error)


def _too_long(*_: object) -> None:
    raise TooLongError("it took too long")
