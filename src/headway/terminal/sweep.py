"""A sweep as it goes: a live table, or plain lines where there is no terminal."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from headway.sweeps import Board, Standing, SweepWatch, table
from headway.terminal.base import console
from headway.terminal.runs import print_runs
from headway.text import counted, duration
from headway.text import width as columns

BAR = 24
MOST = 100
"""The most runs that are listed at the end; of more, those that have failed."""
BEAT = 60.0
"""Seconds between two signs of life where there is no terminal."""
ASIDE = 6
"""Lines of the live table beside those of the running runs."""


class SweepProgress:
    """Follows a sweep: how many runs are done, running, failed, waiting; and each running one.

    On a terminal it redraws in place; in a file it writes a line for every run that ends, and one
    a minute on those that run.
    """

    def __init__(self, live: Live | None):
        self.live, self.begun = live, False
        self.shown = 0.0 if live else time.monotonic()

    def __call__(self, board: Board, name: str | None) -> None:
        """Shows how all runs stand (a `SweepWatch`)."""
        has_ended = name is not None and board.runs[name].has_ended
        if self.live is None:
            self._write(board, name)
        elif board.ended == len(board.runs):
            self.live.stop()
        elif has_ended or time.monotonic() - self.shown > 0.2:
            self.shown = time.monotonic()
            self.live.update(self.panel(board, self.live.console), refresh=True)

    def _write(self, board: Board, name: str | None) -> None:
        if not self.begun:
            self.begun = True
            before = [f"{count} {state} before" for state, count in board.before.items()]
            print(", ".join([counted(len(board.runs), "run"), *before]), flush=True)
        if name is None or board.runs[name].state == "running":
            return self._beat(board)
        run = board.runs[name]
        loss = "" if run.loss is None else f"  loss {run.loss:.4f}"
        said = {
            "done": f"done  step {run.step}{loss}",
            "failed": f"failed  {run.message}",
            "waiting": f"lost, will be resumed: {run.message}",
            "elsewhere": "left to the process that is writing to it",
        }[run.state]
        width = len(str(len(board.runs)))
        print(f"{board.ended:{width}d}/{len(board.runs)}  {name}  {said}", flush=True)

    def _beat(self, board: Board) -> None:
        """Says now and then that all is well, as a run may take minutes."""
        if time.monotonic() - self.shown < BEAT:
            return
        self.shown = time.monotonic()
        running = [(name, board.runs[name]) for name in board.named("running")]
        at = ", ".join(f"{name} step {run.step}/{board.steps[name]}" for name, run in running[:4])
        more = f" and {len(running) - 4} more" if len(running) > 4 else ""
        left = board.seconds_left()
        print(f"… {at}{more}" + (f"; about {duration(left)} left" if left else ""), flush=True)

    def panel(self, board: Board, out: Console) -> Group:
        """The live table."""
        running = board.named("running")
        filled = round(BAR * board.share)
        left = board.seconds_left()
        counts = [f"{board.count(state)} {state}" for state in ("done", "running")]
        failed, waiting, elsewhere = map(board.count, ("failed", "waiting", "elsewhere"))
        lines = [
            Text.assemble(
                ("sweep  ", "bold"),
                ("━" * filled, "green"),
                ("─" * (BAR - filled), "dim"),
                f"  {board.ended} of {len(board.runs)}",
                "" if left is None else f"   about {duration(left)} left",
            ),
            Text.assemble(
                "       " + "  ".join(counts),
                (f"  {failed} failed", "red" if failed else ""),
                f"  {waiting} waiting",
                f"  {elsewhere} in another process" if elsewhere else "",
            ),
        ]
        room = max(1, out.height - ASIDE)
        width = max(map(len, running[:room]), default=0)
        lines += [
            self._line(name, board.runs[name], board.steps[name], width) for name in running[:room]
        ]
        if len(running) > room:
            lines.append(Text(f"       and {len(running) - room} more"))
        for name in board.named("failed")[-2:]:
            lines.append(Text(f"{name}: {board.runs[name].message}", "red"))
        for line in lines:
            line.truncate(out.width, overflow="ellipsis")
        return Group(*lines)

    def _line(self, name: str, run: Standing, end: int, width: int) -> Text:
        loss = "…" if run.loss is None else f"{run.loss:.3f}"
        at = f"step {run.step:>{len(str(end))}}/{end}  loss {loss:5}"
        width = max(1, min(width, columns() - 9 - len(at)))
        short = name if len(name) <= width else f"{name[: width - 1]}…"
        return Text.assemble(f"       {short:{width}}  ", at)


@contextmanager
def following() -> Iterator[SweepWatch]:
    """A live table of a sweep on a terminal, or plain lines where there is none."""
    if not sys.stdout.isatty():
        yield SweepProgress(None)
        return
    with Live(console=console(), auto_refresh=False, transient=True) as live:
        yield SweepProgress(live)


def print_sweep(board: Board, folder: Path) -> None:
    """How a sweep has ended: a table of its runs, and how many are done and failed."""
    rows = [row for row in table(folder) if row["name"] in board.runs]
    if len(rows) > MOST:
        rows = [row for row in rows if row["status"] != "done"]
    if rows:
        print_runs(rows, folder)
    recorded = {row["name"] for row in rows if row["status"] == "failed"}
    out = console()
    for name in board.named("failed"):
        if name not in recorded:
            out.print(f"{name}: {board.runs[name].message} (not recorded)")
    done, failed = board.count("done"), board.count("failed")
    print(f"{done} done" + (f", {failed} failed" if failed else "") + f"; sweep {folder}")
