"""A sweep: a plan in a folder, carried out by an engine; folders tell its state."""

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

from filelock import FileLock

from headway.errors import HeadwayError
from headway.fields import found_in, said, to_json
from headway.reading import parsed
from headway.sweeps.engines import Engine
from headway.sweeps.plan import Plan, default_folder, load_plan, read_plan
from headway.tasks.checking import require_sound
from headway.tasks.registry import keep
from headway.training import Run, RunConfig
from headway.training.config import flat
from headway.training.files import (
    clear_io_errors,
    is_there,
    owned,
    whole_lines,
    write_json,
)
from headway.training.finding import PLAN
from headway.training.run import Evaluation
from headway.training.size import n_weights

State = Literal["waiting", "running", "done", "failed"]

TRIES = 4
"""The times a run is begun before it is given up, if its process is ended from outside
each time: once, and resumed three times."""
LOST = "its process ended from outside or crashed (was there enough memory?)"
TICK = 0.2
"""The most seconds until the folders are looked at again."""

SweepWatch = Callable[["Board", str | None], None]
"""Called with how all runs stand and the name of the one that stands differently; now
and then without a name."""


@dataclass(frozen=True)
class Standing:
    """The state of one run.

    Attributes:
        state: `running` if a process is writing to the run, of this sweep or another.
        step: that it is at.
        loss: of the last evaluation.
        message: why it failed, or is to be resumed.
    """

    state: State = "waiting"
    step: int = 0
    loss: float | None = None
    message: str | None = None

    @property
    def has_ended(self) -> bool:
        """True if it is done or failed."""
        return self.state in ("done", "failed")


class Board:
    """The state of every run of a sweep. (A step takes at least as long as 1e7
    multiplications.)

    Args:
        configs: of every run by name.
        runs: how those stand that were begun before.

    Attributes:
        runs: how each stands, by name.
        before: how many runs had ended before, by how they ended.
    """

    def __init__(self, configs: Mapping[str, RunConfig], runs: Mapping[str, Standing]):
        self.runs = {name: runs.get(name, Standing()) for name in configs}
        self.before = Counter(run.state for run in self.runs.values() if run.has_ended)
        self.steps = {name: config.training.steps for name, config in configs.items()}
        self._costs: dict[str, float] = {}
        for name, config in configs.items():
            self._costs[name] = (1e7 + step_cost(config)) * config.training.steps
        self._begun = time.monotonic()
        self._share = self.share

    def named(self, state: State) -> list[str]:
        """The runs in a state, in the order of the plan."""
        return [name for name, run in self.runs.items() if run.state == state]

    @property
    def ended(self) -> int:
        """The number of runs that have ended."""
        return sum(run.has_ended for run in self.runs.values())

    @property
    def share(self) -> float:
        """The share of all computing that is done; an ended run counts as whole."""
        done = list[float]()
        for name, run in self.runs.items():
            share = 1.0 if run.has_ended else run.step / self.steps[name]
            done.append(self._costs[name] * share)
        return sum(done) / sum(self._costs.values())

    def seconds_left(self) -> float | None:
        """About how long the rest will take; None if that is not known yet."""
        made = self.share - self._share
        if made <= 0:
            return None
        taken = time.monotonic() - self._begun
        return (1 - self.share) * taken / made


def standing(run: Run) -> Standing:
    """The state of a run, perhaps without a folder: ended, or its last evaluation.

    Raises:
        HeadwayError: if that cannot be read.
    """
    outcome = run.outcome()
    path = run.folder / "metrics.jsonl"
    step, loss = 0, None
    if lines := whole_lines(path):
        last = found_in(Evaluation, parsed(lines[-1], path), str(path))
        step = last.step
        loss = last.val_loss
    if outcome is not None:
        return Standing(outcome["status"], outcome["step"], loss, outcome["message"])
    state = "running" if run.status == "running" else "waiting"
    return Standing(state, step, loss)


def step_cost(config: RunConfig) -> float:
    """The cost of a training step, up to a factor: weights times positions."""
    weights = n_weights(config.transformer, config.task)
    return config.training.batch_size * config.task.length * float(weights)


def sweep(
    plan: Plan | str | Path,
    folder: str | Path | None = None,
    engine: Engine | None = None,
    retry_failed: bool = False,
    watch: SweepWatch | None = None,
) -> Board:
    """Carries out what is left of a plan, in a folder with a run folder per config.

    It can be interrupted or killed at any moment and called again. Several processes
    may work in one folder: none repeats what another has done or is doing.

    Args:
        plan: the plan, or what `load_plan` takes.
        folder: of the sweep; by default the one that the plan comes from, or one in
            `runs/`.
        engine: that carries the runs out; by default worker processes on this machine.
        retry_failed: whether runs that have failed are tried again.
        watch: called with every change, to show progress.

    Returns:
        How every run of the plan has ended.

    Raises:
        HeadwayError: if a task cannot be used, the folder holds other configs under the
            same names, or the engine cannot start. Runs that fail do not stop the
            others.
    """
    source = plan.name if isinstance(plan, Plan) else plan
    plan = plan if isinstance(plan, Plan) else load_plan(plan)
    for config in plan.runs.values():
        require_sound(config.task)
    place = Path(folder) if folder is not None else default_folder(source, plan)
    with engine if engine is not None else Engine() as engine:
        begin(place, plan)
        watch = watch if watch is not None else lambda board, name: None
        runs = {
            name: Run(place.absolute() / name, config)
            for name, config in plan.runs.items()
        }
        return Carrier(runs, engine, retry_failed, watch).carry_out()


@dataclass(frozen=True)
class Carrier:
    """Gives an engine what is not done of a plan, and follows it in the run folders."""

    runs: Mapping[str, Run]
    engine: Engine
    retry_failed: bool
    watch: SweepWatch

    def carry_out(self) -> Board:
        """Carries out all that is to be done; how every run has ended."""
        board = self.board
        running = dict[Future[str | None], str]()
        losses = Counter[str]()
        self.watch(board, None)
        while running or board.ended < len(board.runs):
            open_runs = [name for name, run in board.runs.items() if not run.has_ended]
            for name in [name for name in open_runs if name not in running.values()]:
                run = self.runs[name]
                if len(running) >= self.engine.places(run.config):
                    break
                if self.is_free(name):
                    running[self.engine.submit(run.folder, run.config)] = name
            if not running:
                time.sleep(TICK)
            for work in wait(running, TICK, FIRST_COMPLETED).done:
                name = running.pop(work)
                try:
                    self.settle(name, work.result())
                except (EOFError, OSError):
                    losses[name] += 1
                    if losses[name] == TRIES:
                        self.settle(name, f"{LOST}, {TRIES} times")
                    else:
                        self.tell(
                            name, Standing(step=board.runs[name].step, message=LOST)
                        )
            for name in running.values():
                with contextlib.suppress(
                    HeadwayError
                ):  # which its process meets too, and tells
                    now = standing(self.runs[name])
                    if now.state == "running":
                        self.tell(name, now)
            self.watch(board, None)
        return board

    @cached_property
    def board(self) -> Board:
        """The state of all runs; at first, as their folders say."""
        states: dict[str, Standing] = {}
        for name, run in self.runs.items():
            now = standing(run)
            if now.state == "failed" and self.retry_failed:
                now = Standing(step=now.step)
            states[name] = now
        configs = {name: run.config for name, run in self.runs.items()}
        return Board(configs, states)

    def is_free(self, name: str) -> bool:
        """Tell whether a run, whose folder may be missing, can go on now."""
        run = self.runs[name]
        try:
            if not is_there(run.folder):
                Run.create(run.folder, run.config)
        except HeadwayError as error:
            if not is_there(run.folder):  # else another process has just made it
                self.tell(name, Standing("failed", message=str(error)))
                return False
        now = standing(run)
        is_free = now.state == "waiting" or (
            now.state == "failed" and self.retry_failed
        )
        self.tell(name, Standing("running", now.step, now.loss) if is_free else now)
        return is_free

    def settle(self, name: str, failure: str | None) -> None:
        """Records the end of a run: done, failed, or another process has it."""
        run = self.runs[name]
        try:
            if failure is not None:
                with run.writing("outcome.json"):
                    run.end(failure)
            now = standing(run)
        except HeadwayError as error:  # which the board tells alone
            now = Standing("failed", message=failure or str(error))
        self.tell(
            name, now if now.has_ended else Standing("running", now.step, now.loss)
        )

    def tell(self, name: str, now: Standing) -> None:
        """Takes note of how a run stands, and tells of it if it stood otherwise."""
        before = self.board.runs[name]
        self.board.runs[name] = now
        if now != before:
            self.watch(self.board, name)


def begin(folder: Path, plan: Plan) -> None:
    """Makes a sweep's folder, or adds new runs to the plan that is there.

    Raises:
        HeadwayError: if it is the folder of a run or has another config under a plan's
            name, a run in it is a link, or the disk does not take it.
    """
    if is_there(folder / "config.json"):
        raise HeadwayError(
            f"{folder} is the folder of a run: choose another one for the sweep"
        )
    with clear_io_errors(folder, "make"):
        folder.mkdir(parents=True, exist_ok=True)
        for name in (PLAN, *plan.runs):
            owned(folder, name)
        with FileLock(owned(folder, ".lock"), timeout=60.0):
            known = read_plan(folder) if is_there(folder / PLAN) else plan
            for name, config in plan.runs.items():
                begun = Run.open(folder / name) if is_there(folder / name) else None
                if begun is not None and begun.changed:
                    raise HeadwayError(
                        f"{begun.folder}: {begun.changed}: put the file back as it was,"
                        " or choose another folder"
                    )
                before = known.runs.get(name, config) if begun is None else begun.config
                require_same(folder / name, before, config)
            if known is plan or plan.runs.keys() - known.runs.keys():
                whole = replace(known, runs=known.runs | plan.runs)
                write_json(folder / PLAN, to_json(whole))
    tasks = {type(config.task): config.task for config in plan.runs.values()}
    for task in tasks.values():
        keep(task)


def require_same(folder: Path, made: RunConfig, planned: RunConfig) -> None:
    """Raises `HeadwayError` with the first field in which a run is not as planned."""
    if made == planned:
        return
    before = flat(made)
    after = flat(planned)
    names = [name for name in before | after if before.get(name) != after.get(name)]
    first = names[0]
    then = said(before.get(first))
    now = said(after.get(first))
    raise HeadwayError(
        f"{folder} is there already with {first} = {then}, not {now}:"
        " choose another folder, or other names"
    )
