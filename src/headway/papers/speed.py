"""How long a training step takes on this machine, measured."""

import contextlib
import statistics
import tempfile
import time
from itertools import pairwise
from pathlib import Path

from headway.changes import changed
from headway.training import RunConfig, train

STEPS = 10
"""Steps that are measured, after one that is not."""
SECONDS = 20.0
"""Seconds after which no further step is measured."""


class _EnoughError(Exception):
    """Enough was measured."""


def seconds_a_step(config: RunConfig) -> float:
    """Seconds of one core for a step of a run: the median of ten, of fewer if they take long.

    The run is begun with one thread in a temporary folder, which is removed. A run of one step is
    timed with its beginning.

    Raises:
        HeadwayError: if the run cannot be begun.
    """
    marks = [time.process_time()]

    def watch(*_: object) -> None:
        marks.append(time.process_time())
        if len(marks) > 3 and (len(marks) > STEPS + 1 or marks[-1] - marks[1] > SECONDS):
            raise _EnoughError

    most = config.training.steps
    short = changed(
        config, {"threads": 1, "training.eval_every": most, "training.save_every": most}
    )
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(_EnoughError):
        train(short, Path(folder) / "run", watch)
    first, *others = (after - before for before, after in pairwise(marks))
    return statistics.median(others or [first])
