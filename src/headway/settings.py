"""torch's settings: headway computes under torch's own, whatever a user has set.

Default types and devices of the user's count while a module of theirs is called, as it
may make tensors that rely on them. Whether algorithms must be deterministic is the
user's to say.

The default type and the search for anomalies are the same for all threads. Where
several threads use headway at once, they are as usual until the last of them leaves;
with a default type of a user's, modules of theirs that rely on it must then be called
by one thread alone.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import wraps
from typing import NamedTuple, ParamSpec, TypeVar

import torch

P = ParamSpec("P")
R = TypeVar("R")


class Factories(NamedTuple):
    """The settings of functions that make tensors.

    Attributes:
        dtype: of the numbers.
        device: that they are on.
    """

    dtype: torch.dtype
    device: torch.device


USUAL = Factories(torch.float32, torch.device("cpu"))
"""As torch has them."""

_users: list[Factories] = []
"""Those of the user, while headway computes under others. It is one list for all
threads, as torch has one default type for all."""


def usual_factories() -> AbstractContextManager[None]:
    """Within it, tensors are made as torch makes them by default."""
    return _made_as(USUAL)


@contextmanager
def _made_as(usual: Factories) -> Iterator[None]:
    now = Factories(torch.get_default_dtype(), torch.get_default_device())
    if now == usual:
        yield
        return
    is_users = not _users
    if is_users:
        _users.append(now)
    try:
        with _set(usual, now):
            yield
    finally:
        if is_users:
            _users.clear()


@contextmanager
def users_factories() -> Iterator[None]:
    """Within it, tensors are made as the user has set it."""
    if not _users:
        yield
        return
    now = Factories(torch.get_default_dtype(), torch.get_default_device())
    with _set(_users[0], now):
        yield


@contextmanager
def _set(new: Factories, now: Factories) -> Iterator[None]:
    torch.set_default_dtype(new.dtype)
    try:
        with ExitStack() as stack:
            if new.device != now.device:
                stack.enter_context(new.device)
            yield
    finally:
        torch.set_default_dtype(now.dtype)


class _Shared:
    """The settings that all threads share: the first thread to enter makes them usual,
    and the last one to leave puts back what the user has set."""

    def __init__(self):
        self.lock, self.inside = threading.Lock(), 0
        self.users = ExitStack()

    @contextmanager
    def usual(self) -> Iterator[None]:
        """Within it, they are as torch has them by default."""
        with self.lock:
            self.inside += 1
            if self.inside == 1:
                same_device = USUAL._replace(device=torch.get_default_device())
                self.users.enter_context(_made_as(same_device))
                self.users.enter_context(torch.autograd.set_detect_anomaly(False))
        try:
            yield
        finally:
            with self.lock:
                self.inside -= 1
                if self.inside == 0:
                    self.users.close()


_shared = _Shared()


@contextmanager
def usual_settings() -> Iterator[None]:
    """Within it, torch computes as it does by default.

    Tensors are made as usual, and gradients computed; no inference mode, autocast or
    search for anomalies is on.
    """
    with ExitStack() as stack:
        stack.enter_context(_shared.usual())
        stack.enter_context(usual_factories())
        if torch.is_inference_mode_enabled():
            stack.enter_context(torch.inference_mode(False))
        stack.enter_context(torch.enable_grad())
        for kind in ("cpu", "cuda"):
            if torch.is_autocast_enabled(kind):
                stack.enter_context(torch.autocast(kind, enabled=False))
        yield


def computes_as_usual(function: Callable[P, R]) -> Callable[P, R]:
    """A function that computes under `usual_settings`."""

    @wraps(function)
    def computing(*args: P.args, **kwargs: P.kwargs) -> R:
        with usual_settings():
            return function(*args, **kwargs)

    return computing


def makes_as_usual(function: Callable[P, R]) -> Callable[P, R]:
    """A function that makes tensors under `usual_factories`."""

    @wraps(function)
    def making(*args: P.args, **kwargs: P.kwargs) -> R:
        with usual_factories():
            return function(*args, **kwargs)

    return making
