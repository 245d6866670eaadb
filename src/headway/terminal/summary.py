"""The findings of the demo on one screen."""

from pathlib import Path

from rich.padding import Padding

from headway.circuits import Discovery, Timeline
from headway.tasks import ChainConfig, RetrievalConfig, TaskConfig, task_kind, task_size
from headway.terminal.base import console, duration
from headway.terminal.circuit import mechanism_rows, necessity_table
from headway.terminal.progress import said_of_attempts
from headway.terminal.timeline import at_step, said_of_order
from headway.theory import proven_minimum
from headway.training import Run


def say(line: str) -> None:
    """One line about what happens next."""
    print(line, flush=True)


DEPTHS = {"mixture": "sequences of all depths", "rising": "ever deeper sequences"}
"""What `TrainingConfig.depths` says, in words."""


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
    if config.training.depths != "full":
        out.print(f"           trained on {DEPTHS[config.training.depths]}, judged on the deepest")
    out.print(
        f"[bold]2 Circuit[/]  all {model.n_layers * model.n_heads} heads replaced: MSE"
        f" [bold]{found.replaced_loss:.4f}[/] (threshold {found.threshold:g})"
    )
    out.print(Padding(necessity_table(found, born), (0, 0, 0, 11)))
    for names, kind in mechanism_rows(found.circuit)[len(heads) :]:
        out.print(f"           {kind}: {names}")
    verdicts = ("faithful", "necessary", "minimal", "feasible")
    said = [f"{'' if getattr(found, v) else 'NOT '}{v}" for v in verdicts]
    out.print(f"           {', '.join(said)}{said_of_trials(found)}")
    learnt = "  ".join(f"{hop} {at_step(step)}" for hop, step in timeline.hops.items())
    out.print(f"[bold]3 Emerged[/]  partial losses below 0.5 at step: {learnt}")
    out.print(f"           {said_of_order(timeline)}")
    out.print(
        f"[bold]4 Minimum[/]  {len(heads)} useful heads in {len(layers)} layers; proven minimum"
        f" (sections 5, B): {'none is enough' if minimum is None else f'{minimum} layers'}"
    )
    out.print(
        f"[bold]5 Report[/]   {page}\n           {duration(seconds)} in all, at most"
        f" {memory:.2f} GB of memory"
    )


def said_of_trials(found: Discovery) -> str:
    """How like the circuit those of the other searches are, in words."""
    likeness = [trial.jaccard for trial in found.certificate.trials]
    return f"; found again {sum(likeness) / len(likeness):.0%}" if likeness else ""


def describe_task(config: TaskConfig) -> str:
    """A task in a few words."""
    if not isinstance(config, ChainConfig):
        return f"{task_kind(config)}, {task_size(config)}"
    curriculum = "implicit curriculum" if config.curriculum else "no curriculum"
    if isinstance(config, RetrievalConfig) and config.hops is not None:
        curriculum += " of " + ", ".join(f"x_{hop}" for hop in config.hops)
    if isinstance(config, RetrievalConfig):
        sizes = f"D={config.depth} N={config.n_chains} K={config.d_token}"
        return f"retrieval problem, {sizes}, {curriculum}"
    sizes = f"M={config.n_values} N={config.n_chains} K={config.d_token}"
    return f"conditional retrieval problem, {sizes}, {curriculum}"
