"""The cost of changes of a model: how many answers change, and how far its loss rises.

A change is what `Exchange` makes: some parts carry what they carry in other sequences, or nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from jaxtyping import Float
from torch import Tensor

from headway.circuits.exchange import OWN, WHOLE_HEAD, Change, Exchange
from headway.circuits.mechanism import Head
from headway.circuits.verdicts import Cost


@dataclass(frozen=True)
class Measured:
    """Answers and losses of some outputs.

    Attributes:
        same: where the answer is that of the model as it is, [sequence, query, hop].
        asked: where one is asked for.
        losses: by hop.
    """

    same: Tensor
    asked: Tensor
    losses: Tensor

    @property
    def changed(self) -> Float[Tensor, " hop"]:
        """The share of answers that are not those of the model as it is, by hop."""
        asked = self.asked.sum((0, 1)).clamp(min=1)
        has_another = self.asked & ~self.same
        return has_another.sum((0, 1)) / asked

    @property
    def sequences(self) -> Float[Tensor, " hop"]:
        """By hop, the share of sequences that have another answer than of the model as it is."""
        has_another = (self.asked & ~self.same).any(1)
        return has_another.double().mean(0)

    def cost(self, after: "Measured", scale: Float[Tensor, " hop"]) -> Cost:
        """The cost of a change after which other outputs are measured.

        Hops whose loss does not rise when every head is exchanged do not count for `rise`.
        """
        rises = (after.losses - self.losses) / scale.clamp(min=1e-9)
        rises = rises.where(scale > 0, 0.0)
        return Cost(
            answers=(after.changed - self.changed).max().item(),
            sequences=(after.sequences - self.sequences).max().item(),
            rise=rises.nan_to_num(float("inf")).max().item(),
        )


class Costs:
    """The costs of changes of a model on sequences with partners.

    Attributes:
        exchange: makes the changes.
    """

    def __init__(self, exchange: Exchange):
        self.exchange = exchange
        hops = exchange.task.hops
        self._judged = [hops.index(hop) for hop in exchange.task.judged]

    @cached_property
    def intact(self) -> Measured:
        """The model as it is."""
        return self.measured(self.exchange.outputs_of[OWN])

    @cached_property
    def scale(self) -> Float[Tensor, " hop"]:
        """The rise of the loss of every hop that counts when every head is exchanged."""
        known = self.exchange.known
        if "scale" not in known:
            every = Change(dict.fromkeys(self.exchange.heads, WHOLE_HEAD))
            exchanged = self.measured(next(self.exchange.outputs([every])))
            known["scale"] = exchanged.losses - self.intact.losses
        return known["scale"]

    def measured(self, outputs: Tensor) -> Measured:
        """Answers and losses of some outputs, of the hops that count."""
        targets, wanted = self.exchange.task.targets, self.exchange.batch.targets
        same = targets.same(outputs, self.exchange.outputs_of[OWN], wanted)
        return Measured(
            same=same[..., self._judged],
            asked=targets.asked(wanted)[..., self._judged],
            losses=targets.partial_losses(outputs, wanted)[self._judged],
        )

    def of(self, changes: Sequence[Change], before: Measured | None = None) -> list[Cost]:
        """The costs of changes, against the model as it is or as it was before."""
        if not changes:
            return []
        base = self.intact if before is None else before
        after = map(self.measured, self.exchange.outputs(changes))
        return [base.cost(one, self.scale) for one in after]

    def once(self, changes: Mapping[Any, Change]) -> list[Cost]:
        """The costs of changes that their keys tell whole; each key is measured once."""
        known = self.exchange.known
        new = {key: change for key, change in changes.items() if key not in known}
        known.update(zip(new, self.of([*new.values()]), strict=True))
        return [known[key] for key in changes]

    def alone(self, heads: Sequence[Head]) -> dict[Head, Cost]:
        """The cost of exchanging all that a head carries, of each head alone."""
        changes = {("exchanged", head): Change({head: WHOLE_HEAD}) for head in heads}
        return dict(zip(heads, self.once(changes), strict=True))
