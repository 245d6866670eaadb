"""An experiment, as data: its runs, what is measured, what is drawn, what is claimed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headway.circuits import THRESHOLD
from headway.errors import HeadwayError, require
from headway.recipes import changed, flat
from headway.training import Run, RunConfig
from headway_experiments.claims import FRESH, SCALES, Claim, Measures, claims_beside, setting

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Configs = dict[str, RunConfig]
"""The configs of runs, by their names."""
Runs = Mapping[str, Run]
"""The runs of one group that are done, by name."""
Drawn = dict[str, tuple[str, "Figure"]]
"""Title and figure, by the name of its file."""


@dataclass(frozen=True)
class Group:
    """Runs that belong together.

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

        Scale `fresh` has the runs of `small`, with seeds by which no setting and no rule was
        chosen. Their names tell the new seeds.

        Raises:
            HeadwayError: if there is no such scale; if, for `fresh`, a seed is not below `FRESH`,
                or a run's name does not tell it.
        """
        require(scale in SCALES, "scale", scale, "one of " + ", ".join(SCALES))
        planned = self.plan(setting(scale))
        if scale != "fresh":
            return planned
        renewed = {}
        for name, config in planned.items():
            run, old = f"{self.name}, run {name!r}", f"seed={config.seed}"
            require(config.seed < FRESH, f"{run}: seed", config.seed, f"below {FRESH}")
            if old not in name:
                told = f"its name must tell {old}, as that of the fresh run tells another"
                raise HeadwayError(f"{run}: {told}")
            fields = {field: flat(config)[field] + FRESH for field in self.seeded}
            new = name.replace(old, f"seed={config.seed + FRESH}")
            renewed[new] = changed(config, fields)
        return renewed


@dataclass(frozen=True)
class Experiment:
    """One figure of the paper, one study, one mechanism of the talk, or a user's own.

    Attributes:
        file: of the module that it is in: its `__file__`.
        name: what `headway reproduce` calls it.
        title: what it shows.
        groups: the runs it takes.
        measure: the numbers that its claims are judged by, from the runs of each of its groups that
            are done, group by group, or from answers by model.
        draw: its figures, from the same.
        asks: whether it asks language models (see `paper.language_models`).
        claims: about what is measured, from the .toml beside the module.
    """

    file: str
    name: str
    title: str
    groups: Sequence[Group]
    measure: Callable[..., Measures]
    draw: Callable[..., Drawn] = lambda *_: {}
    asks: bool = False
    claims: Sequence[Claim] = field(init=False)

    def __post_init__(self):
        object.__setattr__(self, "claims", claims_beside(self.file, self.name))

    def texts(self, scale: str) -> list[str]:
        """The texts, in words, that the sequences of its runs are drawn from, at a scale."""
        tasks = [config.task for group in self.groups for config in group.configs(scale).values()]
        return list(dict.fromkeys(task.drawn_from for task in tasks if task.drawn_from))
