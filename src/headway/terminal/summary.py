"""The findings of the demo on one screen."""

from pathlib import Path

from rich.text import Text

from headway.dynamics import Timeline
from headway.find import MinimalCircuits
from headway.judge import THRESHOLD, Discovery, verdicts
from headway.judge.text import path_table, without_paths
from headway.report.findings import solved_at
from headway.terminal.base import console, print_part
from headway.text import at_step, counted, duration
from headway.theory import Flow, chain_depth, fewest_paths
from headway.training import Run
from headway.training.losses import accuracy_text
from headway.training.run import said_of_attempts


def print_summary(
    run: Run,
    found: Discovery,
    timeline: Timeline,
    every: MinimalCircuits,
    page: Path,
    seconds: float,
    memory: float,
) -> None:
    """The findings of the demo on one screen of 80 columns."""
    task, model, curriculum = run.task, run.config.transformer, run.config.training.curriculum
    outcome, metrics, measure = run.outcome() or {}, run.metrics(), task.targets.loss_name
    hops = "  ".join(f"{hop} {loss:.3f}" for hop, loss in metrics[-1]["partial"].items())
    emerged = {history.path: history.emerged for history in timeline.paths}
    learnt = "  ".join(f"{hop} {at_step(step)}" for hop, step in timeline.hops.items())
    solved = solved_at(task, metrics)
    accuracy = accuracy_text(metrics[-1])
    path_lines = list[str]()
    if found.circuit.paths:
        path_lines = path_table(found, emerged)
    elif found.faithful:
        path_lines = [without_paths(found.circuit)]
    since = f"; solved (below {THRESHOLD:g}) from step {solved['step']}" if solved else ""

    console().rule(Text.assemble(("headway", "bold"), f"  {task.title}"), align="left")
    print_part(
        "1 Trained",
        f"{model.n_layers} layers × {counted(model.n_heads, 'head')}, {model.size}, seed"
        f" {run.config.seed}: {outcome['step']} steps, {duration(outcome['seconds'])}",
        f"validation {measure} {metrics[-1]['val_loss']:.4f}  ({hops}){accuracy}{since}",
        f"curriculum {curriculum.kind}{said_of_attempts(outcome)}",
    )
    print_part(
        "2 Circuit",
        f"all {model.n_layers * model.n_heads} heads replaced: {measure}"
        f" {found.replaced_loss:.4f} (threshold {found.threshold:g})",
        *path_lines,
        *found.circuit.idle_lines,
        said_of_verdicts(found),
    )
    print_part("3 Emerged", f"partial losses below 0.5 at step: {learnt}")
    print_part("4 Minimum", said_of_minimum(found, task.flow()), said_of_every(every))
    used = f"{duration(seconds)} in all, at most {memory:.2f} GB of memory"
    print_part("5 Report", str(page), used)


def said_of_verdicts(found: Discovery) -> str:
    """The verdicts that hold, do not, or cannot be said."""
    words = {True: "{}", False: "NOT {}", None: "{} unknown"}
    return ", ".join(words[one.holds].format(one.name) for one in verdicts(found))


def said_of_minimum(found: Discovery, flow: Flow | None) -> str:
    """Its layers and paths beside the fewest by information flow.

    Args:
        found: the circuit.
        flow: of the task; None if nobody knows it.
    """
    layers, paths = len(found.circuit.useful_layers), len(found.circuit.paths)
    own, least = f"{counted(layers, 'layer')}, {counted(paths, 'path')}", found.evidence.minimum
    if flow is None:
        return f"{own}; the flow minimum of this task is not known"
    if least is None:
        return f"{own}; no number of layers is enough by information flow"
    depth = chain_depth(flow)
    few = f", {counted(fewest_paths(depth), 'path')}" if depth else ""
    return f"{own}; the fewest by information flow: {counted(least, 'layer')}{few}"


def said_of_every(every: MinimalCircuits) -> str:
    """The number of minimal circuits, and a word if not all sets of paths were judged."""
    count = counted(len(every.circuits), "minimal circuit")
    searched = "exhaustive search" if every.complete else "not all sets were judged: circuit --all"
    return f"{count} among {counted(len(every.candidates), 'candidate path')} ({searched})"
