"""The engine for clusters: Ray tasks."""

import logging
import os
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from headway.errors import HeadwayError, require
from headway.sweeps.engines import Engine, carry_out, cores
from headway.tasks.registry import own_source
from headway.training import RunConfig
from headway.training.files import is_there
from headway.userfile import Source, described


class RayEngine(Engine):
    """Runs as tasks of a Ray cluster, each with as many CPUs as its runs have threads.

    Tasks write to the sweep's folder, which the nodes must share.

    Args:
        address: of the cluster, `host:port` or `ray://host:port`; by default the
            environment's RAY_ADDRESS, or a cluster of this machine alone for as long as
            the sweep takes.
        workers: at most so many tasks side by side; by default as many as fit.
        gpus_per_run: GPUs of a task; a fraction shares one. By default 1 for runs on a
            GPU, else 0.
    """

    def __init__(
        self,
        address: str | None = None,
        workers: int | None = None,
        gpus_per_run: float | None = None,
    ):
        super().__init__(workers)
        share = 0 if gpus_per_run is None else gpus_per_run
        fits = 0 <= share <= 1 or (share > 1 and share % 1 == 0)
        require(fits, "gpus_per_run", gpus_per_run, "from 0 to 1, or a whole number")
        self.address = address
        self.gpus_per_run = gpus_per_run
        self._tasks = list[Any]()

    def __enter__(self) -> Self:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        # A run without a GPU keeps its view of the GPUs; Ray would warn without an
        # answer.
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        try:
            import ray
        except ImportError:
            raise HeadwayError(
                "the engine ray needs Ray: pip install 'headway-interp[ray]'"
            ) from None
        self._ray, self._ours = ray, not ray.is_initialized()
        address = self.address or os.environ.get("RAY_ADDRESS") or "local"
        options: dict[str, Any] = {
            "logging_level": logging.ERROR,
            "log_to_driver": False,
        }
        if address == "local":
            options |= {"num_cpus": self.workers or cores(), "include_dashboard": False}
        elif self._ours and address != "auto":
            require_reachable(address)
        try:
            if self._ours:
                ray.init(address=address, **options)
        except (
            ConnectionError,
            RuntimeError,
            ValueError,
            TimeoutError,
            OSError,
        ) as error:
            raise HeadwayError(
                f"cannot use Ray at {address}: {described(error)}"
            ) from None
        return self

    def __exit__(self, *error: object) -> None:
        """Ends what is being computed, and leaves the cluster if it was joined here."""
        for task in self._tasks:
            self._ray.cancel(task, force=True)
        self._tasks = []
        if self._ours:
            self._ray.shutdown()

    def places(self, config: RunConfig) -> int:
        """The number of such runs that may go on side by side (see `Engine`)."""
        asked = self._resources(config)
        nodes = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        fitting = list[int]()
        for node in nodes:
            shares = [
                node.get(kind, 0.0) / count for kind, count in asked.items() if count
            ]
            fitting.append(int(min(shares)))
        if not any(fitting):
            raise HeadwayError(
                f"a run asks for {asked['CPU']:g} CPUs and {asked['GPU']:g} GPUs"
                " (threads, --gpus-per-run): no node of the cluster has both"
            )
        return self.workers or sum(fitting)

    def answer(self, folder: Path, config: RunConfig) -> str | None:
        """The answer of a task that carries a run out (see `Engine`)."""
        asked = self._resources(config)
        trusted = own_source(type(config.task))
        # Ray would try a task that is killed for its memory without end.
        options = {"num_cpus": asked["CPU"], "num_gpus": asked["GPU"], "max_retries": 0}
        task = self._ray.remote(**options)(on_node).remote(folder, trusted, sys.argv)
        self._tasks.append(task)
        try:
            return self._ray.get(task)
        except self._ray.exceptions.RayTaskError as error:
            cause = getattr(error, "cause", None) or error
            why = f"the cluster cannot run headway: {described(cause)}"
            raise HeadwayError(cause if type(cause) is HeadwayError else why) from None
        except self._ray.exceptions.RayError:
            raise EOFError from None

    def _resources(self, config: RunConfig) -> dict[str, float]:
        share = 1.0 if config.device.startswith("cuda") else 0.0
        gpus = share if self.gpus_per_run is None else self.gpus_per_run
        return {"CPU": float(config.threads), "GPU": gpus}


def on_node(folder: Path, trusted: Source | None, command: Sequence[str]) -> str | None:
    """Carries out a run on a node, as if it were the process with this command line.

    Raises:
        HeadwayError: if the sweep's folder is not to be seen there.
    """
    if not is_there(folder):
        raise HeadwayError(
            f"{folder.parent} is not the same folder on all nodes of the cluster:"
            " put the sweep into one that they share"
        )
    sys.argv = [*command]
    return carry_out(folder, trusted)


def require_reachable(address: str) -> None:
    """Raises `HeadwayError` unless an address answers; Ray would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    fits = bool(host) and port.isdecimal() and 0 < int(port) < 2**16
    require(fits, "address", address, "host:port, ray://host:port, auto or local")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=5.0).close()
    except (OSError, UnicodeError) as error:
        told = f"no Ray cluster can be reached at {address}: {described(error)}"
        raise HeadwayError(told) from None
