"""A case: a model, its task and its known circuit; and where cases come from."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath

from headway.circuits import Path
from headway.errors import HeadwayError
from headway.models import Tappable
from headway.tasks import Task
from headway_experiments.arena.compiled import compiled
from headway_experiments.arena.planted import planted


@dataclass(frozen=True)
class Case:
    """A model whose circuit is known.

    Attributes:
        name: of the model.
        model: with a tap.
        task: that it solves.
        required: the paths of its circuit.
        alternatives: of each group exactly one option, a set of paths, belongs to it, any one.
        kind: what sort of model of its family it is.
    """

    name: str
    model: Tappable
    task: Task
    required: frozenset[Path]
    alternatives: tuple[tuple[frozenset[Path], ...], ...] = ()
    kind: str = ""


class LeftOutError(HeadwayError):
    """A model that belongs to a family but cannot be a case, and why."""


@dataclass(frozen=True)
class Family:
    """Models whose circuits are known for the same reason.

    Attributes:
        about: what decides their circuits.
        names: of the models, when they are asked for.
        build: makes one by its name, and may keep what took long in a folder. It raises
            `LeftOutError` if the model cannot be a case.
        missing: what it takes that is not installed, and how to get it; None if nothing.
    """

    about: str
    names: Callable[[], Sequence[str]]
    build: Callable[[str, FilePath], Case]
    missing: str | None = None


CONSTRUCTIONS = {"doubling": range(1, 6), "sequential": range(3, 6), "passing": range(2, 6)}
COMPILED = {
    f"{how} D={depth}": (depth, how) for how, depths in CONSTRUCTIONS.items() for depth in depths
}
"""The compiled models that differ: at D = 1 all constructions are one, at D = 2 two of them."""

PLANTED = {f"planted {seed}": seed for seed in range(4000, 4040)}
"""Planted models, by seeds that nothing else has used."""


def build_compiled(name: str, folder: FilePath) -> Case:
    """A transformer that solves the retrieval problem by construction."""
    known = compiled(*COMPILED[name])
    return Case(name, known.model, known.task, known.required, known.alternatives, name.split()[0])


def build_planted(name: str, folder: FilePath) -> Case:
    """A transformer with a random circuit."""
    known = planted(PLANTED[name])
    return Case(name, known.model, known.task, known.required, known.alternatives)
