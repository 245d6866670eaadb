"""Searches and measurements side by side, each on one core."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

import torch

from headway.circuits.ablation import Bench

P = ParamSpec("P")
T = TypeVar("T")


class Workers:
    """Threads of one core each. If one of them fails, the others are stopped at once.

    Args:
        count: of threads; by default as many as the machine has cores. On a GPU there is one.
        benches: that the threads work at, never two at the same one.
    """

    def __init__(self, count: int | None, benches: Sequence[Bench]):
        threads = (os.cpu_count() or 1) if count is None else count
        threads = threads if benches[0].batch.inputs.device.type == "cpu" else 1
        self._pool = ThreadPoolExecutor(threads, initializer=_one_core)
        self._benches = benches

    def start(self, do: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Does something as soon as a thread is free."""
        return self._pool.submit(do, *args, **kwargs)

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, kind: type | None, *_: object) -> None:
        if kind is not None:
            for bench in self._benches:
                bench.given_up = True
        self._pool.shutdown(wait=kind is None, cancel_futures=kind is not None)


def _one_core() -> None:
    torch.set_num_threads(1)
