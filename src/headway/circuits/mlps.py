"""MLPs as nodes: which of them a circuit needs, beside its heads.

A circuit says what every head does and leaves the MLPs as they are. Here an MLP's output is
replaced by what the intact model's MLP writes at the same position on average, or in another
sequence (resample ablation; Chan et al. 2022). Heads may need an MLP for what they carry or to find
where to attend. So, like a path, it is judged in two ways: with every head replaced by its
mechanism, and with every head as it is.
"""

from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass

import torch
from torch import Tensor

from headway.circuits.ablation import Bench
from headway.circuits.mechanism import Circuit
from headway.models import Transformer
from headway.models.hooks import Edit, HookPoint

SEQUENCES = 64
"""The most sequences that MLPs are judged on."""


@dataclass(frozen=True)
class MLP:
    """The cost of replacing one layer's MLP. All losses are of the whole model.

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


@torch.no_grad()
def mlps_of(bench: Bench, circuit: Circuit, threshold: float) -> MLPs | None:
    """Asks which MLPs a circuit needs.

    Their outputs are put to their means one after the other, those with the least loss first, as
    long as both losses stay below the threshold, until no other MLP can be put to its mean.

    Args:
        bench: with sequences that the search for the circuit did not see.
        circuit: a mechanism for every head.
        threshold: the loss to stay below.

    Returns:
        What was found; None if the model is no `Transformer` or has no MLPs.
    """
    if not isinstance(bench.model, Transformer) or bench.model.config.attn_only:
        return None
    model = deepcopy(bench.model)  # other threads search with the model itself, and would see hooks
    part = bench.batch.part(slice(SEQUENCES))
    own = Bench(model, bench.task, part, bench.patterns.rows)
    taps = own.tap(circuit), None
    _, seen = model.run_with_cache(part.inputs, lambda name: name.endswith("hook_mlp_out"))
    written = [seen["mlp_out", layer] for layer in range(model.n_layers)]
    means = [one.mean(0, keepdim=True).expand_as(one) for one in written]

    def losses(put: Mapping[int, Tensor]) -> tuple[float, float]:
        """With the outputs of some layers' MLPs given: with the circuit, and free."""
        with model.hooks(_edits(put)):
            forced, free = (own.judged(model(part.inputs, tap), slice(None)) for tap in taps)
        return forced.mean().item(), free.mean().item()

    each = [
        MLP(n, *losses({n: means[n]}), *losses({n: written[n].roll(1, 0)}))
        for n in range(model.n_layers)
    ]
    gone: dict[int, Tensor] = {}
    rest, worst, found = sorted(each, key=lambda mlp: mlp.worst), max(losses({})), True
    while found:
        found = False
        for mlp in list(rest):
            trial = {**gone, mlp.layer: means[mlp.layer]}
            if (loss := max(losses(trial))) < threshold:
                gone, worst, found = trial, loss, True
                rest.remove(mlp)
    needed = tuple(sorted(mlp.layer for mlp in rest))
    return MLPs(tuple(each), needed, worst, len(part.inputs))


def _edits(put: Mapping[int, Tensor]) -> Iterable[tuple[str, Edit]]:
    """Edits that put something in the place of MLPs' outputs, as far as they are computed."""
    for layer, value in put.items():

        def instead(written: Tensor, _: HookPoint, value: Tensor = value) -> Tensor:
            return value[:, -written.shape[1] :]

        yield f"blocks.{layer}.hook_mlp_out", instead
