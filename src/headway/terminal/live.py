"""Progress: on a terminal in its place, else a line now and then."""

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.live import Live
from rich.text import Text

from headway.sweeps import Board, Standing, SweepWatch
from headway.terminal.base import console
from headway.text import counted, duration, sparkline
from headway.training import Run
from headway.training.loop import Watch
from headway.training.losses import accuracy_text

FLOOR = 0.005
"""The loss at which its curve reaches the ground."""


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
            print(line, flush=True)
        else:
            lines = Text("\n".join([line, *below]), no_wrap=True, overflow="ellipsis")
            self.live.update(lines, refresh=True)


@contextmanager
def display(pause: float, transient: bool = True) -> Iterator[Display]:
    """A display; on a terminal it goes away at the end, unless it is not transient."""
    if not sys.stdout.isatty():
        yield Display(None, pause)
        return
    with Live(console=console(), auto_refresh=False, transient=transient) as live:
        yield Display(live, pause)


@contextmanager
def counting(doing: str = "") -> Iterator[Callable[..., None]]:
    """Follows what is done one by one: `watch(done, total)` tells how many, and the time left.

    Args:
        doing: what is done, in words. If several things are done in turn, it is passed each time:
            `watch(done, total, doing)`.
    """
    begun: dict[str, tuple[float, int]] = {}
    with display(30.0) as shown:

        def watch(done: int, total: int, doing: str = doing) -> None:
            now, new = time.perf_counter(), doing not in begun
            # loading came before the first, so that its own time is not known
            start, first = begun.setdefault(doing, (now, done))
            line = f"{doing} {done} of {total}"
            if first < done < total:
                pace = (now - start) / (done - first)
                line += f"; about {duration(pace * (total - done))} left"
            shown.show(line, at_once=new or done == total)

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
        self.first: tuple[int, float] | None = None
        self.step, self.end, self.line = 0, 0, ""

    def __call__(self, run: Run, step: int, end: int, metrics: dict[str, Any] | None) -> None:
        """Takes note of a step (a `Watch`)."""
        now = time.perf_counter()
        if self.first is not None and step < self.step:
            patience = run.config.training.patience
            print(f"no hop was learnt in {patience} steps: a new attempt with other weights")
            self.first, self.curves, self.end = None, {}, 0
        if 0 < step < end < self.end:
            print(f"the loss is low enough: rates fall from here, to end at step {end}", flush=True)
        self.step, self.end, self.first = step, end, self.first or (step, now)
        if metrics is not None:
            self.evaluations += 1
            for hop, loss in metrics["partial"].items():
                self.curves.setdefault(hop, []).append(loss)
            hops = "  ".join(f"{hop} {x:.3f}" for hop, x in metrics["partial"].items())
            early = metrics["val_loss"] < run.config.training.stop_below
            self.line = f"loss {metrics['val_loss']:.3f}{accuracy_text(metrics)}  {hops}"
            self.line += f"  {metrics['examples_per_second']:.0f} ex/s"
            self.line += "  stopped early" if early else ""
        pace = (now - self.first[1]) / max(1, step - self.first[0])
        left = f"at most {duration(pace * (end - step))} left"
        tenth = metrics is not None and (self.evaluations % 10 == 1 or step == end)
        drawn = (
            f"{hop:>4} {sparkline([height(x) for x in curve], 52)} {curve[-1]:.3f}"
            for hop, curve in self.curves.items()
        )
        if tenth or self.display.live is not None:
            self.display.show(f"step {step:6d}/{end}  {self.line}", left, *drawn, at_once=tenth)


def height(loss: float) -> float:
    """A loss on a logarithmic scale: 0 at `FLOOR` and below, 1 at a loss of 1."""
    return 1 - math.log(max(loss, FLOOR)) / math.log(FLOOR)


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
                print(", ".join([counted(len(board.runs), "run"), *before]), flush=True)
            if name is not None and board.runs[name].state != "running":
                at = f"{board.ended:{len(str(len(board.runs)))}d}/{len(board.runs)}"
                print(f"{at}  {name}  {end_of(board.runs[name])}", flush=True)
            elif running := board.named("running"):
                left = board.seconds_left()
                at = [f"{one} step {board.runs[one].step}/{board.steps[one]}" for one in running]
                more = f" and {len(at) - 4} more" if len(at) > 4 else ""
                rest = "" if left is None else f"; about {duration(left)} left"
                shown.show(f"… {', '.join(at[:4])}{more}{rest}")

        yield watch


def end_of(run: Standing) -> str:
    """The end of a run, in words."""
    loss = "" if run.loss is None else f"  loss {run.loss:.4f}"
    return {
        "done": f"done  step {run.step}{loss}",
        "failed": f"failed  {run.message}",
        "waiting": f"lost, will be resumed: {run.message}",
    }[run.state]
