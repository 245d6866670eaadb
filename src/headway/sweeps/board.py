"""How every run of a sweep stands. The truth is in the run folders."""

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from headway.errors import HeadwayError
from headway.reading import parsed
from headway.training import RunConfig
from headway.training.files import whole_lines
from headway.training.folder import Evaluation, RunFolder
from headway.training.size import n_weights

State = Literal["waiting", "running", "elsewhere", "done", "failed"]


@dataclass(frozen=True)
class Standing:
    """How one run stands.

    Attributes:
        state: `elsewhere` if another process is writing to the run.
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
        """Whether it is done or failed."""
        return self.state in ("done", "failed")


class Board:
    """How every run of a sweep stands.

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
        self._costs = {name: step_cost(one) * self.steps[name] for name, one in configs.items()}
        self._begun, self._share = time.monotonic(), self.share

    def named(self, state: State) -> list[str]:
        """The runs in a state, in the order of the plan."""
        return [name for name, run in self.runs.items() if run.state == state]

    def count(self, state: State) -> int:
        """How many runs are in a state."""
        return len(self.named(state))

    @property
    def ended(self) -> int:
        """How many runs have ended."""
        return sum(run.has_ended for run in self.runs.values())

    @property
    def share(self) -> float:
        """How much of all computing is done, from 0 to 1; a run that has ended counts as whole."""
        done = sum(
            self._costs[name] * (1.0 if run.has_ended else run.step / self.steps[name])
            for name, run in self.runs.items()
        )
        return done / sum(self._costs.values())

    def seconds_left(self) -> float | None:
        """About how long the rest will take; None if that is not known yet."""
        made = self.share - self._share
        return (1 - self.share) * (time.monotonic() - self._begun) / made if made > 0 else None


def standing(folder: Path) -> Standing:
    """How a run stands by its folder: ended, or `running` since its last evaluation.

    Raises:
        HeadwayError: if that cannot be read.
    """
    if (outcome := RunFolder(folder).outcome()) is not None:
        step, loss = outcome["step"] or 0, outcome["val_loss"]
        return Standing(outcome["status"], step, loss, outcome["message"])
    path = folder / "metrics.jsonl"
    if not (lines := whole_lines(path)):
        return Standing("running")
    try:
        line = Evaluation(**parsed(lines[-1], str(path)))
    except TypeError as error:
        raise HeadwayError(f"{path} is corrupted or of another version ({error})") from None
    return Standing("running", line.step, line.val_loss)


def step_cost(config: RunConfig) -> float:
    """What a training step costs, up to a factor: weights times positions."""
    weights = n_weights(config.transformer, config.task)
    return config.training.batch_size * config.task.length * float(weights)
