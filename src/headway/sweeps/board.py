"""How every run of a sweep stands, to be shown. The truth is in the run folders."""

import time
from collections import Counter
from dataclasses import dataclass
from typing import Literal

from headway.sweeps.jobs import Event
from headway.training import RunConfig
from headway.training.size import n_weights

State = Literal["waiting", "running", "elsewhere", "done", "failed"]
STATES: dict[str, State] = {
    "started": "running",
    "progressed": "running",
    "lost": "waiting",
    "elsewhere": "elsewhere",
    "done": "done",
    "failed": "failed",
}


@dataclass
class Standing:
    """How one run stands.

    Attributes:
        state: `elsewhere` if another process is writing to the run.
        cost: of a step of it, in any unit.
        planned: steps that its config allows.
        first: step at which it was first seen in this session; None before that.
        step: that it is at.
        end: the last step as planned now.
        loss: of the last evaluation.
        message: why it failed.
    """

    state: State
    cost: float
    planned: int
    first: int | None = None
    step: int = 0
    end: int = 0
    loss: float | None = None
    message: str | None = None


class Board:
    """How every run stands, from the events of an engine.

    Args:
        runs: the config of every run by name.
    """

    def __init__(self, runs: dict[str, RunConfig]):
        self.runs = {
            name: Standing("waiting", step_cost(config), config.training.steps)
            for name, config in runs.items()
        }
        self.before: Counter[str] = Counter()
        self._since = time.monotonic()

    def found(self, end: Event) -> None:
        """Takes note of a run that had ended before."""
        self.note(end)
        self.before[STATES[end.kind]] += 1

    def note(self, event: Event) -> None:
        """Takes note of an event."""
        run = self.runs[event.name]
        if event.kind == "done" and run.state == "running" and run.first is None:
            run.first = 0
        run.state = STATES[event.kind]
        if event.kind == "progressed" and (run.first is None or event.step < run.step):
            run.first = max(0, event.step - 1)
        if event.kind in ("started", "progressed", "done"):
            run.step, run.end = event.step or run.step, event.end or run.end
            run.loss = event.loss if event.loss is not None else run.loss
        if event.kind == "failed":
            run.message = event.message

    def named(self, state: State) -> list[str]:
        """The runs in a state, in the order of the plan."""
        return [name for name, run in self.runs.items() if run.state == state]

    def count(self, state: State) -> int:
        """How many runs are in a state."""
        return sum(run.state == state for run in self.runs.values())

    def seconds_left(self) -> float | None:
        """About how long the rest will take; None if that is not known yet.

        A step still to be made is taken to cost as much as one that was made, and runs that have
        not begun are taken to end as early as those that have ended here.
        """
        runs = self.runs.values()
        done = sum(run.cost * (run.step - run.first) for run in runs if run.first is not None)
        if not done:
            return None
        ended = [run for run in self.runs.values() if run.state == "done" and run.step]
        share = sum(run.step / run.planned for run in ended) / len(ended) if ended else 1.0
        left = sum(
            run.cost * (run.end - run.step if run.state == "running" else share * run.planned)
            for run in self.runs.values()
            if run.state in ("running", "waiting")
        )
        return left * (time.monotonic() - self._since) / done


def step_cost(config: RunConfig) -> float:
    """What a training step costs, up to a factor: weights times positions."""
    weights = n_weights(config.transformer, config.task)
    return config.training.batch_size * config.task.length * float(weights)
