"""A sweep: a plan in a folder, carried out by an engine. What is done is what the folders say."""

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from pathlib import Path
from typing import Any

from filelock import FileLock

from headway.errors import HeadwayError, require
from headway.sweeps.board import Board, Standing, standing
from headway.sweeps.engine import Engine
from headway.sweeps.local import LocalEngine
from headway.sweeps.plan import Plan, default_folder, load_plan, read_plan
from headway.sweeps.work import Work
from headway.tasks.checking import require_sound
from headway.tasks.registry import change_of, keep
from headway.training import Run, RunConfig
from headway.training.config import flat
from headway.training.files import clear_io_errors, is_there, read_json, write_json
from headway.training.finding import PLAN
from headway.training.folder import RunFolder
from headway.training.stacked import shape_of
from headway.words import said

TRIES = 4
"""How often a run is begun before it is given up, if its process is ended from outside each time:
once, and resumed three times."""
LOST = "its process ended from outside or crashed (was there enough memory?)"
TICK = 0.2
"""The most seconds until the folders are looked at again."""
LATER = 1.0
"""Seconds until a run that another process writes to is tried again."""

SweepWatch = Callable[[Board, str | None], None]
"""Called with how all runs stand and the name of the one that stands differently; now and then
without a name."""


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
        watch: called with every change, to show progress.
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
    stackable = stack == 1 or any(shape_of(config) for config in plan.runs.values())
    require(
        stackable,
        "stack",
        stack,
        "1, as no run of this plan can share its steps, which takes training.curriculum = implicit"
        " or another that never changes",
    )
    with engine if engine is not None else LocalEngine() as engine:
        begin(place, plan)
        return Carrier(place.absolute(), plan, engine, retry_failed, watch).carry_out(stack)


class Carrier:
    """Gives an engine what is not done of a plan, and follows it in the run folders.

    Args:
        folder: of the sweep.
        plan: that is carried out.
        engine: that computes.
        retry_failed: whether runs that have failed are tried again.
        watch: called with every change.
    """

    def __init__(
        self,
        folder: Path,
        plan: Plan,
        engine: Engine,
        retry_failed: bool,
        watch: SweepWatch | None,
    ):
        self.configs, self.engine, self.retry_failed = plan.runs, engine, retry_failed
        self.folders = {name: folder / name for name in plan.runs}
        there = {name: standing(path) for name, path in self.folders.items() if is_there(path)}
        known = {name: one for name, one in there.items() if not self.is_open(one)}
        begun = {name: Standing(step=one.step) for name, one in there.items() if name not in known}
        self.board = Board(plan.runs, {**begun, **known})
        self.watch = watch if watch is not None else lambda board, name: None
        self.waiting: list[tuple[float, list[str]]] = []
        self.running: dict[Future[dict[str, str]], list[str]] = {}
        self.losses = Counter[str]()

    def carry_out(self, stack: int) -> Board:
        """Carries out all that is to be done, so many runs at once; how every run has ended."""
        left = [name for name, one in self.board.runs.items() if self.is_open(one)]
        self.waiting = [(0.0, names) for names in stacked(left, self.configs, stack)]
        self.watch(self.board, None)
        while self.waiting or self.running:
            self.submit()
            if not self.running:
                time.sleep(TICK)
            for future in wait(self.running, TICK, FIRST_COMPLETED).done:
                self.settle(self.running.pop(future), future)
            for name in [name for names in self.running.values() for name in names]:
                with contextlib.suppress(HeadwayError):  # which its process meets too, and tells
                    there = standing(self.folders[name])
                    if there.state == "done" or (there.state == "running" and there.step):
                        self.tell(name, there)
            self.watch(self.board, None)
        return self.board

    def is_open(self, there: Standing) -> bool:
        """Whether a run that stands so is still to be done, or to be tried again."""
        return not there.has_ended or (there.state == "failed" and self.retry_failed)

    def submit(self) -> None:
        """Gives the engine what waits, as far as it has places."""
        for since, names in [*self.waiting]:
            if since > time.monotonic():
                continue
            work = Work.of([self.folders[name] for name in names], self.configs[names[0]])
            if len(self.running) >= self.engine.places(work):
                return
            self.waiting.remove((since, names))
            if free := [name for name in names if self.is_free(name)]:
                folders = [self.folders[name] for name in free]
                future = self.engine.submit(Work.of(folders, self.configs[free[0]]))
                self.running[future] = free

    def is_free(self, name: str) -> bool:
        """Whether a run, whose folder is made if it is not there, can be gone on with now."""
        folder = self.folders[name]
        if not is_there(folder):
            try:
                Run.create(folder, self.configs[name])
            except HeadwayError as error:
                if not is_there(folder):  # else another process has just made it
                    self.tell(name, Standing("failed", message=str(error)))
                    return False
        there = standing(folder)
        if not self.is_open(there):
            self.tell(name, there)
        elif RunFolder(folder).status == "running":
            self.leave(name)
        else:
            self.tell(name, Standing("running", there.step, there.loss))
            return True
        return False

    def settle(self, names: Sequence[str], future: Future[dict[str, str]]) -> None:
        """Takes note of what became of runs: done, failed, lost, or another process has them.

        Those of a stack whose process has ended go on one by one. A run that was alone is resumed,
        or given up.
        """
        try:
            failures = future.result()
        except BrokenExecutor:
            self.losses.update(names if len(names) == 1 else [])
            failures = {
                name: f"{LOST}, {TRIES} times" for name in names if self.losses[name] >= TRIES
            }
            again = [name for name in names if name not in failures]
            self.waiting[:0] = [(0.0, [name]) for name in again]
            for name in again:
                self.tell(name, Standing(step=self.board.runs[name].step, message=LOST))
            names = [*failures]
        for name in names:
            try:
                if name in failures:
                    with contextlib.suppress(HeadwayError):  # the board tells it all the same
                        RunFolder(self.folders[name]).fail(failures[name])
                    self.tell(name, Standing("failed", message=failures[name]))
                    continue
                there = standing(self.folders[name])
            except HeadwayError as error:
                there = Standing("failed", message=str(error))
            if there.has_ended:
                self.tell(name, there)
            else:
                self.leave(name)

    def leave(self, name: str) -> None:
        """Leaves a run to the process that is writing to it, for now."""
        self.waiting.append((time.monotonic() + LATER, [name]))
        self.tell(name, Standing("elsewhere", self.board.runs[name].step))

    def tell(self, name: str, now: Standing) -> None:
        """Takes note of how a run stands, and tells of it if it stood otherwise."""
        before, self.board.runs[name] = self.board.runs[name], now
        if now != before:
            self.watch(self.board, name)


def stacked(names: Sequence[str], configs: dict[str, RunConfig], most: int) -> list[list[str]]:
    """Puts runs that can be trained at once into stacks, in their order.

    Args:
        names: of the runs.
        configs: of the runs, by name.
        most: runs in a stack.
    """
    stacks, last = list[list[str]](), dict[Any, list[str]]()
    for name in names:
        shape = shape_of(configs[name]) if most > 1 else None
        key = name if shape is None else tuple(shape.items())
        if key not in last or len(last[key]) >= most:
            last[key] = []
            stacks.append(last[key])
        last[key].append(name)
    return stacks


def begin(folder: Path, plan: Plan) -> None:
    """Makes a sweep's folder, or adds the new runs to the plan of the one that is there.

    Raises:
        HeadwayError: if it is the folder of a run or has another config under a plan's name, or the
            disk does not take it.
    """
    if is_there(folder / "config.json"):
        raise HeadwayError(f"{folder} is the folder of a run: choose another one for the sweep")
    with clear_io_errors(folder, "make"):
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / ".lock", timeout=60.0):
            known = read_plan(folder) if is_there(folder / PLAN) else Plan(plan.name, plan.runs)
            written = read_json(folder / PLAN)["runs"] if is_there(folder / PLAN) else {}
            for name, config in plan.runs.items():
                there = known.runs.get(name, config)
                change = change_of(written[name]["task"], config.task) if name in written else None
                if change is not None:
                    raise HeadwayError(
                        f"{folder / name}: {change}: put the file back as it was, or choose another"
                        " folder"
                    )
                if is_there(folder / name):
                    there = Run.open(folder / name).config
                require_same(folder / name, there, config)
            if written.keys() != (runs := {**known.runs, **plan.runs}).keys():
                write_json(folder / PLAN, Plan(known.name, runs).to_json())
    for task in {type(config.task): config.task for config in plan.runs.values()}.values():
        keep(task)


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
