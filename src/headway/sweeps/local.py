"""The engine that needs nothing else: worker processes on this machine."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import wait
from typing import Self

from headway.errors import HeadwayError, require
from headway.sweeps.crew import Worker, stop_all
from headway.sweeps.engine import TRIES, Event, cores
from headway.sweeps.jobs import Job, Result, is_busy, record, settled
from headway.sweeps.memory import available, estimate, resident

TICK = 0.2
"""Seconds after which there is an event, if only that there is none."""
LATER = 1.0
"""Seconds until a run that another process writes to is looked at again."""


class LocalEngine:
    """Runs side by side on this machine, each in a process that stays for the next one.

    As many as there are cores for their threads; and a run only starts if what it will need fits
    into memory beside what the others may still take, unless it is alone.

    Args:
        workers: how many runs side by side; none means as many as the cores suffice for.
        memory: bytes that can still be had on a device, none if unknown.
    """

    def __init__(self, workers: int | None = None, memory: Callable[[str], int | None] = available):
        require(workers is None or workers >= 1, "workers", workers, "a whole number of at least 1")
        self.workers, self.memory, self.cores = workers, memory, cores()
        self._crew: list[Worker] = []
        self._needs: dict[str, int] = {}
        self._not_before: dict[str, float] = {}
        self._losses: Counter[str] = Counter()
        self._stillborn = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        crew, self._crew = self._crew, []
        stop_all(crew)

    @property
    def options(self) -> str:
        """What the command line must say to use this engine again."""
        return "" if self.workers is None else f" --workers {self.workers}"

    def events(self, jobs: Sequence[Job]) -> Iterator[Event | None]:
        """Carries out all jobs, and tells of every event (see `Engine`).

        Raises:
            HeadwayError: if no worker can start.
        """
        waiting = list(jobs)
        while waiting or self._busy():
            yield from self._hand_out(waiting)
            yield from self._listen(waiting)

    def _busy(self) -> list[Worker]:
        return [worker for worker in self._crew if worker.job is not None]

    def _hand_out(self, waiting: list[Job]) -> Iterator[Event]:
        """Gives out the jobs that there is room for; takes out those that others have done."""
        for job in list(waiting):
            if not self._has_core(job):
                return
            if time.monotonic() < self._not_before.get(job.name, 0.0):
                continue
            if not self._fits(job):
                continue
            if (result := settled(job)) is not None:
                waiting.remove(job)
                yield _ended(job, result)
            elif is_busy(job):
                self._not_before[job.name] = time.monotonic() + LATER
                yield Event("elsewhere", job.name)
            else:
                waiting.remove(job)
                idle = [worker for worker in self._crew if worker.job is None]
                if not idle:
                    idle = [Worker()]
                    self._crew += idle
                idle[0].give(job)

    def _has_core(self, job: Job) -> bool:
        busy = self._busy()
        if self.workers is not None:
            return len(busy) < self.workers
        taken = sum(worker.job.config.threads for worker in busy if worker.job)
        return not busy or taken + job.config.threads <= self.cores

    def _fits(self, job: Job) -> bool:
        """Whether there is memory for a job beside what the others may still take."""
        device = job.config.device
        beside = [w for w in self._busy() if w.job and w.job.config.device == device]
        free = self.memory(device) if beside else None
        if free is None:
            return True
        held = resident if device == "cpu" else lambda _: 0
        idle = [worker for worker in self._crew if worker.job is None]
        to_come = self._need(job) - (held(idle[0].id) if idle else 0)
        for worker in beside:
            assert worker.job is not None
            to_come += max(0, self._need(worker.job) - held(worker.id))
        return to_come <= free

    def _need(self, job: Job) -> int:
        if job.name not in self._needs:
            self._needs[job.name] = estimate(job.config)
        return self._needs[job.name]

    def _listen(self, waiting: list[Job]) -> Iterator[Event | None]:
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

    def _understand(self, worker: Worker, answer: dict, waiting: list[Job]) -> Iterator[Event]:
        """What an answer means."""
        kind = answer.pop("event")
        if kind == "ready":
            worker.is_ready, self._stillborn = True, 0
            return
        job = worker.job
        assert job is not None
        if kind == "progressed":
            started = answer["step"] == 0
            yield Event("started" if started else "progressed", job.name, **answer)
            return
        worker.job = None
        if answer["status"] == "busy":
            waiting.append(job)
            self._not_before[job.name] = time.monotonic() + LATER
            yield Event("elsewhere", job.name)
        else:
            yield _ended(job, Result(**answer))

    def _bury(self, worker: Worker, waiting: list[Job]) -> Iterator[Event]:
        """Does what is to be done when a worker has ended by itself: its run goes to another.

        Raises:
            HeadwayError: if no worker can start.
        """
        self._crew.remove(worker)
        job, how = worker.job, worker.end()
        if not worker.is_ready:
            self._stillborn += 1
            if self._stillborn >= TRIES:
                raise HeadwayError(f"no worker process can start: it {how}")
        if job is None:
            return
        if not worker.is_ready:
            waiting.insert(0, job)
            return
        self._losses[job.name] += 1
        self._needs[job.name] = 2 * self._need(job)  # it may have been memory
        if self._losses[job.name] < TRIES:
            waiting.insert(0, job)
            yield Event("lost", job.name, message=f"its process was {how}")
            return
        result = Result("failed", f"its process was {how}, {TRIES} times")
        record(job, result)
        yield _ended(job, result)


def _ended(job: Job, result: Result) -> Event:
    return Event("done" if result.status == "done" else "failed", job.name, message=result.message)
