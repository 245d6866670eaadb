"""A run as plain text: how it ended or how far it is, and where it lies."""

from collections.abc import Mapping
from typing import Any

from headway.tasks import Task
from headway.text import duration, wrapped
from headway.training.folder import RunFolder

INDENT = "      "


def of_run(run: RunFolder, task: Task) -> str:
    """What a run's folder says, in a few lines; `task` is as the run's model answers it."""
    outcome, metrics = run.outcome() or {}, run.metrics()
    last = next((one for one in (outcome, *metrics[-1:]) if one.get("val_loss") is not None), None)
    said = [] if outcome.get("message") is None else [outcome["message"]]
    if last is not None:
        took = f"after {last['step']} steps, {duration(last['seconds'])}"
        said += [losses_said(last, task), took + said_of_attempts(outcome)]
    status = f"{run.status}: "
    lines = wrapped((said or ["no evaluation yet"])[0], status, INDENT)
    for more in said[1:]:
        lines += wrapped(more, INDENT, INDENT)
    return "\n".join([*lines, f"run   {run.folder}"])


def losses_said(losses: Mapping[str, Any], task: Task) -> str:
    """A validation loss and what every hop is of it."""
    hops = "  ".join(f"{hop} {loss:.4f}" for hop, loss in losses["partial"].items())
    return f"validation {task.targets.loss_name} {losses['val_loss']:.4f} ({hops})"


def said_of_attempts(outcome: Mapping[str, Any]) -> str:
    """Which attempts were given up before the one that counts, in words."""
    steps = [str(attempt["step"]) for attempt in outcome.get("given_up", [])]
    return f" (given up before: attempts at step {', '.join(steps)})" if steps else ""
