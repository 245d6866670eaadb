"""Groups of runs, which experiments are made of: what they cost, and how many are done."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from headway.circuits import discover, emergence, saved_discovery
from headway.errors import HeadwayError, require
from headway.papers.claims import SCALES
from headway.papers.experiment import Configs, Group
from headway.papers.scales import fresh
from headway.papers.speed import seconds_a_step
from headway.sweeps import Plan
from headway.sweeps.board import step_cost
from headway.sweeps.sweep import require_same
from headway.training import Run, RunConfig
from headway.training.files import is_there

PER_WEIGHT = 6
"""Floating-point operations per weight and position in a training step: 2 forward, 4 backward."""

CPU, GPU = 4e10, 1e13
"""Operations per second of one core, and of one data-centre GPU, in such small models; for
estimates only."""


LEAST = 0.01
"""The least seconds that a step takes, however small the model."""


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
    configs = plan(group, scale).runs
    left = {name: c for name, c in configs.items() if _ended(folder / group.name / name, c) is None}
    return Cost(
        group.name,
        len(configs),
        len(configs) - len(left),
        sum(c.training.steps for c in left.values()),
        sum(PER_WEIGHT * step_cost(c) * c.training.steps for c in left.values()),
        sum(_disk(c) for c in left.values()),
        _rate(list(left.values())) if measured and left else None,
    )


def _rate(configs: Sequence[RunConfig]) -> float:
    """Operations per second in steps of the median size."""
    config = sorted(configs, key=step_cost)[len(configs) // 2]
    return PER_WEIGHT * step_cost(config) / seconds_a_step(config)


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
    places = {name: (folder / group.name / name, c) for name, c in plan(group, scale).runs.items()}
    done = [name for name, (place, config) in places.items() if _ended(place, config) == "done"]
    return {name: Run.open(places[name][0]) for name in done}


def left_out(group: Group, configs: Configs, folder: Path) -> list[str]:
    """Which of a group's runs cannot be measured, and why."""
    ended = {name: _ended(folder / name, config) for name, config in configs.items()}
    gaps = []
    undone = [name for name, status in ended.items() if status is None]
    if undone:
        gaps.append(f"{len(undone)} of {len(configs)} runs of {group.name} are not done")
    for name, status in ended.items():
        if status == "failed":
            outcome = Run.open(folder / name).outcome() or {}
            message = str(outcome.get("message")).replace(f" in {folder / name}", "")
            gaps.append(f"{group.name}/{name} failed: {message}")
    if group.taken_apart:
        done = [name for name, status in ended.items() if status == "done"]
        without = [n for n in done if not is_there(folder / n / "emergence.json")]
        if without:
            gaps.append(
                f"no circuit was found in {', '.join(without)} of {group.name} ({group.about})"
            )
    return gaps


def _ended(folder: Path, config: RunConfig) -> str | None:
    """The status of a run that has ended; None if it has not, or is not there. Raises
    `HeadwayError` if the run there is not the planned one."""
    if not is_there(folder / "config.json"):
        return None
    run = Run.open(folder)
    require_same(folder, run.config, config)
    outcome = run.outcome()
    return None if outcome is None else outcome["status"]


def _disk(config: RunConfig) -> float:
    """Bytes of a run's checkpoints."""
    every, steps = config.training.checkpoint_every, config.training.steps
    positions = config.training.batch_size * config.task.length
    weights = step_cost(config) / positions
    return 4 * weights * (2 if every == 0 else 1 + steps // every)
