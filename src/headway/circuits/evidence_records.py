"""The evidence for a circuit, as data. `evidence` and `likeness` measure it.

It is measured on a sample and guarantees nothing about other sequences; `certificate` has a
bound for all of them.
"""

from dataclasses import dataclass
from typing import Annotated

from headway.circuits.mechanism import Head, head_of, name_of
from headway.fields import Written
from headway.paths import Path

WrittenPath = Annotated[Path, Written(Path.parse, str)]
"""A path that is saved as `L1.H0 s0←s2`."""

WrittenHead = Annotated[Head, Written(head_of, name_of)]
"""A head that is saved as `L1.H0`."""


@dataclass(frozen=True)
class Necessity:
    """What happens to the circuit when one of its paths is cut.

    Attributes:
        path: layer, head and relation.
        attention: the model's own mean attention along the relation.
        loss: with every head replaced and this path cut.
        free: the same, with the useful heads of the layers above attending freely.
        uniform: with this path's head uniform instead, as the paper tests its first layer.
    """

    path: WrittenPath
    attention: float
    loss: float
    free: float
    uniform: float

    @property
    def worst(self) -> float:
        """The loss without the path, in the one of the two ways that costs more."""
        return max(self.loss, self.free)


@dataclass(frozen=True)
class Pair:
    """Two paths that can be dropped together: the circuit is not minimal."""

    first: WrittenPath
    second: WrittenPath
    loss: float


@dataclass(frozen=True)
class BackUp:
    """A head outside the circuit that can stand in for one of its paths.

    Attributes:
        path: the path of the circuit.
        by: the path that can do its work.
        loss: with that path in the place of this one.
    """

    path: WrittenPath
    by: WrittenPath
    loss: float


@dataclass(frozen=True)
class Trial:
    """The same search once more, with another sample or threshold.

    Attributes:
        sample: the name of the held-out sample that was searched on.
        threshold: the loss to stay below.
        paths: of the circuit that was found.
        jaccard: paths in both circuits / paths in either.
    """

    sample: str
    threshold: float
    paths: list[WrittenPath]
    jaccard: float


@dataclass(frozen=True)
class Likeness:
    """How like the intact model an altered one is, on the sequences of the evidence.

    Attributes:
        loss: of the altered model, the mean over the hops.
        loss_by_hop: of every hop alone.
        agreement: of all answers that are asked for, the share that is the intact model's own,
            right or wrong. The answer is the nearest of the symbols that the sequence's queries are
            asked for at that hop, or the likeliest token.
        agreement_by_hop: the same of every hop alone.
        sequence_agreement: the share of sequences of which all answers agree.
        r2: of the altered model's outputs against the intact one's: 1 - the sum of squared
            differences / the sum of squares of the intact outputs about their mean over sequences.
            Outputs are vectors, or logits less their mean. None if the intact outputs are constant.
        faithfulness: (loss of the ablated model - loss) / (loss of the ablated model - loss of the
            intact one): 1 is as good as the model, 0 is as bad as without attention. None if
            ablation does no harm.
    """

    loss: float
    loss_by_hop: dict[str, float]
    agreement: float
    agreement_by_hop: dict[str, float]
    sequence_agreement: float
    r2: float | None
    faithfulness: float | None


@dataclass(frozen=True)
class Likenesses:
    """The circuit, its complement and the ablated model, each against the model as it is.

    Attributes:
        circuit: with every head replaced by its mechanism.
        complement: without the circuit: attention along each of its paths is zero, and all else is
            as it is.
        ablated: with every head uniform.
        handover: the agreement of models whose layers below l are replaced by the circuit's while
            the layers from l on are as they are, for l = 1, 2, … If the circuit solves the task as
            the model does, the model can go on from what the circuit has computed so far.
    """

    circuit: Likeness
    complement: Likeness
    ablated: Likeness
    handover: tuple[float, ...]

    @property
    def least_handover(self) -> float:
        """The least of them; 1 if there is one layer."""
        return min(self.handover, default=1.0)


@dataclass(frozen=True)
class MLP:
    """What it costs to replace one layer's MLP. All losses are of the whole model.

    Attributes:
        layer: from 0.
        mean: with its output at its mean and every head replaced by the circuit's mechanism.
        mean_free: with its output at its mean and every head as it is.
        resampled: as `mean`, with its output from another sequence.
        resampled_free: as `mean_free`, with its output from another sequence.
    """

    layer: int
    mean: float
    mean_free: float
    resampled: float
    resampled_free: float

    @property
    def worst(self) -> float:
        """The loss with it at its mean, in the one of the two ways that costs more."""
        return max(self.mean, self.mean_free)


@dataclass(frozen=True)
class MLPs:
    """The MLPs of a model under its circuit.

    Attributes:
        each: what replacing each alone costs, layer by layer.
        needed: layers whose MLPs stay as they are while all others are at their means. None of them
            can be put to its mean, too: the loss would not stay below the threshold both with every
            head replaced and with every head as it is.
        without_rest: the larger of these two losses with all other MLPs at their means.
        sequences: how many the losses are over.
    """

    each: tuple[MLP, ...]
    needed: tuple[int, ...]
    without_rest: float
    sequences: int


@dataclass(frozen=True)
class Evidence:
    """The evidence for a circuit. All losses are those of the targets, on held-out sequences.

    Attributes:
        intact: the partial losses of the model as it is.
        replaced: the partial losses with every head replaced by its mechanism.
        interval: bootstrap interval of the loss with every head replaced, over sequences.
        intact_interval: the same of the model as it is.
        variants: the loss with every head replaced, by what stands in rows without a path.
        necessity: for every path, the losses when it alone is cut.
        droppable: the pairs of paths that could be dropped together.
        pairs: how many pairs were tried.
        backups: paths outside the circuit that could stand in for paths in it.
        trials: the same search on other samples and at other thresholds.
        infeasible: paths between positions that share no piece at their layer, whatever the
            layers below did (section 5 of the paper); None if the task has no such theory.
        minimum: the flow minimum, the least number of layers by that theory; None likewise.
        sequences: how many held-out sequences the losses are over.
        alone: for every head the loss of the model with this head alone replaced by its mechanism.
        likeness: how like the model the circuit is.
        mlps: which MLPs the circuit needs; None if the model has none that headway can replace.
    """

    intact: dict[str, float]
    replaced: dict[str, float]
    interval: tuple[float, float]
    intact_interval: tuple[float, float]
    variants: dict[str, float]
    necessity: list[Necessity]
    droppable: list[Pair]
    pairs: int
    backups: list[BackUp]
    trials: list[Trial]
    infeasible: list[WrittenPath] | None
    minimum: int | None
    sequences: int
    alone: dict[WrittenHead, float]
    likeness: Likenesses
    mlps: MLPs | None = None

    @property
    def intact_loss(self) -> float:
        """The loss of the model as it is."""
        return sum(self.intact.values()) / len(self.intact)

    @property
    def replaced_loss(self) -> float:
        """The loss with every head replaced."""
        return sum(self.replaced.values()) / len(self.replaced)

    def stability(self, path: Path) -> float | None:
        """The share of the trials in which a path was found again; None without trials."""
        if not self.trials:
            return None
        return sum(path in trial.paths for trial in self.trials) / len(self.trials)
