"""The families of models whose circuits are known, each for a reason of its own."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from torch import nn

from headway import userfile
from headway.errors import require
from headway.judge import THRESHOLD
from headway.models import tapped
from headway.relations import AttentionPath
from headway.replace import Bench, Paths, Uniform
from headway.tasks import Task
from headway.training import held_out
from headway_experiments.arena.case import Known, LeftOutError
from headway_experiments.arena.compiled import compiled
from headway_experiments.arena.planted import planted
from headway_experiments.arena.siit import MODELS, build_siit
from headway_experiments.arena.tracr_model import HOW, has_tracr
from headway_experiments.arena.trained import TRAINED, build_trained

SEEDS = range(4000, 4060)
"""Seeds of planted models that nothing else has used."""

DEPTH = 5
"""The depth up to which models are built by hand."""

FROM = {"doubling": 1, "sequential": 3, "passing": 2}
"""The depth from which on a construction is one of its own."""


@dataclass(frozen=True)
class Family:
    """Models whose circuits are known for the same reason.

    Attributes:
        names: of the models.
        build: makes one by its name, and may keep what took long in a folder. It raises
            `LeftOutError` if the circuit is not known after all.
        missing: what it takes that is not here, and how to get it; None if nothing.
    """

    names: Sequence[str]
    build: Callable[[str, Path], Known]
    missing: str | None = None


def families(
    seeds: Sequence[int] = SEEDS, depth: int = DEPTH, strangers: Path | None = None
) -> Mapping[str, Family]:
    """All families by name.

    Circuits are decided by the selectors of Tracr, by training to them, by exhaustion,
    by hand, or at random. Those of strangers are not known.

    Args:
        seeds: of planted models.
        depth: up to which models are built by hand.
        strangers: a folder of others' models, see `build_stranger`.

    Raises:
        HeadwayError: if the folder has no models.
    """
    by_name = {
        "tracr": Family([], build_tracr, HOW),
        "siit": Family([], build_siit, HOW),
        "trained": Family([*TRAINED], build_trained),
    }
    if has_tracr():
        from headway_experiments.arena.tracr_programs import programs

        by_name["tracr"] = Family(list(programs()), build_tracr)
        by_name["siit"] = Family(MODELS, build_siit)
    by_hand = []
    for how, least in FROM.items():
        by_hand += [f"{how} D={d}" for d in range(least, depth + 1)]
    by_name["compiled"] = Family(by_hand, build_known)
    by_name["planted"] = Family([f"planted {seed}" for seed in seeds], build_known)
    by_name["strangers"] = _strangers(strangers)
    return by_name


def _strangers(folder: Path | None) -> Family:
    """The models of others in a folder, if there is one."""
    if folder is None:
        nowhere = partial(build_stranger, Path())
        return Family([], nowhere, "their folder is told by --strangers")
    names = [f"stranger {name}" for name in strangers_in(folder)]
    return Family(names, partial(build_stranger, folder))


def known_of(family: Family, name: str, folder: Path) -> Known:
    """A model of a family, after a look at whether there is a circuit to find.

    Raises:
        LeftOutError: if there is none: the model does not solve its task (a stranger
            does it as well as it does), or its attention does nothing for it.
    """
    known = family.build(name, folder)
    batch = held_out(known.task, 128, 0, "cpu", "case")
    bench = Bench(known.model, known.task, batch)
    # A known head may attend evenly, so that even attention would not switch it off.
    without = Paths(frozenset()) if known.knows == "heads" else Uniform()
    intact, nothing = bench.losses([{}, dict.fromkeys(bench.heads, without)])
    if known.knows != "nothing" and not intact < THRESHOLD:
        raise LeftOutError(f"its own loss is {intact:.3f}: it does not solve its task")
    if not nothing > THRESHOLD:
        raise LeftOutError(
            f"its loss is {nothing:.3f} without attention: there is no circuit"
        )
    return replace(known, name=name)


def strangers_in(place: Path) -> Mapping[str, tuple[Callable[[], nn.Module], Task]]:
    """The models of a folder: its `strangers.py` has them as MODELS, by name a function
    that builds a model, and its task.

    Raises:
        HeadwayError: if it has none.
    """
    models: Any = getattr(userfile.load(place / "strangers.py"), "MODELS", None)
    require(
        isinstance(models, Mapping), "MODELS in strangers.py", models, "models by name"
    )
    return models


def build_stranger(place: Path, name: str, folder: Path) -> Known:
    """A model that somebody else trained, for a task of theirs; its circuit is not
    known.
    """
    build, task = strangers_in(place)[name.removeprefix("stranger ")]
    model = tapped(build(), held_out(task, 2, 0, "cpu", "example").inputs)
    return Known(model, task, knows="nothing")


def build_known(name: str, folder: Path) -> Known:
    """A transformer by construction, for the retrieval problem, or with a random
    circuit.
    """
    how, number = name.replace(" D=", " ").split()
    if how == "planted":
        return replace(planted(int(number)), kind="")
    return replace(compiled(int(number), how), kind=how)


def build_tracr(name: str, folder: Path) -> Known:
    """A program that Tracr compiled. Every head of its circuit attends by a selector.

    Raises:
        HeadwayError: if Tracr is not installed or refuses the program, or its output is
            constant.
    """
    from headway_experiments.arena.tracr_programs import programs
    from headway_experiments.arena.tracr_task import RaspTask

    task = RaspTask(program=name)
    example = held_out(task, 2, 0, "cpu", "example").inputs
    truth = frozenset(AttentionPath.of(*path) for path in task.truth)
    model = tapped(task.compiled.module, example)
    return Known(model, task, truth, kind=programs()[name].origin)
