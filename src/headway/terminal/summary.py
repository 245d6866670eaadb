"""The findings of the demo on one screen."""

from pathlib import Path

from headway.circuits import Discovery, MinimalCircuits, Timeline
from headway.circuits.mechanism import name_of
from headway.circuits.text import at_step, necessity_table, said_of_order
from headway.terminal.base import console
from headway.text import duration, wrapped
from headway.training import Run
from headway.training.text import said_of_attempts

INDENT = " " * 11


def say(line: str) -> None:
    """One line about what happens next."""
    print(line, flush=True)


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
    outcome, measure = run.read("outcome.json") or {}, task.targets.loss_name
    hops = "  ".join(f"{hop} {loss:.3f}" for hop, loss in outcome["partial"].items())
    heads, layers = found.circuit.useful_heads, found.circuit.useful_layers
    born = {history.path: history.born for history in timeline.paths}

    out = console()
    out.rule(f"[bold]headway[/]  {task.title}", align="left")
    out.print(
        f"[bold]1 Trained[/]  {model.n_layers} layers × {model.n_heads} head,"
        f" {model.size}, seed {run.config.seed}: solved in {outcome['step']} steps,"
        f" {duration(outcome['seconds'])}"
        f"\n{INDENT}validation {measure} [bold]{outcome['val_loss']:.4f}[/]  ({hops})"
        f"\n{INDENT}curriculum {curriculum.kind}{said_of_attempts(outcome)}"
    )
    out.print(
        f"[bold]2 Circuit[/]  all {model.n_layers * model.n_heads} heads replaced: {measure}"
        f" [bold]{found.replaced_loss:.4f}[/] (threshold {found.threshold:g})"
    )
    lines = [INDENT + line for line in necessity_table(found, born)]
    for kind, idle in found.circuit.idle_heads.items():
        lines += wrapped(f"{kind}: {' '.join(map(name_of, idle))}", INDENT, INDENT + "  ")
    verdicts = ("faithful", "necessary", "minimal", "feasible")
    said = [f"{'' if getattr(found, v) else 'NOT '}{v}" for v in verdicts]
    lines.append(f"{INDENT}{', '.join(said)}{said_of_trials(found)}")
    out.print("\n".join(lines), markup=False)
    learnt = "  ".join(f"{hop} {at_step(step)}" for hop, step in timeline.hops.items())
    out.print(f"[bold]3 Emerged[/]  partial losses below 0.5 at step: {learnt}")
    out.print(f"{INDENT}{said_of_order(timeline)}")
    lines = wrapped(
        f"{len(heads)} heads in {len(layers)} layers: {said_of_minimum(found)}",
        "4 Minimum  ",
        INDENT,
    )
    lines += wrapped(said_of_every(every), INDENT, INDENT)
    out.print("[bold]4 Minimum[/]" + "\n".join(lines).removeprefix("4 Minimum"))
    out.print(
        f"[bold]5 Report[/]   {page}\n{INDENT}{duration(seconds)} in all, at most"
        f" {memory:.2f} GB of memory"
    )


def said_of_trials(found: Discovery) -> str:
    """How like the circuit those of the other searches are, in words."""
    likeness = [trial.jaccard for trial in found.certificate.trials]
    return f"; found again {sum(likeness) / len(likeness):.0%}" if likeness else ""


def said_of_minimum(found: Discovery) -> str:
    """Whether fewer layers are enough by information flow (section 5), and paths can be spared."""
    if found.feasible is None:
        return "the flow minimum of this task is not known"
    minimum = found.certificate.minimum
    if minimum is None:
        return "no number is enough by information flow"
    if len(found.circuit.useful_layers) > minimum:
        return f"the flow minimum is {minimum} layers"
    needed = "every path of it is needed" if found.necessary else "some paths of it can be spared"
    return f"the flow minimum, and {needed}"


def said_of_every(every: MinimalCircuits) -> str:
    """Whether the circuit is the only minimal one, in words."""
    count, n = len(every.circuits), len(every.candidates)
    among = f"among {n} candidate paths"
    if not every.complete:
        return f"other minimal circuits {among}: not all sets were judged (circuit --all)"
    if every.circuits == (tuple(sorted(every.discovered)),):
        return f"no other minimal circuit {among} (exhaustive search)"
    return f"{count} minimal circuits {among} (exhaustive search)"
