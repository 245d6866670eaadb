"""The engine for clusters: one Ray task a run, or a stack of runs."""

import logging
import os
import socket
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from typing import Any, Self

from headway.errors import HeadwayError, require
from headway.sweeps.cluster import Files, Reports, Returned, failed_at_home, on_node, unpack
from headway.sweeps.engine import cores, lost
from headway.sweeps.jobs import Event, Job, Stack, failed, settled
from headway.training import RunBusyError
from headway.training.files import first_line
from headway.userfile import described

TICK = 0.5
"""The most seconds until the next event, which is None if nothing happened."""
LATER = 2.0
"""Seconds until a run that another process writes to is asked for again."""
REACH = 5.0
"""Seconds that a cluster may take to answer."""
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"
SETTINGS = 4
"""Ray speaks HTTP/2 (RFC 9113): what a client says first, and the kind of the first answer."""


class RayEngine:
    """Stacks as tasks of a Ray cluster, each with as many CPUs as its runs have threads.

    A task writes to the sweep's folder, which the nodes must share; or it trains in a folder of its
    node's own and returns the files. What is lost with its node or process is submitted
    again, by us and not by Ray, which would try one that is killed for its memory without end.

    Args:
        address: of the cluster, `host:port` or `ray://host:port`; by default the environment's
            RAY_ADDRESS, or a cluster of this machine alone for as long as the sweep takes.
        workers: at most so many tasks side by side; by default as many as fit.
        gpus_per_run: GPUs of a task; a fraction shares one. By default 1 for runs on a GPU, else 0.
        bring_home: whether the files are returned instead of written to a shared folder. A run
            that was interrupted then starts again.
    """

    def __init__(
        self,
        address: str | None = None,
        workers: int | None = None,
        gpus_per_run: float | None = None,
        bring_home: bool = False,
    ):
        require(workers is None or workers >= 1, "workers", workers, "a whole number of at least 1")
        share = 0 if gpus_per_run is None else gpus_per_run
        fits = 0 <= share <= 1 or (share > 1 and share % 1 == 0)
        require(fits, "gpus_per_run", gpus_per_run, "from 0 to 1, or a whole number")
        self.address, self.workers = address, workers
        self.gpus_per_run, self.bring_home = gpus_per_run, bring_home
        self._running: dict[Any, Stack] = {}
        self._tasks: dict[tuple[float, ...], Any] = {}
        self._losses: Counter[str] = Counter()
        self._ours = False

    def __enter__(self) -> Self:
        self._ray = _imported()
        if self._ray.is_initialized():
            return self
        address = self.address or os.environ.get("RAY_ADDRESS") or "local"
        if address not in ("local", "auto"):
            require_reachable(address)
        options: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
        if address == "local":
            options |= {"num_cpus": self.workers or cores(), "include_dashboard": False}
        try:
            self._ray.init(address=address, **options)
        except (ConnectionError, RuntimeError, ValueError, TimeoutError, OSError) as error:
            raise HeadwayError(f"cannot use Ray at {address}: {first_line(error)}") from None
        self._ours = True
        return self

    def __exit__(self, *error: object) -> None:
        for task in self._running:
            self._ray.cancel(task)  # interrupts it between two steps
        if self._running:
            tasks = list(self._running)
            self._ray.wait(tasks, num_returns=len(tasks), timeout=3.0)
            self._running = {}
        if self._ours:
            self._ray.shutdown()

    @property
    def options(self) -> str:
        """What the command line must say to use this engine again."""
        said = " --engine ray"
        for name in ("address", "workers", "gpus_per_run"):
            value = getattr(self, name)
            said += "" if value is None else f" --{name.replace('_', '-')} {value}"
        return said + (" --bring-home" if self.bring_home else "")

    def events(self, stacks: Sequence[Stack]) -> Iterator[Event | None]:
        """Carries out all jobs, and tells of every event (see `Engine`).

        Raises:
            HeadwayError: if no node has what a run asks for, cannot run headway, or does not see
                the sweep's folder.
        """
        if not stacks:
            return
        self._require_nodes_for(stacks)
        self._losses.clear()
        reports = self._reports()
        waiting, later = deque(stacks), dict[str, float]()
        while waiting or self._running:
            for _ in range(len(waiting)):
                if self.workers is not None and len(self._running) >= self.workers:
                    break
                stack = waiting.popleft()
                if any(time.monotonic() < later.get(job.name, 0.0) for job in stack):
                    waiting.append(stack)
                else:
                    self._running[self._submit(stack, reports)] = stack
            if not self._running:
                time.sleep(TICK)
                yield None
                continue
            ended, _ = self._ray.wait(list(self._running), timeout=TICK)
            yield from self._news(reports)
            for task in ended:
                events, again = self._ended(task, self._running.pop(task))
                waiting.extend(again)
                later |= {job.name: time.monotonic() + LATER for stack in again for job in stack}
                yield from events
            yield None

    def _resources(self, stack: Stack) -> dict[str, float]:
        gpus, config = self.gpus_per_run, stack[0].config
        if gpus is None:
            gpus = 1.0 if config.device.startswith("cuda") else 0.0
        return {"CPU": float(config.threads), "GPU": gpus}

    def _require_nodes_for(self, stacks: Sequence[Stack]) -> None:
        nodes = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        for stack in stacks:
            asked = self._resources(stack)
            if not any(all(node.get(k, 0.0) >= v for k, v in asked.items()) for node in nodes):
                most = {k: max((node.get(k, 0.0) for node in nodes), default=0.0) for k in asked}
                raise HeadwayError(
                    f"{stack[0].name} asks for {asked['CPU']:g} CPUs and {asked['GPU']:g} GPUs"
                    f" (threads, --gpus-per-run): no node of the cluster has both; the most there"
                    f" are on one are {most['CPU']:g} and {most['GPU']:g}"
                )

    def _reports(self) -> Any:
        """The actor that gathers reports, on this node, as it must not be lost with another."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        here = self._ray.get_runtime_context().get_node_id()
        actor = self._ray.remote(num_cpus=0)(Reports)
        return actor.options(
            scheduling_strategy=NodeAffinitySchedulingStrategy(here, soft=True)
        ).remote()

    def _submit(self, stack: Stack, reports: Any) -> Any:
        # Where a task has a GPU, Ray ends its process with it: the next may be given another GPU.
        asked = self._resources(stack)
        key = tuple(asked.values())
        if key not in self._tasks:
            options = {"num_cpus": asked["CPU"], "num_gpus": asked["GPU"], "max_retries": 0}
            self._tasks[key] = self._ray.remote(**options)(on_node)
        told = [job.to_json() for job in stack]
        return self._tasks[key].remote(told, reports, self.bring_home)

    def _news(self, reports: Any) -> Iterator[Event]:
        try:
            news = self._ray.get(reports.take.remote(), timeout=REACH)
        except self._ray.exceptions.RayError:  # progress is not shown, then; the runs go on
            return
        running = {job.name for stack in self._running.values() for job in stack}
        yield from (event for event in news if event.name in running)

    def _ended(self, task: Any, stack: Stack) -> tuple[list[Event], list[Stack]]:
        """What the end of a task means: what to tell, and what is to be submitted again."""
        try:
            returned = self._ray.get(task)
        except self._ray.exceptions.RayTaskError as error:
            raise HeadwayError(
                f"the cluster cannot run headway: {described(error.cause or error)}"
            ) from None
        except self._ray.exceptions.RayError as error:
            how = f"lost with its process or node ({type(error).__name__})"
            return lost(stack, how, self._losses)
        events = self._taken(returned, stack)
        busy = {event.name for event in events if event.kind == "elsewhere"}
        again = tuple(job for job in stack if job.name in busy)
        return events, [again] if again else []

    def _taken(self, returned: Returned, stack: Stack) -> list[Event]:
        """What became of the runs of a stack, with their files at home."""
        if returned.ends is None:
            raise failed_at_home(stack[0], "one does not see it")
        jobs = {job.name: job for job in stack}
        return [
            self._at_home(jobs[end.name], end, returned.files.get(end.name))
            for end in returned.ends
        ]

    def _at_home(self, job: Job, end: Event, files: Files | None) -> Event:
        """What became of a run, with its files at home."""
        if files is not None:
            try:
                unpack(job, files)
            except RunBusyError:
                return Event("elsewhere", job.name)
        elif end.kind == "failed":
            return failed(job, end.message or "")
        elif end.kind == "done" and settled(job) is None:
            raise failed_at_home(job, f"{job.name} was done there and is not here")
        return end


def require_reachable(address: str) -> None:
    """Raises `HeadwayError` unless a cluster answers at an address; Ray would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    fits = bool(host) and port.isdecimal() and 0 < int(port) < 2**16
    require(fits, "address", address, "host:port, ray://host:port, auto or local")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), REACH) as connection:
            if os.environ.get("RAY_USE_TLS", "0") != "0":
                return
            connection.settimeout(REACH)
            connection.sendall(PREFACE)
            answer = connection.recv(9, socket.MSG_WAITALL)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or first_line(error) or type(error).__name__
        raise HeadwayError(f"no Ray cluster can be reached at {address}: {reason}") from None
    if len(answer) < 9 or answer[3] != SETTINGS:
        raise HeadwayError(f"what answers at {address} is no Ray cluster")


def _imported() -> Any:
    # A run without a GPU keeps the view of the GPUs that it has; Ray would warn without an answer.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError:
        raise HeadwayError("the engine ray needs Ray: pip install 'headway[ray]'") from None
    return ray
