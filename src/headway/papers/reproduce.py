"""Reproducing the paper: runs, circuits, dates, measures and figures, all from run folders."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway.circuits import discover, emergence, saved_discovery
from headway.errors import HeadwayError, require
from headway.papers import asking, setups, talk
from headway.papers.claims import SCALES, Measures, Verdict, claims
from headway.papers.experiment import Experiment
from headway.papers.setups import Configs
from headway.sweeps import Plan
from headway.sweeps.board import step_cost
from headway.sweeps.sweep import require_same
from headway.training import Run, RunConfig
from headway.training.environment import describe_environment
from headway.training.files import (
    clear_content_errors,
    clear_io_errors,
    is_there,
    read_json,
    write_json,
)

FORMAT = 1
"""Of the result files."""

GROUPS = setups.GROUPS | talk.GROUPS
"""All runs that there are to train, the paper's and the talk's."""

PER_WEIGHT = 6
"""Floating-point operations a weight and position in a training step: 2 forward, 4 backward."""

CPU, GPU = 4e10, 1e13
"""Operations a second that one core, and one data-centre GPU, reach in such small models; for
estimates only."""


LEAST = 0.01
"""Seconds that a step takes at least, however small the model."""


@dataclass(frozen=True)
class Cost:
    """What a group of runs takes, at most.

    Attributes:
        group: its name.
        runs: how many there are.
        done: how many have ended.
        steps: of the optimiser, of those that have not.
        operations: floating-point operations of these steps.
        disk: bytes of all checkpoints of those that have not.
    """

    group: str
    runs: int
    done: int
    steps: int
    operations: float
    disk: float

    @property
    def cpu_hours(self) -> float:
        """Hours of one core."""
        return (self.operations / CPU + self.steps * LEAST) / 3600

    @property
    def gpu_hours(self) -> float:
        """Hours of one GPU."""
        return (self.operations / GPU + self.steps * LEAST) / 3600


def chosen(names: Sequence[str], known: Mapping[str, Experiment], what: str) -> list[Experiment]:
    """The experiments of some names, `all` among them.

    Args:
        names: at least one.
        known: all experiments that there are, by name.
        what: they are called.

    Raises:
        HeadwayError: if there is none of a name.
    """
    for name in names:
        require(name in known or name == "all", what, name, listed(known))
    if "all" in names:
        return list(known.values())
    return [known[name] for name in dict.fromkeys(names)]


def listed(known: Mapping[str, Experiment]) -> str:
    """What there is to run, in words."""
    return "one of " + ", ".join([*known, "all"])


def groups_of(experiments: Iterable[Experiment]) -> list[str]:
    """The groups of runs that experiments take, each once."""
    return list(dict.fromkeys(name for one in experiments for name in one.groups))


def plan(group: str, scale: str) -> Plan:
    """The runs of a group at a scale.

    Raises:
        HeadwayError: if there is no such scale.
    """
    require(scale in SCALES, "scale", scale, "one of " + ", ".join(SCALES))
    return Plan(f"{group}-{scale}", GROUPS[group].plan(scale))


def cost(group: str, scale: str, folder: Path) -> Cost:
    """What a group takes, and how much of it is done in a folder."""
    configs = plan(group, scale).runs
    left = {name: c for name, c in configs.items() if _ended(folder / group / name, c) is None}
    return Cost(
        group,
        len(configs),
        len(configs) - len(left),
        sum(c.training.steps for c in left.values()),
        sum(PER_WEIGHT * step_cost(c) * c.training.steps for c in left.values()),
        sum(_disk(c) for c in left.values()),
    )


def take_apart(
    group: str, scale: str, folder: Path, watch: Callable[[str, str], None] | None = None
) -> None:
    """Finds and dates the circuits of a group's runs that are done, where that is not done yet.

    A run whose circuit cannot be found is left as it is: `measured` tells that it lacks one.

    Args:
        group: of runs.
        scale: of them.
        folder: of all groups.
        watch: told of every run what is done with it.
    """
    if not GROUPS[group].taken_apart:
        return
    for name, run in finished(group, scale, folder).items():
        if run.read("emergence.json") is not None:
            continue
        if watch is not None:
            watch(name, "finding and dating its circuit")
        try:
            known = run.read("circuit.json") is not None
            threshold = GROUPS[group].threshold
            found = saved_discovery(run) if known else discover(run, threshold=threshold)
            emergence(run, found)
        except HeadwayError as error:
            if watch is not None:
                watch(name, str(error))


def finished(group: str, scale: str, folder: Path) -> dict[str, Run]:
    """The runs of a group that are done, by name."""
    places = {name: (folder / group / name, c) for name, c in plan(group, scale).runs.items()}
    done = [name for name, (place, config) in places.items() if _ended(place, config) == "done"]
    return {name: Run.open(places[name][0]) for name in done}


def measured(experiment: Experiment, scale: str, folder: Path) -> tuple[Measures, str]:
    """What an experiment's runs give, and what is missing of them, in words.

    Raises:
        HeadwayError: if a file of a run is corrupted.
    """
    found, missing = gathered(experiment, scale, folder)
    return ({} if found is None else experiment.measure(found)), missing


def gathered(experiment: Experiment, scale: str, folder: Path) -> tuple[Any, str]:
    """What an experiment is measured by and drawn from, and what is missing of it, in words.

    Returns: its runs that are done, by group and name, or the answers of language models, by
        model; none if it needs some and there are none.

    Raises:
        HeadwayError: if a file is corrupted.
    """
    if experiment.asks:
        answers, gaps = asking.gathered(scale, folder / "asked")
        return answers or None, gaps
    runs, gaps = {}, []
    for group in experiment.groups:
        runs[group] = finished(group, scale, folder)
        gaps += _gaps(group, plan(group, scale).runs, folder / group)
    return (None if runs and not any(runs.values()) else runs), "; ".join(gaps)


def verdicts(experiment: Experiment, scale: str, found: Measures, missing: str) -> list[Verdict]:
    """The experiment's claims, judged."""
    return [
        Verdict(claim, scale, found.get(claim.measure, {}), missing)
        for claim in claims(experiment.name)
    ]


def draw(experiment: Experiment, scale: str, folder: Path) -> list[Path]:
    """Draws an experiment's figures from the run folders into `figures/`, as SVG and PNG.

    Returns: the SVG files. The same folders give the same bytes.
    """
    from headway.report.figures import save_figure

    found, _ = gathered(experiment, scale, folder)
    saved = []
    if found is None:
        return saved
    require_writable(folder / "figures")
    for name, (title, figure) in experiment.draw(found).items():
        for ending in ("svg", "png"):
            save_figure(figure, folder / "figures" / f"{name}.{ending}", title)
        saved.append(folder / "figures" / f"{name}.svg")
    return saved


def write(experiment: Experiment, scale: str, found: Measures, missing: str, results: Path) -> Path:
    """Writes an experiment's measures into `results/<scale>/<name>.json`.

    Raises:
        HeadwayError: if the disk does not take it.
    """
    path = results / scale / f"{experiment.name}.json"
    require_writable(path.parent)
    environment = describe_environment("cpu", 1)
    del environment["command"]  # it may name folders of this machine
    data = {
        "format": FORMAT,
        "figure": experiment.name,
        "scale": scale,
        "environment": environment,
        "missing": missing,
        "measures": found,
    }
    if used := experiment.texts(scale):
        data["texts"] = used
    write_json(path, data)
    return path


@dataclass(frozen=True)
class Result:
    """What a result file says of one experiment.

    Attributes:
        date: when it was written.
        machine: the processor.
        missing: why some of it could not be measured.
        measures: the numbers.
    """

    date: str
    machine: str
    missing: str
    measures: Measures


def read(experiment: str, scale: str, results: Path) -> Result | None:
    """The result of an experiment at a scale, or none if there is none.

    Raises:
        HeadwayError: if the file is corrupted, or of another format.
    """
    path = results / scale / f"{experiment}.json"
    if not is_there(path):
        return None
    data: Any = read_json(path)
    require(isinstance(data, dict), str(path), json.dumps(data)[:40], "an object of fields")
    version = data.get("format")
    require(version == FORMAT, f"{path}: format", version, f"{FORMAT}, as this headway writes it")
    with clear_content_errors(path):
        environment: Mapping[str, Any] = data["environment"]
        return Result(
            date=environment["started"][:10],
            machine=environment["processor"],
            missing=data["missing"],
            measures=data["measures"],
        )


def judged(
    known: Mapping[str, Experiment], scale: str, results: Path
) -> tuple[list[Verdict], dict[str, Result]]:
    """The claims of experiments, judged by the results that there are, and these by figure.

    Raises:
        HeadwayError: if a result file is corrupted, or of another format.
    """
    there, found = {}, []
    for name, experiment in known.items():
        result = read(name, scale, results)
        if result is not None:
            there[name] = result
        measures = result.measures if result else {}
        found += verdicts(experiment, scale, measures, result.missing if result else "")
    return found, there


def require_writable(folder: Path) -> None:
    """Makes a folder, if it is not there yet.

    Raises:
        HeadwayError: if the disk does not take it.
    """
    with clear_io_errors(folder, "make"):
        folder.mkdir(parents=True, exist_ok=True)


def shipped_results() -> Path:
    """Where the results lie that come with headway."""
    inside = Path(__file__).parent / "results"
    return inside if inside.is_dir() else Path(__file__).parents[3] / "results"


def _gaps(group: str, configs: Configs, folder: Path) -> list[str]:
    """What of a group's runs cannot be measured, and why."""
    ended = {name: _ended(folder / name, config) for name, config in configs.items()}
    gaps = []
    undone = [name for name, status in ended.items() if status is None]
    if undone:
        gaps.append(f"{len(undone)} of {len(configs)} runs of {group} are not done")
    for name, status in ended.items():
        if status == "failed":
            outcome = Run.open(folder / name).outcome() or {}
            message = str(outcome.get("message")).replace(f" in {folder / name}", "")
            gaps.append(f"{group}/{name} failed: {message}")
    if GROUPS[group].taken_apart:
        done = [name for name, status in ended.items() if status == "done"]
        without = [n for n in done if not is_there(folder / n / "emergence.json")]
        if without:
            gaps.append(f"no circuit was found in {', '.join(without)} of {group}")
    return gaps


def _ended(folder: Path, config: RunConfig) -> str | None:
    """The status of a run that has ended; none if it has not, or is not there.

    Raises:
        HeadwayError: if the run there is not the planned one.
    """
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
