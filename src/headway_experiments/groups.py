"""Groups of runs, which experiments are made of: what they cost, and how many are done."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from headway.circuits import discover, emergence, saved_discovery
from headway.errors import HeadwayError
from headway.files import is_there
from headway.sweeps import require_same, step_cost
from headway.training import Run
from headway_experiments.experiment import Experiment, Group

PER_WEIGHT = 6
"""Floating-point operations per weight and position in a training step: 2 forward, 4 backward."""


def groups_of(experiments: Iterable[Experiment]) -> list[Group]:
    """The groups of runs that experiments take, each once."""
    return list({group.name: group for one in experiments for group in one.groups}.values())


class Cost(NamedTuple):
    """The most that a group of runs costs.

    Attributes:
        group: its name.
        runs: how many there are.
        done: how many have ended.
        operations: floating-point operations of all steps of those that have not.
    """

    group: str
    runs: int
    done: int
    operations: float


def cost(group: Group, scale: str, folder: Path) -> Cost:
    """The cost of a group, and the part of it that is done in a folder with all groups."""
    ended, configs = outcomes(group, scale, folder), group.configs(scale)
    left = [config for name, config in configs.items() if not ended[name]]
    work = PER_WEIGHT * sum(step_cost(config) * config.training.steps for config in left)
    return Cost(group.name, len(configs), len(configs) - len(left), work)


def take_apart(group: Group, scale: str, folder: Path, watch: Callable[[str], None]) -> None:
    """Finds and dates the circuits of a group's runs that are done, where that is not done yet.

    A run whose circuit cannot be found is left as it is: `left_out` tells that it lacks one.

    Args:
        group: of runs.
        scale: of them.
        folder: of all groups.
        watch: called with what is done with a run, in words.
    """
    for name, run in finished(group, scale, folder).items() if group.taken_apart else ():
        if run.read("emergence.json") is not None:
            continue
        watch(f"{name}: finding and dating its circuit")
        try:
            known = run.read("circuit.json") is not None
            found = saved_discovery(run) if known else discover(run, threshold=group.threshold)
            emergence(run, found)
        except HeadwayError as error:
            watch(f"{name}: {error}")


def finished(group: Group, scale: str, folder: Path) -> dict[str, Run]:
    """The runs of a group that are done, by name."""
    ended = outcomes(group, scale, folder)
    done = [name for name, outcome in ended.items() if outcome.get("status") == "done"]
    return {name: Run.open(folder / group.name / name) for name in done}


def left_out(group: Group, scale: str, folder: Path) -> list[str]:
    """The runs of a group that cannot be measured, and why."""
    ended, gaps, without = outcomes(group, scale, folder), [], []
    if undone := sum(not outcome for outcome in ended.values()):
        gaps.append(f"{undone} of {len(ended)} runs of {group.name} are not done")
    for name, outcome in ended.items():
        place = folder / group.name / name
        if outcome.get("status") == "failed":
            message = str(outcome.get("message")).replace(f" in {place}", "")
            gaps.append(f"{group.name}/{name} failed: {message}")
        elif outcome and group.taken_apart and Run.open(place).read("emergence.json") is None:
            without.append(name)
    if without:
        gaps.append(f"no circuit was found in {', '.join(without)} of {group.name} ({group.about})")
    return gaps


def outcomes(group: Group, scale: str, folder: Path) -> dict[str, dict[str, Any]]:
    """The outcome of every run of a group, from its folder; empty if it has not ended.

    Raises:
        HeadwayError: if a run there is not the planned one.
    """
    found: dict[str, dict[str, Any]] = {}
    for name, config in group.configs(scale).items():
        place, found[name] = folder / group.name / name, {}
        if is_there(place / "config.json"):
            run = Run.open(place)
            require_same(place, run.config, replace(config, device=run.config.device))
            found[name] = run.outcome() or {}
    return found
