"""The findings of the demo on one screen."""

import re
from pathlib import Path

from rich.text import Text

from headway.console import console
from headway.dynamics import Timeline
from headway.find import MinimalCircuits
from headway.judge import THRESHOLD, Discovery, verdicts
from headway.judge.text import WORDS, of_discovery, path_table, without_paths
from headway.report.findings import solved_at
from headway.terminal.base import INDENT, LOOKS, print_part
from headway.text import UNBROKEN, at_step, counted, duration, rounded
from headway.theory import Flow, chain_depth, fewest_paths
from headway.training import Run
from headway.training.losses import evaluation_text
from headway.training.run import said_of_attempts


def print_discovery(discovery: Discovery, folder: Path) -> None:
    """A circuit and the evidence for it, its verdicts in colour where there is some."""
    text = Text(of_discovery(discovery, folder))
    for verdict in verdicts(discovery):
        word = re.escape(WORDS[verdict.holds])
        start = rf"(?m)^{verdict.name} +({word})"
        line = re.search(start, text.plain)
        if line is not None:
            text.stylize(LOOKS[verdict.holds], *line.span(1))
    console().print(text, soft_wrap=True)


def print_summary(
    run: Run,
    discovery: Discovery,
    timeline: Timeline,
    every: MinimalCircuits,
    page: Path,
    seconds: float,
    memory: float,
) -> None:
    """The findings of the demo on one screen."""
    of_task = f"  {run.task.title}"
    title = Text.assemble(("headway", "bold"), of_task)
    console().rule(title, align="left")
    print_part("1 Trained", *said_of_training(run))
    looks = {name: LOOKS[holds] for name, holds in words_of_verdicts(discovery)}
    print_part("2 Circuit", *said_of_circuit(run, discovery, timeline), looks=looks)
    learnt = [f"{hop}{UNBROKEN}{at_step(step)}" for hop, step in timeline.hops.items()]
    print_part("3 Emerged", f"partial losses below 0.5 at step: {'  '.join(learnt)}")
    minimum = said_of_minimum(discovery, run.task.flow())
    print_part("4 Minimum", minimum, said_of_every(every))
    used = f"{duration(seconds)} in all, at most {memory:.2f} GB of memory"
    print_part("5 Report", str(page), used)


def said_of_training(run: Run) -> list[str]:
    """The model, its training, its losses at the end, and the curriculum."""
    model = run.config.transformer
    outcome = run.outcome() or {}
    heads = counted(model.n_heads, "head")
    size = f"{model.n_layers} layers × {heads}, {model.size}"
    seed = f"seed {run.config.seed}"
    time = duration(outcome["seconds"])
    took = f"{outcome['step']} steps, {time}"
    curriculum = run.config.training.curriculum.kind
    attempts = said_of_attempts(outcome)
    return [
        f"{size}, {seed}: {took}",
        said_of_losses(run),
        f"curriculum {curriculum}{attempts}",
    ]


def said_of_losses(run: Run) -> str:
    """The loss at the end, hop by hop, and the step from which the task was solved."""
    metrics = run.metrics()
    solved = solved_at(run.task, metrics)
    line = evaluation_text(metrics[-1], run.task.targets.loss_name)
    if solved:
        line += f"; solved (below {THRESHOLD:g}) from step {solved['step']}"
    return line


def said_of_circuit(run: Run, discovery: Discovery, timeline: Timeline) -> list[str]:
    """The loss with all heads replaced, paths and idle heads, and the verdicts."""
    model = run.config.transformer
    replaced = rounded(discovery.replaced_loss)
    loss = f"{run.task.targets.loss_name} {replaced}"
    n_heads = model.n_layers * model.n_heads
    lines = [
        f"all {n_heads} heads replaced: {loss} (threshold {discovery.threshold:g})"
    ]
    if discovery.circuit.paths:
        emerged = {history.path: history.emerged for history in timeline.paths}
        lines += path_table(discovery, emerged, len(INDENT))
    elif discovery.faithful:
        lines.append(without_paths(discovery.circuit))
    return [*lines, *discovery.circuit.idle_lines, said_of_verdicts(discovery)]


def said_of_verdicts(discovery: Discovery) -> str:
    """The verdicts that hold, do not, or cannot be said."""
    return ", ".join(words for words, _ in words_of_verdicts(discovery))


def words_of_verdicts(discovery: Discovery) -> list[tuple[str, bool | None]]:
    """Every verdict in words, and whether it holds."""
    words = {True: "{}", False: "NOT {}", None: "{} unknown"}
    return [
        (words[verdict.holds].format(verdict.name), verdict.holds)
        for verdict in verdicts(discovery)
    ]


def said_of_minimum(discovery: Discovery, flow: Flow | None) -> str:
    """Its layers and paths beside the fewest by information flow.

    Args:
        discovery: the circuit.
        flow: of the task; None if nobody knows it.
    """
    layers = counted(len(discovery.circuit.useful_layers), "layer")
    paths = counted(len(discovery.circuit.paths), "path")
    own = f"{layers}, {paths}"
    least = discovery.evidence.minimum
    if flow is None:
        return f"{own}; the flow minimum of this task is not known"
    if least is None:
        return f"{own}; no number of layers is enough by information flow"
    depth = chain_depth(flow)
    fewest = counted(least, "layer")
    if depth:
        fewest += f", {counted(fewest_paths(depth), 'path')}"
    return f"{own}; the fewest by information flow: {fewest}"


def said_of_every(every: MinimalCircuits) -> str:
    """The number of minimal circuits, and a word if not all sets were judged."""
    count = counted(len(every.circuits), "minimal circuit")
    among = counted(len(every.candidates), "candidate path")
    searched = (
        "exhaustive search"
        if every.complete
        else "not all sets were judged: circuit --all"
    )
    return f"{count} among {among} ({searched})"
