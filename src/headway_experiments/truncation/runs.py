"""The losses of a run's model, hop by hop, when weights of it are cut to low rank."""

from collections.abc import Callable
from dataclasses import asdict
from statistics import fmean

from headway.errors import require
from headway.training import Run, describe_environment, evaluate, held_out
from headway_experiments.truncation.cuts import Cut, Cuts, Row, Table, truncate
from headway_experiments.truncation.weights import matrices

FORMAT = 1
"""Of `truncation.json`."""

FILE = "truncation.json"


Losses = dict[str, float]
"""The held-out loss of every hop at one cut."""


def loss(row: Row[Losses]) -> float:
    """The mean of the partial losses."""
    return fmean(row.found.values())


def truncate_run(
    run: Run,
    cuts: Cuts,
    sequences: int = 512,
    step: int | None = None,
    watch: Callable[[int, int], None] | None = None,
) -> Table[Losses]:
    """Measures the held-out losses of a run's model with its weights cut to low rank.

    They are written to `truncation.json` in the run's folder.

    Args:
        run: with a checkpoint.
        cuts: of all layers by default.
        sequences: held out, to average over; no other measurement of the run uses them.
        step: of the checkpoint; by default the last.
        watch: called with how many cuts are measured, and of how many.

    Raises:
        HeadwayError: if a layer or weight is none of the model's, or the run cannot be read.
    """
    require(sequences >= 1, "sequences", sequences, "a whole number of at least 1")
    model = run.transformer(step)
    places = matrices(model)
    wanted = cuts.of(places, range(len(places)))
    batch = held_out(run.task, sequences, run.config.seed, run.device, "truncation")

    def measure(_: Cut) -> Losses:
        losses = evaluate(model, run.task, batch).tolist()
        return dict(zip(run.task.hops, losses, strict=True))

    with run.writing(), run.computing():
        rows = list(truncate(places, wanted, measure, watch))
        about = {
            "step": run.checkpoint_steps()[-1] if step is None else step,
            "layers": cuts.chosen(range(len(places))),
            "weights": cuts.weights,
            "fractions": cuts.fractions,
            "sequences": sequences,
            "rows": [
                {**asdict(row.cut), "kept": row.kept, "loss": loss(row), "partial": row.found}
                for row in rows
            ],
        }
        environment = describe_environment(run.device, run.config.threads)
        run.write(FILE, {"format": FORMAT, **about, "environment": environment})
    return Table(rows)
