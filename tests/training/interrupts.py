"""Interrupts of training between two steps."""


class InterruptError(Exception):
    """Stands for whatever stops a process between two steps."""


def stop_at(calls: int):
    """Stop at this call of `watch`."""
    count = 0

    def watch(_run, _step, _end, _metrics):
        nonlocal count
        count += 1
        if count == calls:
            raise InterruptError

    return watch


def after(step: int):
    """Stop after this step."""

    def watch(_run, now, _end, _metrics):
        if now == step:
            raise InterruptError

    return watch
