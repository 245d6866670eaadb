"""A sweep: a plan in a folder, carried out by an engine. What is done is what the folders say."""

import shlex
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock

from headway.errors import HeadwayError, require
from headway.sweeps.board import Board
from headway.sweeps.engine import Engine, events
from headway.sweeps.jobs import Event, Job, settled, stacked
from headway.sweeps.local import LocalEngine
from headway.sweeps.plan import Plan
from headway.sweeps.sources import PLAN, default_folder, load_plan, read_plan
from headway.tasks.checking import require_sound
from headway.tasks.registry import change_of, keep
from headway.training import Run, RunConfig
from headway.training.config import flat
from headway.training.files import clear_io_errors, is_there, read_json, remove_drafts, write_json
from headway.training.stacked import shape_of
from headway.words import said

OLD = 3600.0
"""Seconds after which a half-made folder is taken to be left over from a killed process."""

SweepWatch = Callable[[Board, Event | None], None]
"""Called with every event and how all runs stand after it, and now and then without an event."""


def sweep(
    plan: Plan | str | Path,
    folder: str | Path | None = None,
    engine: Engine | None = None,
    retry_failed: bool = False,
    watch: SweepWatch | None = None,
    stack: int = 1,
) -> Board:
    """Carries out what is not done yet of a plan, in a folder with a run folder per config.

    It can be interrupted or killed at any moment and called again. Several processes may work in
    one folder: none repeats what another has done or is doing.

    Args:
        plan: the plan, or what `load_plan` takes.
        folder: of the sweep; by default the one that the plan comes from, or one in `runs/`.
        engine: that carries the runs out; by default worker processes on this machine.
        retry_failed: whether runs that have failed are tried again.
        watch: called with every event, to show progress.
        stack: the most runs that are trained at once in one stack, of those that can be
            (see `require_one_shape`).

    Returns:
        How every run of the plan has ended.

    Raises:
        HeadwayError: if a task cannot be used, the folder holds other configs under the same names,
            or the engine cannot start. Runs that fail do not stop the others.
    """
    require(stack >= 1, "stack", stack, "a whole number of at least 1")
    source = plan.name if isinstance(plan, Plan) else plan
    plan = plan if isinstance(plan, Plan) else load_plan(plan)
    for config in plan.runs.values():
        require_sound(config.task)
    place = Path(folder) if folder is not None else default_folder(source, plan)
    engine = engine or LocalEngine()
    stackable = stack == 1 or any(shape_of(config) for config in plan.runs.values())
    require(
        stackable,
        "stack",
        stack,
        "1, as no run of this plan can share its steps, which takes training.curriculum = implicit"
        " or another that never changes",
    )
    require_room(place, plan)
    try:
        with engine:
            begin(place, plan)
            for task in {type(config.task): config.task for config in plan.runs.values()}.values():
                keep(task)
            try:
                return _carry_out(place.absolute(), plan, engine, retry_failed, watch, stack)
            finally:
                engine.stop()
    except KeyboardInterrupt as stop:
        again = shlex.quote(str(place)) + engine.options
        again += f" --stack {stack}" if stack > 1 else ""
        again += " --retry-failed" if retry_failed else ""
        stop.add_note(f"continue with: headway sweep {again}")
        raise


def _carry_out(
    folder: Path,
    plan: Plan,
    engine: Engine,
    retry_failed: bool,
    watch: SweepWatch | None,
    stack: int,
) -> Board:
    board, jobs = Board(plan.runs), list[Job]()
    for name, config in plan.runs.items():
        job = Job(name, folder / name, config, retry_failed)
        end = settled(job)
        if end is None:
            jobs.append(job)
        else:
            board.found(end)
    if watch is not None:
        watch(board, None)
    for event in events(engine, stacked(jobs, stack)):
        if event is not None and event.kind == board.runs[event.name].state == "elsewhere":
            event = None  # it still is
        if event is not None:
            board.note(event)
        if watch is not None:
            watch(board, event)
    return board


def require_room(folder: Path, plan: Plan) -> None:
    """Raises `HeadwayError` if a folder is a run's, or has another config under a plan's name."""
    if is_there(folder / "config.json"):
        raise HeadwayError(f"{folder} is the folder of a run: choose another one for the sweep")
    known = read_plan(folder).runs if is_there(folder / PLAN) else {}
    written = read_json(folder / PLAN)["runs"] if known else {}
    for name, config in plan.runs.items():
        if name in known and (change := change_of(written[name]["task"], config.task)):
            raise HeadwayError(
                f"{folder / name}: {change}: put the file back as it was, or choose another folder"
            )
        if is_there(folder / name):
            require_same(folder / name, Run.open(folder / name).config, config)
        elif name in known:
            require_same(folder / name, known[name], config)


def require_same(folder: Path, there: RunConfig, planned: RunConfig) -> None:
    """Raises `HeadwayError` with the first field in which a run differs from the planned one."""
    if there == planned:
        return
    before, after = flat(there), flat(planned)
    names = [name for name in before | after if before.get(name) != after.get(name)]
    raise HeadwayError(
        f"{folder} is there already with {names[0]} = {said(before.get(names[0]))}, not"
        f" {said(after.get(names[0]))}: choose another folder, or other names"
    )


def begin(folder: Path, plan: Plan) -> None:
    """Makes a sweep's folder, or adds the new runs to the plan of the one that is there.

    Raises:
        HeadwayError: if another process has put other configs there, or the disk does not take it.
    """
    with clear_io_errors(folder, "make"):
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / ".lock", timeout=60.0)
        with lock:
            require_room(folder, plan)
            known = read_plan(folder) if is_there(folder / PLAN) else None
            runs = {**(known.runs if known else {}), **plan.runs}
            if known is None or runs.keys() != known.runs.keys():
                name = known.name if known else plan.name
                write_json(folder / PLAN, Plan(name, runs).to_json())
            remove_drafts(folder, PLAN)
            for path in folder.glob(".*.draft-*"):
                if path.is_dir() and time.time() - path.stat().st_mtime > OLD:
                    shutil.rmtree(path, ignore_errors=True)
