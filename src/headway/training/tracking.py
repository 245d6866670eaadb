"""Evaluations forwarded to a tracker of experiments while a run is trained: `--track`.

A tracker gets the lines of `metrics.jsonl`, each once, and the config; it decides nothing. The
run's folder keeps in `tracking.json` which of the tracker's runs it is, and how far that was told.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from headway.errors import HeadwayError
from headway.fields import NotNegative, found_in
from headway.training.config import flat
from headway.training.files import first_line
from headway.training.loop import Watch
from headway.training.run import Run
from headway.training.trackers import TRACKERS, Tracker, require_tracker

FILE = "tracking.json"


@dataclass
class Told:
    """What `tracking.json` keeps.

    Attributes:
        tracker: its name.
        id: of the tracker's run.
        attempt: which attempt that is, from 0; each has a run of its own, as its steps begin anew.
        step: of the last evaluation that was forwarded.
    """

    tracker: str
    id: str
    attempt: NotNegative
    step: NotNegative


class Tracking:
    """Forwards evaluations of runs to a tracker (a `Watch`). If that fails, training goes on.

    Args:
        name: of the tracker.
        tell: called once with a line if the tracker fails.

    Raises:
        HeadwayError: if there is no such tracker, or its package is not installed.
    """

    def __init__(self, name: str, tell: Callable[[str], None]):
        require_tracker(name)
        self.name, self._tell = name, tell
        self._failed = False
        self._going = dict[Path, "Going"]()

    def __call__(self, run: Run, step: int, end: int, metrics: dict[str, Any] | None) -> None:
        """Forwards the metrics, if the step was evaluated."""
        if metrics is not None:
            self._tried(lambda: self._forward(run, metrics))

    def close(self) -> None:
        """Tells the tracker how the runs ended."""
        for going in self._going.values():
            self._tried(lambda going=going: going.tracker.end(going.run.status))
        self._going.clear()

    def _tried(self, action: Callable[[], None]) -> None:
        if self._failed:
            return
        try:
            action()
        except Exception as error:
            self._failed = True
            self._tell(f"{self.name} failed, training goes on without it: {first_line(error)}")

    def _forward(self, run: Run, metrics: dict[str, Any]) -> None:
        going = self._going.get(run.folder)
        if going is not None and metrics["step"] > going.seen:
            going.seen = metrics["step"]
            self._log(run, going, metrics)
            return
        if going is None:
            going = self._begun(run)
        else:  # steps begin anew: the attempt was given up
            going.tracker.end("failed")
            going = self._new(run, going.told.attempt + 1)
        self._going[run.folder] = going
        going.seen = metrics["step"]
        for line in run.metrics():  # with those that were made before anybody tracked the run
            self._log(run, going, line)

    def _log(self, run: Run, going: "Going", line: dict[str, Any]) -> None:
        if line["step"] > going.told.step:
            going.tracker.log(values_in(line), line["step"])
            going.told.step = line["step"]
            run.write(FILE, asdict(going.told))

    def _begun(self, run: Run) -> "Going":
        """The tracker's run that a run goes on with, or a new one."""
        saved, known = run.load_state(), tracked(run)
        attempt = len(saved[1]["given_up"]) if saved is not None else 0
        if known is None or (known.tracker, known.attempt) != (self.name, attempt):
            return self._new(run, attempt)
        return Going(run, TRACKERS[self.name](_name(run, attempt), _params(run), known.id), known)

    def _new(self, run: Run, attempt: int) -> "Going":
        tracker = TRACKERS[self.name](_name(run, attempt), _params(run), None)
        told = Told(self.name, tracker.id, attempt, 0)
        run.write(FILE, asdict(told))
        return Going(run, tracker, told)


@dataclass
class Going:
    """A run that is forwarded; `seen` is the last step that this process evaluated."""

    run: Run
    tracker: Tracker
    told: Told
    seen: int = 0


@contextmanager
def tracking(name: str | None, watch: Watch, tell: Callable[[str], None]) -> Iterator[Watch]:
    """Forwards evaluations to a tracker, if one is named, and closes it at the end.

    Args:
        name: of the tracker, if any.
        watch: called after every step, too.
        tell: called once with a line if the tracker fails.

    Yields:
        What tells both.

    Raises:
        HeadwayError: as `Tracking` does.
    """
    if name is None:
        yield watch
        return
    forward = Tracking(name, tell)

    def both(run: Run, step: int, end: int, metrics: dict[str, Any] | None) -> None:
        watch(run, step, end, metrics)
        forward(run, step, end, metrics)

    try:
        yield both
    finally:
        forward.close()


def tracked(run: Run) -> Told | None:
    """Where a run was forwarded to, if it was.

    Raises:
        HeadwayError: if its `tracking.json` cannot be read.
    """
    data = run.read(FILE)
    return None if data is None else found_in(Told, data, str(run.folder / FILE))


def tracker_of(run: Run, tell: Callable[[str], None]) -> str | None:
    """The tracker that a run was forwarded to; None if to none, or to one not installed here.

    Args:
        run: the run.
        tell: called with a line if the tracker is not installed.
    """
    known = tracked(run)
    if known is None:
        return None
    try:
        require_tracker(known.tracker)
    except HeadwayError as error:
        tell(f"{run.folder}: {error}; training goes on without it")
        return None
    return known.tracker


def values_in(line: dict[str, Any]) -> dict[str, float]:
    """The figures of a line of `metrics.jsonl` by their names, a hop's loss as `partial/x_1`."""
    values = {name: value for name, value in line.items() if name not in ("step", "partial")}
    return values | {f"partial/{hop}": loss for hop, loss in line["partial"].items()}


def _name(run: Run, attempt: int) -> str:
    return run.folder.name + (f" attempt {attempt + 1}" if attempt else "")


def _params(run: Run) -> dict[str, Any]:
    """The config as plain data."""
    plain = (bool, int, float, str, type(None))
    return {
        name: value if isinstance(value, plain) else str(value)
        for name, value in flat(run.config).items()
    }
