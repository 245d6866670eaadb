"""Outputs of any model under mechanisms: a whole forward pass a candidate, many side by side."""

from collections.abc import Mapping, Sequence

from jaxtyping import Float
from torch import Tensor

from headway.circuits.mechanism import Head, Mechanism
from headway.circuits.patterns import Patterns, tap_of
from headway.models import Tappable
from headway.tasks import Batch


class Forwards:
    """The outputs of a model on some sequences, under any number of candidates.

    Attributes:
        computed: stream vectors (one position of one sequence through one layer) computed so far.
    """

    def __init__(self, model: Tappable, batch: Batch, patterns: Patterns):
        self.model, self.patterns = model, patterns
        self.inputs, self.n_read = batch.inputs, batch.targets.shape[1]
        self.computed = 0

    def outputs(
        self, candidates: Sequence[Mapping[Head, Mechanism]], part: slice
    ) -> Float[Tensor, "candidate sequence read output"]:
        """What the model puts out at the queries of a part of the sequences."""
        inputs, count = self.inputs[part], len(candidates)
        together = inputs.repeat(count, *[1] * (inputs.ndim - 1))
        said = self.model(together, tap_of(self.patterns, candidates, part))
        self.computed += together.shape[:2].numel() * self.model.n_layers
        return said[:, -self.n_read :].unflatten(0, (count, len(inputs)))
