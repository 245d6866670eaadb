"""The engine that needs nothing else: worker processes on this machine."""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from multiprocessing.connection import wait
from typing import Self

from headway.errors import HeadwayError, require
from headway.sweeps.crew import Worker, stop_all
from headway.sweeps.engine import TRIES, cores, lost
from headway.sweeps.jobs import Event, Stack, failed, is_busy, settled

TICK = 0.2
"""The most seconds until the next event, which is None if nothing happened."""
LATER = 1.0
"""Seconds until a run that another process writes to is looked at again."""


class LocalEngine:
    """Stacks side by side on this machine, each in a process that stays for the next one.

    As many as there are cores for their threads. The processes are kept
    until the engine is left as often as it was entered, so `with engine:` around several sweeps
    starts them once.

    Args:
        workers: how many stacks side by side; by default as many as the cores suffice for.
    """

    def __init__(self, workers: int | None = None):
        require(workers is None or workers >= 1, "workers", workers, "a whole number of at least 1")
        self.workers, self.cores = workers, cores()
        self._crew: list[Worker] = []
        self._not_before: dict[str, float] = {}
        self._losses: Counter[str] = Counter()
        self._stillborn = self._entered = 0

    def __enter__(self) -> Self:
        self._entered += 1
        return self

    def __exit__(self, *error: object) -> None:
        self._entered -= 1
        if not self._entered:
            crew, self._crew = self._crew, []
            stop_all(crew)

    @property
    def options(self) -> str:
        """What the command line must say to use this engine again."""
        return "" if self.workers is None else f" --workers {self.workers}"

    def events(self, stacks: Sequence[Stack]) -> Iterator[Event | None]:
        """Carries out all jobs, and tells of every event (see `Engine`).

        Raises:
            HeadwayError: if no worker can start.
        """
        waiting, cut_short = list(stacks), self._busy()
        self._crew = self._idle()
        stop_all(cut_short)
        self._not_before.clear()
        self._losses.clear()
        while waiting or self._busy():
            yield from self._hand_out(waiting)
            yield from self._listen(waiting)

    def _busy(self) -> list[Worker]:
        return [worker for worker in self._crew if worker.stack]

    def _idle(self) -> list[Worker]:
        return [worker for worker in self._crew if not worker.stack]

    def _hand_out(self, waiting: list[Stack]) -> Iterator[Event]:
        """Gives out what there is room for, but for the runs that others have done or are doing."""
        for stack in list(waiting):
            if not self._has_core(stack):
                return
            if any(time.monotonic() < self._not_before.get(job.name, 0.0) for job in stack):
                continue
            waiting.remove(stack)
            ends = [settled(job) for job in stack]
            yield from (end for end in ends if end is not None)
            left = [job for job, end in zip(stack, ends, strict=True) if end is None]
            busy = tuple(job for job in left if is_busy(job))
            yield from self._put_off(busy, waiting)
            if free := tuple(job for job in left if job not in busy):
                if not self._idle():
                    self._crew.append(Worker())
                self._idle()[0].give(free)

    def _put_off(self, busy: Stack, waiting: list[Stack]) -> Iterator[Event]:
        """Leaves runs to the process that is writing to them, and looks again later."""
        if busy:
            waiting.append(busy)
        for job in busy:
            self._not_before[job.name] = time.monotonic() + LATER
            yield Event("elsewhere", job.name)

    def _has_core(self, stack: Stack) -> bool:
        busy = self._busy()
        if self.workers is not None:
            return len(busy) < self.workers
        taken = sum(worker.stack[0].config.threads for worker in busy)
        return not busy or taken + stack[0].config.threads <= self.cores

    def _listen(self, waiting: list[Stack]) -> Iterator[Event | None]:
        """Waits a little for the workers' answers."""
        if not self._crew:
            time.sleep(TICK)
        by_file = {worker.fileno(): worker for worker in self._crew}
        for worker in [by_file[file] for file in wait(by_file, TICK) if isinstance(file, int)]:
            answers = worker.answers()
            if answers is None:
                yield from self._bury(worker, waiting)
            for answer in answers or []:
                yield from self._understand(worker, answer, waiting)
        yield None

    def _understand(self, worker: Worker, answer: dict, waiting: list[Stack]) -> Iterator[Event]:
        """What an answer means."""
        if answer["kind"] == "ready":
            worker.is_ready, self._stillborn = True, 0
            return
        event = Event(**answer)
        if event.kind == "elsewhere":
            yield from self._put_off(worker.take(event.name), waiting)
            return
        taken = worker.take(event.name) if event.kind in ("done", "failed") else ()
        if event.kind == "failed":
            for job in taken:
                failed(job, event.message or "")
        yield event

    def _bury(self, worker: Worker, waiting: list[Stack]) -> Iterator[Event]:
        """Does what is to be done when a worker has ended by itself: its runs go to others.

        Raises:
            HeadwayError: if no worker can start.
        """
        self._crew.remove(worker)
        stack, how = worker.stack, worker.end()
        if not worker.is_ready:
            self._stillborn += 1
            if self._stillborn >= TRIES:
                raise HeadwayError(f"no worker process can start: it {how}")
            waiting[:0] = [stack] if stack else []
            return
        events, again = lost(stack, f"its process was {how}", self._losses)
        waiting[:0] = again
        yield from events
