"""Training as it goes: a live display, or plain lines where there is no terminal."""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Group
from rich.live import Live
from rich.text import Text

from headway.terminal.base import redrawn
from headway.text import duration, sparkline
from headway.training import Run
from headway.training.loop import Watch

FLOOR = 0.005
"""The loss at which its curve reaches the ground."""


class Progress:
    """Follows a training run: step, rate, time left, and the partial loss of every hop.

    On a terminal it redraws in place; in a file it writes one line every tenth evaluation.
    """

    def __init__(self, live: Live | None):
        self.live, self.curves = live, dict[str, list[float]]()
        self.evaluations, self.metrics = 0, dict[str, Any]()
        self.first: tuple[int, float] | None = None
        self.step, self.end, self.attempt, self.shown = 0, 0, 1, 0.0

    def __call__(self, run: Run, step: int, end: int, metrics: dict[str, Any] | None) -> None:
        """Takes note of a step (a `Watch`)."""
        now = time.perf_counter()
        if self.first is not None and step < self.step:
            self.attempt += 1
            self.first, self.curves, self.end = None, {}, 0
        if self.live is None and 0 < step < end < self.end:
            print(f"the loss is low enough: rates fall from here, to end at step {end}", flush=True)
        self.step, self.end = step, end
        self.first = self.first or (step, now)
        if metrics is not None:
            self.evaluations, self.metrics = self.evaluations + 1, metrics
            for hop, loss in metrics["partial"].items():
                self.curves.setdefault(hop, []).append(loss)
        if self.live is not None and (metrics is not None or now - self.shown > 0.2):
            self.shown = now
            self.live.update(self.panel(run, step, end), refresh=True)
        if self.live is None and metrics and (self.evaluations % 10 == 1 or step == end):
            hops = "  ".join(f"{hop} {x:.3f}" for hop, x in metrics["partial"].items())
            rate, loss = metrics["examples_per_second"], metrics["val_loss"]
            early = "  stopped early" if loss < run.config.training.stop_below else ""
            print(
                f"step {step:6d}/{end}  loss {loss:.3f}  {hops}  {rate:.0f} ex/s" + early,
                flush=True,
            )

    def panel(self, run: Run, step: int, end: int) -> Group:
        """The progress display at a step."""
        first, since = self.first or (step, time.perf_counter())
        pace = (time.perf_counter() - since) / max(1, step - first)
        rate = run.config.training.batch_size / pace if step > first else 0.0
        filled = round(24 * step / end)
        loss = f"{self.metrics['val_loss']:.3f}" if self.metrics else "…"
        again = f"   attempt {self.attempt}" if self.attempt > 1 else ""
        warm = step > run.config.training.warmup_steps
        cools = "   rates fall" if warm and self.metrics.get("rate_scale", 1.0) < 1 else ""
        left = f"at most {duration(pace * (end - step))} left"
        lines = [
            Text.assemble(
                ("training  ", "bold"),
                ("━" * filled, "green"),
                ("─" * (24 - filled), "dim"),
                f"  step {step}/{end}  {rate:.0f} examples/s",
            ),
            Text(f"          loss {loss}{again}{cools}   {left}"),
        ]
        for hop, curve in self.curves.items():
            learnt = curve[-1] < 0.5
            lines.append(
                Text.assemble(
                    f"     {hop:>4} ",
                    (sparkline([height(x) for x in curve], 52), "green" if learnt else "yellow"),
                    f" {curve[-1]:.3f}",
                    (" learnt" if learnt else "", "green"),
                )
            )
        return Group(*lines)


def height(loss: float) -> float:
    """A loss on a logarithmic scale: 0 at `FLOOR` and below, 1 at a loss of 1."""
    return 1 - math.log(max(loss, FLOOR)) / math.log(FLOOR)


@contextmanager
def watching() -> Iterator[Watch]:
    """A live display of training on a terminal, or plain lines where there is none."""
    with redrawn(transient=False) as live:
        yield Progress(live)
