"""Progress: on a terminal in its place, else a line now and then."""

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from rich.live import Live
from rich.text import Text

from headway.sweeps import Board, SweepWatch
from headway.terminal.base import console
from headway.text import counted, duration, sparkline
from headway.training import Run
from headway.training.loop import Watch
from headway.training.losses import accuracy_text

FLOOR = 0.005
"""The loss at which its curve, on a logarithmic scale, reaches the ground; 1 is at the top."""

ON_SET = "training set"
"""The name of the curve of the loss on a fixed training set, below those of the hops."""


class Display:
    """Shows a line unless the last is too recent.

    Args:
        live: the place on the terminal; None where there is none.
        pause: seconds between two lines there.
    """

    def __init__(self, live: Live | None, pause: float):
        self.live, self._pause, self._last = live, pause if live is None else 0.2, -math.inf

    def show(self, line: str, *below: str, at_once: bool = False) -> None:
        """Shows a line; on a terminal, others below it."""
        now = time.monotonic()
        if not at_once and now - self._last < self._pause:
            return
        self._last = now
        if self.live is None:
            print(line)
        else:
            lines = Text("\n".join([line, *below]), no_wrap=True, overflow="ellipsis")
            self.live.update(lines, refresh=True)


@contextmanager
def display(pause: float, transient: bool = True) -> Iterator[Display]:
    """A display; on a terminal it goes away at the end, unless it is not transient."""
    live = Live(console=console(), auto_refresh=False, transient=transient)
    with live if sys.stdout.isatty() else nullcontext() as place:
        yield Display(place, pause)


@contextmanager
def counting(doing: str) -> Iterator[Callable[[int, int], None]]:
    """Follows what is done one by one: `watch(done, total)` tells how many, and the time left."""
    begun: tuple[int, float] | None = None
    with display(30.0) as shown:

        def watch(done: int, total: int) -> None:
            nonlocal begun
            now = time.perf_counter()
            # loading came before the first, so that its own time is not known
            first, start = begun = begun or (done, now)
            line = f"{doing} {done} of {total}"
            if first < done < total:
                pace = (now - start) / (done - first)
                line += f"; about {duration(pace * (total - done))} left"
            shown.show(line, at_once=done == total)

        yield watch


@contextmanager
def watching() -> Iterator[Watch]:
    """Follows a training run: a line every tenth evaluation, on a terminal the losses' curves."""
    with display(math.inf, transient=False) as shown:
        yield Progress(shown)


class Progress:
    """Shows a training run: step, loss of every hop, rate, time left."""

    def __init__(self, shown: Display):
        self.display, self.curves, self.evaluations = shown, dict[str, list[float]](), 0
        self.step, self.end, self.line, self.rate = 0, 0, "", 0.0

    def __call__(self, run: Run, step: int, end: int, metrics: dict[str, Any] | None) -> None:
        """Takes note of a step (a `Watch`)."""
        training = run.config.training
        if step < self.step:
            print(f"no hop learnt in {training.patience} steps: a new attempt with other weights")
            self.curves, self.end = {}, 0
        if 0 < step < end < self.end:
            print(f"the loss is low enough: rates fall from here, to end at step {end}")
        self.step, self.end = step, end
        if metrics is not None:
            self.evaluations, self.rate = self.evaluations + 1, metrics["examples_per_second"]
            losses = f"loss {metrics['val_loss']:.3f}{accuracy_text(metrics)}  "
            for hop, loss in metrics["partial"].items():
                self.curves.setdefault(hop, []).append(loss)
                losses += f"{hop} {loss:.3f}  "
            if "training_set" in metrics:
                self.curves.setdefault(ON_SET, []).append(metrics["training_set"]["loss"])
            early = "  stopped early" if metrics["val_loss"] < training.stop_below else ""
            self.line = f"{losses}{self.rate:.0f} ex/s{early}"
        tenth = metrics is not None and (self.evaluations % 10 == 1 or step == end)
        if tenth or self.display.live is not None:
            seconds = (end - step) * training.batch_size / (self.rate or math.inf)
            left = f"at most {duration(seconds)} left" if self.rate else ""
            drawn = list[str]()
            for hop, curve in self.curves.items():
                heights = [1 - math.log(max(loss, FLOOR)) / math.log(FLOOR) for loss in curve]
                drawn.append(f"{hop:>4} {sparkline(heights, 52)} {curve[-1]:.3f}")
            self.display.show(f"step {step:6d}/{end}  {self.line}", left, *drawn, at_once=tenth)


@contextmanager
def following() -> Iterator[SweepWatch]:
    """Follows a sweep: a line for every run that ends, and now and then how the others stand."""
    begun = False
    with display(60.0) as shown:

        def watch(board: Board, name: str | None) -> None:
            nonlocal begun
            if not begun:
                begun = True
                before = [f"{count} {state} before" for state, count in board.before.items()]
                print(", ".join([counted(len(board.runs), "run"), *before]))
            if name is not None and (run := board.runs[name]).state != "running":
                loss = "" if run.loss is None else f"  loss {run.loss:.4f}"
                ends = {
                    "done": f"done  step {run.step}{loss}",
                    "failed": f"failed  {run.message}",
                    "waiting": f"lost, will be resumed: {run.message}",
                }
                at = f"{board.ended:{len(str(len(board.runs)))}d}/{len(board.runs)}"
                print(f"{at}  {name}  {ends[run.state]}")
            elif running := board.named("running"):
                left = board.seconds_left()
                at = [f"{one} step {board.runs[one].step}/{board.steps[one]}" for one in running]
                more = f" and {len(at) - 4} more" if len(at) > 4 else ""
                rest = "" if left is None else f"; about {duration(left)} left"
                shown.show(f"… {', '.join(at[:4])}{more}{rest}")

        yield watch
