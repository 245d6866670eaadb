"""Progress of trainings and sweeps."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from headway.progress import Display, display
from headway.progress import counting as counting
from headway.sweeps import Board, SweepWatch
from headway.text import counted, duration, rounded, sparkline
from headway.training import Run
from headway.training.loop import Watch
from headway.training.losses import accuracy_text

FLOOR = 0.005
"""The loss at which a curve, in logarithms, reaches the ground; 1 is the top."""

ON_SET = "training set"
"""The name of the loss curve on a fixed training set, below the hops'."""


@contextmanager
def watching() -> Iterator[Watch]:
    """Follows a training run: a line every tenth evaluation, or live curves."""
    with display(math.inf, transient=False) as shown:
        yield Progress(shown)


class Progress:
    """Shows a training run: step, loss of every hop, rate, time left."""

    def __init__(self, shown: Display):
        self.display = shown
        self.curves: dict[str, list[float]] = {}
        self.evaluations = self.step = self.end = 0
        self.line = ""
        self.rate = 0.0

    def __call__(
        self, run: Run, step: int, end: int, metrics: dict[str, Any] | None
    ) -> None:
        """Takes note of a step (a `Watch`)."""
        training = run.config.training
        if step < self.step:
            print(
                f"no hop learnt in {training.patience} steps: a new attempt with "
                "other weights"
            )
            self.curves = {}
            self.end = 0
        if 0 < step < end < self.end:
            print(f"the loss is low enough: rates fall from here, to end at step {end}")
        self.step = step
        self.end = end
        if metrics is not None:
            self._evaluated(metrics, training.stop_below)
        tenth = metrics is not None and (self.evaluations % 10 == 1 or step == end)
        if tenth or self.display.live is not None:
            left = ""
            if self.rate:
                seconds = (end - step) * training.batch_size / self.rate
                left = f"at most {duration(seconds)} left"
            line = f"step {step:6d}/{end}  {self.line}"
            self.display.show(line, left, *self._drawn_curves(), at_once=tenth)

    def _evaluated(self, metrics: dict[str, Any], stop_below: float) -> None:
        """Takes note of an evaluation."""
        self.evaluations += 1
        self.rate = metrics["examples_per_second"]
        loss = metrics["val_loss"]
        words = [f"loss {rounded(loss)}{accuracy_text(metrics)}"]
        for hop, hop_loss in metrics["partial"].items():
            self.curves.setdefault(hop, []).append(hop_loss)
            words.append(f"{hop} {rounded(hop_loss)}")
        if "training_set" in metrics:
            self.curves.setdefault(ON_SET, []).append(metrics["training_set"]["loss"])
        words.append(f"{self.rate:.0f} ex/s")
        if loss < stop_below:
            words.append("stopped early")
        self.line = "  ".join(words)

    def _drawn_curves(self) -> Iterator[str]:
        """A line for every curve: its name, the curve, its last loss."""
        for name, curve in self.curves.items():
            depths = [math.log(max(loss, FLOOR)) for loss in curve]
            heights = [1 - depth / math.log(FLOOR) for depth in depths]
            drawn = sparkline(heights, 52)
            last = rounded(curve[-1])
            yield f"{name:>4} {drawn} {last}"


@contextmanager
def following() -> Iterator[SweepWatch]:
    """Follows a sweep: a line for every run that ends, at times for the others."""
    begun = False
    with display(60.0) as shown:

        def watch(board: Board, name: str | None) -> None:
            nonlocal begun
            if not begun:
                begun = True
                before = [
                    f"{count} {state} before" for state, count in board.before.items()
                ]
                runs = counted(len(board.runs), "run")
                print(", ".join([runs, *before]))
            if name is not None and board.runs[name].state != "running":
                print(ended_line(board, name))
            elif board.named("running"):
                shown.show(running_line(board))

        yield watch


def ended_line(board: Board, name: str) -> str:
    """The end of a run of a sweep, and the count of those that have ended."""
    run = board.runs[name]
    if run.state == "done":
        end = f"done  step {run.step}"
        if run.loss is not None:
            end += f"  loss {rounded(run.loss)}"
    elif run.state == "failed":
        end = f"failed  {run.message}"
    else:
        end = f"lost, will be resumed: {run.message}"
    total = str(len(board.runs))
    number = str(board.ended).rjust(len(total))
    return f"{number}/{total}  {name}  {end}"


def running_line(board: Board) -> str:
    """The progress of some runs of a sweep, and the time that all take."""
    running = board.named("running")
    steps = list[str]()
    for name in running[:4]:
        step = board.runs[name].step
        last = board.steps[name]
        steps.append(f"{name} step {step}/{last}")
    line = f"… {', '.join(steps)}"
    more = len(running) - len(steps)
    if more:
        line += f" and {more} more"
    left = board.seconds_left()
    if left is not None:
        line += f"; about {duration(left)} left"
    return line
