"""Groups of runs, which experiments are made of: what they cost, and how many are done."""

import contextlib
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from headway.changes import changed
from headway.circuits import discover, emergence, saved_discovery
from headway.errors import HeadwayError, require
from headway.sweeps import Plan, require_same, step_cost
from headway.training import Run, RunConfig, train
from headway.training.files import is_there
from headway_experiments.claims import SCALES
from headway_experiments.experiment import Group
from headway_experiments.scales import fresh

PER_WEIGHT = 6
"""Floating-point operations per weight and position in a training step: 2 forward, 4 backward."""

CPU, GPU = 4e10, 1e13
"""Operations per second of one core, and of one data-centre GPU, in such small models; for
estimates only."""


LEAST = 0.01
"""The least seconds that a step takes, however small the model."""
STEPS = 10
"""Steps that are measured, after one that is not."""
SECONDS = 20.0
"""Seconds after which no further step is measured."""


@dataclass(frozen=True)
class Cost:
    """The most that a group of runs costs.

    Attributes:
        group: its name.
        runs: how many there are.
        done: how many have ended.
        steps: of the optimiser, of those that have not.
        operations: floating-point operations of these steps.
        disk: bytes of all checkpoints of those that have not.
        rate: operations per second that one core of this machine reached in ten steps of one of
            these runs; None if that was not measured.
    """

    group: str
    runs: int
    done: int
    steps: int
    operations: float
    disk: float
    rate: float | None = None

    @property
    def cpu_hours(self) -> float:
        """Hours of one core."""
        if self.rate is not None:
            return self.operations / self.rate / 3600
        return (self.operations / CPU + self.steps * LEAST) / 3600

    @property
    def gpu_hours(self) -> float:
        """Hours of one GPU."""
        return (self.operations / GPU + self.steps * LEAST) / 3600


def plan(group: Group, scale: str) -> Plan:
    """The runs of a group at a scale.

    Raises:
        HeadwayError: if there is no such scale.
    """
    require(scale in SCALES, "scale", scale, "one of " + ", ".join(SCALES))
    runs = fresh(group) if scale == "fresh" else group.plan(scale)
    return Plan(f"{group.name}-{scale}", runs)


def cost(group: Group, scale: str, folder: Path, measured: bool = False) -> Cost:
    """What a group costs, and how much of it is done in a folder.

    Args:
        group: of runs.
        scale: of them.
        folder: of all groups.
        measured: whether to time ten steps of the run whose steps have the median size.
    """
    ended, configs = statuses(group, scale, folder), plan(group, scale).runs
    left = [config for name, config in configs.items() if ended[name] is None]
    return Cost(
        group.name,
        len(configs),
        len(configs) - len(left),
        sum(config.training.steps for config in left),
        sum(PER_WEIGHT * step_cost(config) * config.training.steps for config in left),
        sum(map(_disk, left)),
        _rate(left) if measured and left else None,
    )


def _rate(configs: Sequence[RunConfig]) -> float:
    """Operations per second in steps of the median size."""
    config = sorted(configs, key=step_cost)[len(configs) // 2]
    return PER_WEIGHT * step_cost(config) / seconds_a_step(config)


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


def take_apart(
    group: Group, scale: str, folder: Path, watch: Callable[[str, str], None] | None = None
) -> None:
    """Finds and dates the circuits of a group's runs that are done, where that is not done yet.

    A run whose circuit cannot be found is left as it is: `measured` tells that it lacks one.

    Args:
        group: of runs.
        scale: of them.
        folder: of all groups.
        watch: called with every run and what is done with it.
    """
    if not group.taken_apart:
        return
    for name, run in finished(group, scale, folder).items():
        if run.read("emergence.json") is not None:
            continue
        if watch is not None:
            watch(name, "finding and dating its circuit")
        try:
            known = run.read("circuit.json") is not None
            threshold = group.threshold
            found = saved_discovery(run) if known else discover(run, threshold=threshold)
            emergence(run, found)
        except HeadwayError as error:
            if watch is not None:
                watch(name, str(error))


def finished(group: Group, scale: str, folder: Path) -> dict[str, Run]:
    """The runs of a group that are done, by name."""
    ended = statuses(group, scale, folder).items()
    return {name: Run.open(folder / group.name / name) for name, end in ended if end == "done"}


def left_out(group: Group, scale: str, folder: Path) -> list[str]:
    """Which of a group's runs cannot be measured, and why."""
    ended, place = statuses(group, scale, folder), folder / group.name
    gaps = []
    if undone := sum(status is None for status in ended.values()):
        gaps.append(f"{undone} of {len(ended)} runs of {group.name} are not done")
    for name, status in ended.items():
        if status == "failed":
            outcome = Run.open(place / name).outcome() or {}
            message = str(outcome.get("message")).replace(f" in {place / name}", "")
            gaps.append(f"{group.name}/{name} failed: {message}")
    done = [name for name, status in ended.items() if status == "done"]
    without = [name for name in done if not is_there(place / name / "emergence.json")]
    if group.taken_apart and without:
        gaps.append(f"no circuit was found in {', '.join(without)} of {group.name} ({group.about})")
    return gaps


def statuses(group: Group, scale: str, folder: Path) -> dict[str, str | None]:
    """How every run of a group has ended, `done` or `failed`; None if it has not, or is not there.

    Raises:
        HeadwayError: if a run there is not the planned one.
    """
    found: dict[str, str | None] = {}
    for name, config in plan(group, scale).runs.items():
        place, found[name] = folder / group.name / name, None
        if is_there(place / "config.json"):
            run = Run.open(place)
            require_same(place, run.config, config)
            found[name] = (run.outcome() or {}).get("status")
    return found


def _disk(config: RunConfig) -> float:
    """Bytes of a run's checkpoints."""
    every, steps = config.training.checkpoint_every, config.training.steps
    positions = config.training.batch_size * config.task.length
    weights = step_cost(config) / positions
    return 4 * weights * (2 if every == 0 else 1 + steps // every)
