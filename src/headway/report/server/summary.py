"""A run's line in the list of runs."""

from dataclasses import dataclass

from headway.circuits import THRESHOLD
from headway.circuits.least import Least
from headway.report.findings import judged_loss
from headway.report.history import thinned
from headway.report.server.catalogue import Entry
from headway.text import counted
from headway.training import Run
from headway.training.config import Elsewhere
from headway.training.files import clear_content_errors

POINTS = 48
"""The most evaluations in a small curve."""


@dataclass(frozen=True)
class Summary:
    """What the list says of a run.

    Attributes:
        task: its kind and size.
        model: its size.
        seed: of the run.
        status: `done`, `failed`, `running` or `stopped`.
        message: why it failed, if so.
        step: of the last evaluation.
        steps: that its config allows; None if it was trained elsewhere.
        loss: the validation loss at the last evaluation, if there was one.
        solved: whether that of the hops that can be predicted without error is below the threshold.
        curve: steps and validation losses, at most `POINTS`.
        heads: useful heads and the layers they are in, if its circuit is known.
        least: the flow minimum of its task.
    """

    task: str
    model: str
    seed: int
    status: str
    message: str | None
    step: int
    steps: int | None
    loss: float | None
    solved: bool
    curve: list[tuple[int, float]]
    heads: tuple[int, int] | None
    least: Least


def summary_of(entry: Entry) -> Summary:
    """Reads what the list says of a run.

    Raises:
        HeadwayError: if its folder cannot be read, or a file in it is corrupted.
    """
    run = Run.open(entry.folder)
    config, task = run.config, run.config.task
    outcome, metrics, found = run.outcome() or {}, run.metrics(), run.read("circuit.json")
    mask = "" if config.model.causal else ", no mask"
    layers, heads_each = config.model.n_layers, config.model.n_heads
    last = metrics[-1] if metrics else {}
    curve = [(line["step"], line["val_loss"]) for line in thinned(metrics, POINTS)]
    message = outcome.get("message")
    with clear_content_errors(entry.folder / "circuit.json"):
        heads = None if found is None else (int(found["useful_heads"]), int(found["useful_layers"]))
    return Summary(
        task=f"{task.kind} {task.label}".strip() + mask,
        model=f"{counted(layers, 'layer')} × {counted(heads_each, 'head')}",
        seed=config.seed,
        status=run.status,
        message=None if message is None else str(message),
        step=last.get("step", 0),
        steps=None if isinstance(config.training, Elsewhere) else config.training.steps,
        loss=last.get("val_loss"),
        solved=bool(metrics) and judged_loss(run.task, last) < THRESHOLD,
        curve=curve,
        heads=heads,
        least=Least.of(task, config.model.causal),
    )
