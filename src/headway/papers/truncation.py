"""What a run's model loses, hop by hop, when weights of it are cut to low rank."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from headway.errors import require
from headway.language.truncation import low_rank
from headway.training import Run
from headway.training.data import held_out
from headway.training.environment import describe_environment
from headway.training.losses import evaluate

FORMAT = 1
"""Of `truncation.json`."""

FILE = "truncation.json"


@dataclass(frozen=True)
class Row:
    """The losses with some weights truncated.

    Attributes:
        layers: that are truncated together; none is the intact model.
        weights: which of theirs.
        fraction: of the full rank.
        kept: share of the truncated weights' squares that is left.
        loss: mean of the partial losses.
        partial: mean squared error of every hop.
    """

    layers: tuple[int, ...]
    weights: str
    fraction: float
    kept: float
    loss: float
    partial: dict[str, float]


@dataclass(frozen=True)
class Truncated:
    """A run's model with weights truncated.

    Attributes:
        step: of the checkpoint.
        layers: that were truncated, each alone and with those above it.
        weights: sets of weights.
        fractions: of the full rank, 1 among them or not.
        sequences: held-out ones; no other measurement of the run uses them.
        rows: the intact model first.
    """

    step: int
    layers: tuple[int, ...]
    weights: tuple[str, ...]
    fractions: tuple[float, ...]
    sequences: int
    rows: tuple[Row, ...]

    @property
    def intact(self) -> Row:
        """The losses of the model as it is."""
        return self.rows[0]

    def at(self, layers: tuple[int, ...], weights: str, fraction: float) -> Row:
        """The losses at a cut; those of the intact model at a fraction of 1."""
        if fraction == 1:
            return self.intact
        wanted = layers, weights, fraction
        return next(r for r in self.rows if (r.layers, r.weights, r.fraction) == wanted)


def truncate_run(
    run: Run,
    layers: Sequence[int] | None,
    weights: Sequence[str],
    fractions: Sequence[float],
    sequences: int = 512,
    step: int | None = None,
    watch: Callable[[int, int], None] | None = None,
) -> Truncated:
    """Measures the held-out losses of a run's model with its weights cut to low rank.

    They are left in `truncation.json` in the run's folder.

    Args:
        run: with a checkpoint.
        layers: to truncate, each alone and with those above it; none means all.
        weights: sets of weights, each truncated as one: `mlp`, `down`, `query+key`, …
        fractions: of the full rank.
        sequences: held out, to average over.
        step: of the checkpoint; none means the last.
        watch: told how many of how many cuts are measured.

    Raises:
        HeadwayError: if a fraction, layer or weight is not one, or the run cannot be read.
    """
    low_rank.require_fractions(fractions)
    low_rank.require_names(weights)
    require(sequences >= 1, "sequences", sequences, "a whole number of at least 1")
    model = run.transformer(step)
    places = low_rank.matrices(model)
    chosen = sorted(set(range(len(places)) if layers is None else layers))
    low_rank.require_there(places, chosen, weights)
    batch = held_out(run.task, sequences, run.config.seed, run.device, "truncation")
    wanted = low_rank.cuts(chosen, weights, fractions)
    rows = []
    with run.computing():
        measured = low_rank.truncate(places, wanted, lambda _: evaluate(model, run.task, batch))
        for cut, kept, losses in measured:
            partial = dict(zip(run.task.hops, losses.tolist(), strict=True))
            rows.append(Row(**asdict(cut), kept=kept, loss=losses.mean().item(), partial=partial))
            if watch is not None:
                watch(len(rows), len(wanted))
    last = run.checkpoint_steps()[-1] if step is None else step
    about = tuple(chosen), tuple(weights), tuple(fractions), sequences
    found = Truncated(last, *about, tuple(rows))
    environment = describe_environment(run.device, run.config.threads)
    run.write(FILE, {"format": FORMAT, **asdict(found), "environment": environment})
    return found
