"""MLPs as nodes: which of them a circuit needs, beside its heads.

A circuit says what every head does and leaves the MLPs as they are. Here an MLP's output is
replaced by what it writes at the same position on average over sequences. Heads may need an MLP for
what they carry or to find where to attend. So, like a path, it is judged in two ways: with every
head replaced by its mechanism, and with every head as it is.
"""

import math
from dataclasses import dataclass

from headway.circuits.ablation import Bench, First, Replaced
from headway.circuits.mechanism import AN_MLP, Circuit, Mean
from headway.circuits.search import longest


@dataclass(frozen=True)
class MLP:
    """The losses with one layer's MLP at its mean.

    Attributes:
        layer: from 0.
        mean: with every head replaced by the circuit's mechanism.
        mean_free: with every head as it is.
    """

    layer: int
    mean: float
    mean_free: float

    @property
    def worst(self) -> float:
        """The loss in the one of the two ways that costs more."""
        return max(self.mean, self.mean_free)


@dataclass(frozen=True)
class MLPs:
    """The MLPs of a model under its circuit.

    Attributes:
        each: what putting each alone to its mean costs, layer by layer.
        needed: layers whose MLPs stay as they are while all others are at their means. None of them
            can be put to its mean, too: the loss would not stay below the threshold both with every
            head replaced and with every head as it is.
        without_rest: the larger of these two losses with all other MLPs at their means.
    """

    each: tuple[MLP, ...]
    needed: tuple[int, ...]
    without_rest: float


def mlps_of(bench: Bench, circuit: Circuit, threshold: float) -> MLPs | None:
    """Asks which MLPs a circuit needs.

    As many as possible are put to their means at once, those with the least loss first, then one
    after the other, as long as both losses stay below the threshold.

    Args:
        bench: with sequences that the search for the circuit did not see; half of them count.
        circuit: a mechanism for every head.
        threshold: the loss to stay below.

    Returns:
        What was found; None if the model is no `Transformer` or has no MLPs.
    """
    if not bench.has_mlps:
        return None

    judge = First(bench, bench.parts[-1].start or bench.sequences)

    def ways(*layers: int) -> tuple[Replaced, Replaced]:
        """With the MLPs of some layers at their means: with the circuit, and free."""
        at_mean: Replaced = {(layer, AN_MLP): Mean() for layer in layers}
        return {**circuit.mechanisms, **at_mean}, at_mean

    def spared(*layers: int) -> bool:
        return judge.worst([ways(*layers)], threshold)[0] < math.inf

    layers = range(bench.model.n_layers)
    losses = judge.losses([one for layer in layers for one in ways(layer)])
    each = [MLP(layer, *losses[2 * layer : 2 * layer + 2]) for layer in layers]
    rest = [one.layer for one in sorted(each, key=lambda one: one.worst)]
    together = longest(len(rest), lambda count: spared(*rest[:count]))
    gone, rest = rest[:together], rest[together:]
    while (spare := next((layer for layer in rest if spared(*gone, layer)), None)) is not None:
        gone.append(spare)
        rest.remove(spare)
    worst = judge.worst([ways(*gone)])[0]
    return MLPs(tuple(each), tuple(sorted(rest)), worst)
