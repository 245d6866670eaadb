"""What the terminal shows: live progress, tables, and the summary of one screen."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from headway.circuits import Circuit, Discovery, Paths, Timeline
from headway.errors import HeadwayError
from headway.tasks import RetrievalConfig, TaskConfig
from headway.theory import proven_minimum
from headway.training import Run
from headway.training.files import clear_content_errors
from headway.training.loop import Watch

BLOCKS = " ▁▂▃▄▅▆▇█"
WIDTH = 80


def console() -> Console:
    """The terminal, at most 80 columns wide, so that output reads the same everywhere."""
    wide = Console(highlight=False)
    return wide if wide.width <= WIDTH else Console(highlight=False, width=WIDTH)


def sparkline(values: list[float], width: int, top: float = 1.0) -> str:
    """A curve between 0 and `top` as `width` characters, each the mean of its share of values."""
    if not values:
        return ""
    width = min(width, len(values))
    edges = [round(i * len(values) / width) for i in range(width + 1)]
    means = [sum(values[a:b]) / (b - a) for a, b in pairwise(edges)]
    return "".join(BLOCKS[min(8, max(0, round(8 * mean / top)))] for mean in means)


def duration(seconds: float) -> str:
    """Seconds as people say them: `48 s`, `3 min 05 s`, `2 h 07 min`."""
    seconds = round(seconds)
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60} min {seconds % 60:02d} s"
    return f"{seconds // 3600} h {seconds % 3600 // 60:02d} min"


class Progress:
    """Follows a training run: step, rate, time left, and the partial loss of every hop.

    On a terminal it redraws in place; in a file it writes one line every tenth evaluation.
    """

    def __init__(self, live: Live | None):
        self.live, self.curves = live, dict[str, list[float]]()
        self.evaluations, self.metrics = 0, dict[str, Any]()
        self.first: tuple[int, float] | None = None
        self.step, self.attempt, self.shown = 0, 1, 0.0

    def __call__(self, run: Run, step: int, end: int, metrics: dict[str, Any] | None) -> None:
        """Takes note of a step (a `Watch`)."""
        now = time.perf_counter()
        if self.first is not None and step < self.step:
            self.attempt += 1
            self.first, self.curves = None, {}
        self.step = step
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
            rate = metrics["examples_per_second"]
            print(
                f"step {step:6d}/{end}  loss {metrics['val_loss']:.3f}  {hops}  {rate:.0f} ex/s",
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
        lines = [
            Text.assemble(
                ("training  ", "bold"),
                ("━" * filled, "green"),
                ("─" * (24 - filled), "dim"),
                f"  step {step}/{end}  {rate:.0f} examples/s",
            ),
            Text(f"          loss {loss}{again}   at most {duration(pace * (end - step))} left"),
        ]
        for hop, curve in self.curves.items():
            learnt = curve[-1] < 0.5
            lines.append(
                Text.assemble(
                    f"     {hop:>4} ",
                    (sparkline(curve, 52), "green" if learnt else "yellow"),
                    f" {curve[-1]:.3f}",
                    (" learnt" if learnt else "", "green"),
                )
            )
        return Group(*lines)


@contextmanager
def watching() -> Iterator[Watch]:
    """A live display of training on a terminal, or plain lines where there is none."""
    if not sys.stdout.isatty():
        yield Progress(None)
        return
    with Live(console=console(), auto_refresh=False) as live:
        yield Progress(live)


def print_outcome(run: Run) -> None:
    """How a training run ended."""
    outcome = run.read("outcome.json")
    if outcome is None:
        raise HeadwayError(f"{run.folder}: the run has not ended yet")
    hops = "  ".join(f"{hop} {loss:.4f}" for hop, loss in outcome["partial"].items())
    print(
        f"{outcome['status']}: validation MSE {outcome['val_loss']:.4f} ({hops})"
        f"\n      after {outcome['step']} steps, {duration(outcome['seconds'])}"
        f"{said_of_attempts(outcome)}"
        f"\nrun   {run.folder}"
    )


def mechanism_rows(circuit: Circuit) -> list[tuple[str, str]]:
    """The circuit in words, heads without use gathered in one row."""
    rows, idle = [], dict[str, list[str]]()
    for (layer, head), mechanism in sorted(circuit.mechanisms.items(), key=lambda item: item[0]):
        name = f"{layer}.{head}"
        if isinstance(mechanism, Paths) and len(mechanism):
            rows.append((name, str(mechanism)))
        else:
            idle.setdefault(str(mechanism), []).append(name)
    return rows + [(" ".join(names), kind) for kind, names in idle.items()]


def print_circuit(found: Discovery) -> None:
    """A circuit and the evidence for it."""
    out = console()
    out.print(
        f"all heads replaced: MSE {found.replaced_loss:.4f}"
        f" (the model itself {found.intact_loss:.4f}, threshold {found.threshold:g})"
        f"\nover {found.sequences} sequences that the search did not see"
    )
    if not found.faithful:
        out.print("[bold red]not faithful:[/] no circuit below the threshold was found")
    heads = Table(box=None, pad_edge=False)
    heads.add_column("layer.head")
    heads.add_column("mechanism")
    for row in mechanism_rows(found.circuit):
        heads.add_row(*row)
    out.print(heads)
    out.print()
    out.print(necessity_table(found))
    out.print("without: MSE with this path cut and all other heads replaced")
    out.print("free above: the same, with the useful heads above attending freely")
    out.print(f"{found.forwards} forward passes, {found.seconds:.1f} s")


def necessity_table(
    found: Discovery, born: dict[tuple[int, int, str], float | None] | None = None
) -> Table:
    """Every path of a circuit with its attention and the losses without it, and its birth."""
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    titles = ["layer.head", "path", "attention", "without", "free above"]
    for title in titles + (["born at step"] if born is not None else []):
        table.add_column(title, justify="left" if title in titles[:2] else "right")
    for n in found.necessity:
        layer, head, relation = n.path
        cells = [f"{layer}.{head}", relation, f"{n.attention:.2f}", f"{n.loss:.3f}"]
        cells.append(f"{n.free:.3f}")
        if born is not None:
            step = born.get(n.path)
            cells.append("never" if step is None else f"{step:.0f}")
        table.add_row(*cells)
    return table


def print_timeline(timeline: Timeline) -> None:
    """When every path was born and every hop was learnt."""
    out = console()
    table = Table(box=None, pad_edge=False)
    for title in ("path", "layer.head", "attention over training", "born at step"):
        table.add_column(title, justify="right" if title == "born at step" else "left")
    for history in timeline.paths:
        layer, head, relation = history.path
        born = f"{history.born:.0f}" if history.born is not None else "never"
        table.add_row(relation, f"{layer}.{head}", sparkline(history.attention, 36), born)
    out.print(table)
    learnt = "   ".join(
        f"{hop} {'never' if step is None else f'at step {step:.0f}'}"
        for hop, step in timeline.hops.items()
    )
    out.print(f"partial loss below 0.5:  {learnt}")
    out.print(said_of_order(timeline))


def said_of_order(timeline: Timeline) -> str:
    """Whether hops were learnt in chain order, in words."""
    if timeline.in_chain_order is None:
        return "no order of hops to compare"
    return "hops learnt in chain order" if timeline.in_chain_order else "hops NOT in chain order"


def print_runs(runs: list[Run | HeadwayError]) -> None:
    """A table of runs and their state; folders that cannot be read say why."""
    table = Table(box=None, pad_edge=False)
    for title in ("run", "status", "step", "val MSE", "circuit", "time"):
        table.add_column(title, justify="left" if title in ("run", "status") else "right")
    unreadable: list[HeadwayError] = []
    for run in runs:
        if isinstance(run, HeadwayError):
            unreadable.append(run)
            continue
        try:
            metrics, found, status = run.metrics(), run.read("circuit.json"), run.status
            with clear_content_errors(run.folder / "circuit.json"):
                circuit = "-" if found is None else f"{found['useful_heads']} heads"
        except HeadwayError as error:
            unreadable.append(error)
            continue
        last = metrics[-1] if metrics else None
        table.add_row(
            Text(run.folder.name),
            status,
            str(last["step"]) if last else "0",
            f"{last['val_loss']:.4f}" if last else "-",
            circuit,
            duration(last["seconds"]) if last else "-",
        )
    out = console()
    out.print(table if table.row_count else "no runs here yet: headway train makes one")
    for error in unreadable:
        out.print(f"unreadable: {error}", markup=False)


def say(line: str) -> None:
    """One line about what happens next."""
    print(line, flush=True)


def print_summary(
    run: Run, found: Discovery, timeline: Timeline, page: Path, seconds: float, memory: float
) -> None:
    """The findings of the demo on one screen of 80 columns."""
    config, outcome = run.config, run.read("outcome.json") or {}
    model, causal = config.model, config.model.causal
    hops = "  ".join(f"{hop} {loss:.3f}" for hop, loss in outcome["partial"].items())
    minimum = proven_minimum(config.task, causal)
    heads, layers = found.circuit.useful_heads, found.circuit.useful_layers
    born = {history.path: history.born for history in timeline.paths}

    out = console()
    out.rule(f"[bold]headway[/]  {describe_task(config.task)}", align="left")
    out.print(
        f"[bold]1 Trained[/]  {model.n_layers} layers × {model.n_heads} head, width"
        f" {model.d_model}, seed {config.seed}: solved in {outcome['step']} steps,"
        f" {duration(outcome['seconds'])}{said_of_attempts(outcome)}"
        f"\n           validation MSE [bold]{outcome['val_loss']:.4f}[/]  ({hops})"
    )
    out.print(
        f"[bold]2 Circuit[/]  all {model.n_layers * model.n_heads} heads replaced: MSE"
        f" [bold]{found.replaced_loss:.4f}[/] (threshold {found.threshold:g})"
    )
    out.print(Padding(necessity_table(found, born), (0, 0, 0, 11)))
    for names, kind in mechanism_rows(found.circuit)[len(heads) :]:
        out.print(f"           {kind}: {names}")
    if found.necessity:
        rise = min(max(n.loss, n.free) for n in found.necessity) - found.replaced_loss
        out.print(f"           cutting any one path raises the MSE by at least {rise:.3f}")
    learnt = "  ".join(
        f"{hop} {'never' if step is None else f'{step:.0f}'}" for hop, step in timeline.hops.items()
    )
    out.print(f"[bold]3 Emerged[/]  partial losses below 0.5 at step: {learnt}")
    out.print(f"           {said_of_order(timeline)}")
    out.print(
        f"[bold]4 Minimum[/]  {len(heads)} useful heads in {len(layers)} layers; proven minimum"
        f" (sections 5, B): {minimum} layers"
    )
    out.print(
        f"[bold]5 Report[/]   {page}\n           {duration(seconds)} in all, at most"
        f" {memory:.2f} GB of memory"
    )


def said_of_attempts(outcome: dict[str, Any]) -> str:
    """Which attempts were given up before the one that counts, in words."""
    steps = [str(attempt["step"]) for attempt in outcome.get("given_up", [])]
    return f" (given up before: attempts at step {', '.join(steps)})" if steps else ""


def describe_task(config: TaskConfig) -> str:
    """A task in a few words."""
    curriculum = "implicit curriculum" if config.curriculum else "no curriculum"
    if isinstance(config, RetrievalConfig):
        sizes = f"D={config.depth} N={config.n_chains} K={config.d_token}"
        return f"retrieval problem, {sizes}, {curriculum}"
    sizes = f"M={config.n_values} N={config.n_chains} K={config.d_token}"
    return f"conditional retrieval problem, {sizes}, {curriculum}"
