"""The families of models, by name."""

from pathlib import Path as FilePath

from headway.circuits import THRESHOLD, Bench, Path, ablated
from headway.errors import HeadwayError, require
from headway.models import tapped
from headway.training import held_out
from headway_experiments.arena.case import (
    COMPILED,
    PLANTED,
    Case,
    Family,
    LeftOutError,
    build_compiled,
    build_planted,
)
from headway_experiments.arena.tracr_model import HOW, has_tracr
from headway_experiments.arena.trained import TRAINED, build_trained


def families() -> dict[str, Family]:
    """All families."""
    missing = None if has_tracr() else HOW
    return {
        "tracr": Family("compiled by Tracr: its selectors", tracr_names, build_tracr, missing),
        "trained": Family("trained: the one minimal circuit", lambda: [*TRAINED], build_trained),
        "compiled": Family("built by hand", lambda: [*COMPILED], build_compiled),
        "planted": Family("built at random", lambda: [*PLANTED], build_planted),
    }


def tracr_names() -> list[str]:
    """The programs that Tracr is given; none where it is not installed."""
    if not has_tracr():
        return []
    from headway_experiments.arena.tracr_programs import programs

    return list(programs())


def case_of(family: str, name: str, folder: FilePath) -> Case:
    """A case, after a look at whether there is a circuit to find.

    Raises:
        LeftOutError: if there is none: the model does not solve its task, or its attention does
            nothing for it.
        HeadwayError: if there is no such family or model.
    """
    known = families()
    require(family in known, "family", family, f"one of {', '.join(known)}")
    names = known[family].names()
    require(name in names, "model", name, f"one of {', '.join(names)}")
    case = known[family].build(name, folder)
    bench = Bench(case.model, case.task, held_out(case.task, 128, 0, "cpu", "case"))
    intact, nothing = bench.losses([{}, ablated(bench)])
    if not intact < THRESHOLD:
        raise LeftOutError(f"its own loss is {intact:.3f}: it does not solve its task")
    if not nothing > THRESHOLD:
        raise LeftOutError(f"its loss is {nothing:.3f} without attention: there is no circuit")
    return case


def build_tracr(name: str, folder: FilePath) -> Case:
    """A program that Tracr compiled. Every head of its circuit attends by a selector.

    Raises:
        HeadwayError: if Tracr is not installed or refuses the program, or its output is constant.
    """
    from headway_experiments.arena.tracr_programs import programs
    from headway_experiments.arena.tracr_task import RaspTask

    if not has_tracr():
        raise HeadwayError(f"the family tracr needs Tracr: {HOW}")
    task = RaspTask(program=name)
    example = held_out(task, 2, 0, "cpu", "example").inputs
    truth = frozenset(Path.of(*one) for one in task.truth)
    model = tapped(task.compiled.module, example)
    return Case(name, model, task, truth, kind=programs()[name].origin)
