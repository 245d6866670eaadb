"""An experiment, as data: its groups of runs, what is measured, what is drawn, what is
claimed.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway import sweeps, terminal
from headway.dynamics import emergence
from headway.errors import HeadwayError, require
from headway.find import discover
from headway.judge import THRESHOLD, saved_discovery
from headway.recipes import changed, flat
from headway.training import Run, RunConfig
from headway.training.files import is_there
from headway_experiments.claims import (
    FRESH,
    SCALES,
    Claim,
    Measures,
    claims_beside,
    setting,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Configs = dict[str, RunConfig]
"""The configs of runs, by their names."""
Runs = Mapping[str, Run]
"""The runs of one group that are done, by name."""

PER_WEIGHT = 6
"""Floating-point operations per weight and position in a training step: 2 forward, 4
backward.
"""


Cost = tuple[str, int, int, float]
"""The most that a group costs: its name, how many runs or questions there are, how many
have ended, and the floating-point operations of all steps of those that have not."""


@dataclass(frozen=True)
class Group:
    """Runs that belong together; what is done lies in a folder of all groups, and is of
    a scale.

    Attributes:
        name: of the folder that they lie in.
        about: what they are, in a few words.
        plan: the config of every run by name, at a scale.
        taken_apart: whether their circuits are found and dated.
        threshold: the loss that circuits are to stay below, if so.
        seeded: the fields of a config that are seeds.
    """

    name: str
    about: str
    plan: Callable[[str], Configs]
    taken_apart: bool = False
    threshold: float = THRESHOLD
    seeded: tuple[str, ...] = ("seed",)

    def configs(self, scale: str) -> Configs:
        """The config of every run by name, at a scale.

        Scale `fresh` has the runs of `small`, with seeds by which no setting and no
        rule was chosen. Their names tell the new seeds.

        Raises:
            HeadwayError: if there is no such scale; if, for `fresh`, a seed is not
                below `FRESH`, or a run's name does not tell it.
        """
        require(scale in SCALES, "scale", scale, "one of " + ", ".join(SCALES))
        planned = self.plan(setting(scale))
        if scale != "fresh":
            return planned
        renewed = {}
        for name, config in planned.items():
            run = f"{self.name}, run {name!r}"
            old = f"seed={config.seed}"
            require(config.seed < FRESH, f"{run}: seed", config.seed, f"below {FRESH}")
            if old not in name:
                told = (
                    f"its name must tell {old}, as that of the fresh run tells another"
                )
                raise HeadwayError(f"{run}: {told}")
            fields = {field: flat(config)[field] + FRESH for field in self.seeded}
            new = name.replace(old, f"seed={config.seed + FRESH}")
            renewed[new] = changed(config, fields)
        return renewed

    def costs(self, scale: str, folder: Path) -> list[Cost]:
        """The cost of all runs, and the part of it that is done."""
        ended = self.outcomes(scale, folder)
        total = 0
        done = 0
        steps = 0
        for name, config in self.configs(scale).items():
            total += 1
            if ended[name]:
                done += 1
            else:
                steps += sweeps.step_cost(config) * config.training.steps
        return [(self.name, total, done, PER_WEIGHT * steps)]

    def obtain(self, scale: str, folder: Path, engine: sweeps.Engine | None) -> None:
        """Trains the runs, if there is an engine; then finds and dates circuits, if
        that is wanted.

        What is done stays. A run whose circuit cannot be found is left as it is: `gaps`
        tells that it lacks one.
        """
        if engine is not None:
            print(f"{self.name}: {self.about}")
            with terminal.following() as watch:
                planned = sweeps.Plan(f"{self.name}-{scale}", self.configs(scale))
                sweeps.sweep(planned, folder / self.name, engine, watch=watch)
        for name, run in self.found(scale, folder).items() if self.taken_apart else ():
            if run.read("emergence.json") is not None:
                continue
            print(f"{name}: finding and dating its circuit")
            try:
                known = run.read("circuit.json") is not None
                discovery = (
                    saved_discovery(run)
                    if known
                    else discover(run, threshold=self.threshold)
                )
                emergence(run, discovery)
            except HeadwayError as error:
                print(f"{name}: {error}")

    def found(self, scale: str, folder: Path) -> Mapping[str, Any]:
        """The runs that are done, by name."""
        runs = {}
        for name, outcome in self.outcomes(scale, folder).items():
            if outcome.get("status") == "done":
                runs[name] = Run.open(folder / self.name / name)
        return runs

    def gaps(self, scale: str, folder: Path) -> list[str]:
        """The runs that cannot be measured, and why."""
        ended = self.outcomes(scale, folder)
        gaps = []
        without = []
        if undone := sum(not outcome for outcome in ended.values()):
            gaps.append(f"{undone} of {len(ended)} runs of {self.name} are not done")
        for name, outcome in ended.items():
            place = folder / self.name / name
            if outcome.get("status") == "failed":
                message = str(outcome.get("message"))
                reason = message.replace(f" in {place}", "")
                gaps.append(f"{self.name}/{name} failed: {reason}")
            elif (
                outcome
                and self.taken_apart
                and Run.open(place).read("emergence.json") is None
            ):
                without.append(name)
        if without:
            told = ", ".join(without)
            gaps.append(f"no circuit was found in {told} of {self.name} ({self.about})")
        return gaps

    def outcomes(self, scale: str, folder: Path) -> dict[str, dict[str, Any]]:
        """The outcome of every run, from its folder; empty if it has not ended.

        Raises:
            HeadwayError: if a run there is not the planned one.
        """
        outcome_of: dict[str, dict[str, Any]] = {}
        for name, config in self.configs(scale).items():
            place, outcome_of[name] = folder / self.name / name, {}
            if is_there(place / "config.json"):
                run = Run.open(place)
                own = replace(config, device=run.config.device)
                sweeps.require_same(place, run.config, own)
                outcome_of[name] = run.outcome() or {}
        return outcome_of


Drawn = dict[str, tuple[str, "Figure"]]
"""Title and figure, by the name of its file."""


@dataclass(frozen=True)
class Experiment:
    """One figure of the paper, one study, one mechanism of the talk, or a user's own.

    Attributes:
        file: of the module that it is in: its `__file__`.
        name: what `headway reproduce` calls it.
        title: what it shows.
        groups: the runs it takes, or the questions that are asked.
        measure: the numbers that its claims are judged by, from what is done of each of
            its groups, group by group.
        draw: its figures, from the same.
        claims: about what is measured, from the .toml beside the module.
    """

    file: str
    name: str
    title: str
    groups: Sequence[Group]
    measure: Callable[..., Measures]
    draw: Callable[..., Drawn] = lambda *_: {}
    claims: Sequence[Claim] = field(init=False)

    def __post_init__(self):
        object.__setattr__(self, "claims", claims_beside(self.file, self.name))


def groups_of(experiments: Iterable[Experiment]) -> list[Group]:
    """The groups that experiments take, each once."""
    groups = [group for experiment in experiments for group in experiment.groups]
    return list({group.name: group for group in groups}.values())
