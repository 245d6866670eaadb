"""The models whose minimal circuits are counted."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from headway.errors import HeadwayError
from headway.models import tapped
from headway.tasks import Task
from headway.training import RunConfig, fast, held_out
from headway.userfile import load
from headway_experiments.arena import planted
from headway_experiments.arena.families import build_compiled
from headway_experiments.arena.trained import run_of
from headway_experiments.talk.induction import ordinary
from headway_experiments.tasks import Bigrams

FIRST = 7_000
"""The first seed of every family; nothing else has used the seeds from it on."""

SEEDS = {"retrieval D=1": 16, "retrieval D=2": 10, "retrieval D=3": 6, "bigrams": 6, "planted": 10}
"""The number of seeds of each family."""

BY_HAND = ("doubling D=1", "doubling D=2", "doubling D=3", "sequential D=3", "passing D=2")
"""Models whose weights are set by hand."""


class Model(NamedTuple):
    """A model that is studied.

    Attributes:
        family: of models that are made alike.
        name: of its own.
        build: makes model and task; what takes long is kept in a folder.
    """

    family: str
    name: str
    build: Callable[[Path], tuple[Any, Task]]


def models(others: Path | None = None) -> list[Model]:
    """The models in the order of their study, in which families take turns.

    Args:
        others: a Python file with `MODELS`: by name, a function that makes a module, and its task.

    Raises:
        HeadwayError: if that file has no such models.
    """
    families = [
        [Model("by hand", name, partial(_by_hand, name)) for name in BY_HAND],
        *(
            [
                Model(family, f"{family} seed {seed}", partial(_seeded, family, seed))
                for seed in range(FIRST, FIRST + count)
            ]
            for family, count in SEEDS.items()
        ),
        [] if others is None else list(_of_others(others)),
    ]
    return [one for turn in zip_longest(*families) for one in turn if one is not None]


def _by_hand(name: str, folder: Path) -> tuple[Any, Task]:
    known = build_compiled(name, folder)
    return known.model, known.task


def _seeded(family: str, seed: int, folder: Path) -> tuple[Any, Task]:
    if family == "planted":
        known = planted(seed)
        return known.model, known.task
    config = _in_context(seed) if family == "bigrams" else fast(int(family[-1]), seed)
    run = run_of(config, folder / "runs" / f"{family.replace(' ', '-')}-{seed}")
    return run.model(), run.task


def _in_context(seed: int) -> RunConfig:
    """Two layers on in-context bigrams of the synthetic corpus, as in the talk's experiment."""
    config = ordinary(2, "small")["seed=0"]
    task = Bigrams(length=64, asked_at="in-context")
    return replace(config, task=task, seed=seed)


def _of_others(file: Path) -> Iterator[Model]:
    found: dict[str, Any] = getattr(load(file), "MODELS", None) or {}
    if not found or not all(isinstance(one, tuple) and len(one) == 2 for one in found.values()):
        allowed = "a dictionary: by name, a function that makes a module, and its task"
        raise HeadwayError(f"{file}: MODELS must be {allowed}")
    for name, (make, task) in found.items():

        def build(_: Path, make: Callable[[], Any] = make, task: Task = task) -> tuple[Any, Task]:
            return tapped(make(), held_out(task, 2, 0, "cpu", "example").inputs), task

        yield Model("others", str(name), build)
