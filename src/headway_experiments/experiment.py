"""An experiment, as data: its runs, what is measured, what is drawn, what is claimed."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headway_experiments.claims import Claim, Measures, claims_beside
from headway_experiments.groups import Configs as Configs
from headway_experiments.groups import Group as Group
from headway_experiments.groups import Runs as Runs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
        measure: the numbers that its claims are judged by, from what is done of each of its groups,
            group by group.
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
    return list({group.name: group for one in experiments for group in one.groups}.values())
