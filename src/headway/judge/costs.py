"""The cost of changes of a model: how many answers change, and how far its loss rises.

A change is what `Exchange` makes: some parts carry what they carry in other sequences,
or nothing.
"""

import math
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from jaxtyping import Float
from torch import Tensor

from headway.judge.judgement import Cost
from headway.replace.exchange import OWN, WHOLE_HEAD, Change, Exchange, Swap
from headway.replace.heads import Head

FEW = 0.05
"""The least share of a hop's answers that costs are relative to, however few change
when every head is exchanged."""

K = TypeVar("K")


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
        """The share of sequences with another answer than the model's, by hop."""
        has_another = (self.asked & ~self.same).any(1)
        return has_another.double().mean(0)


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
    def everything(self) -> Measured:
        """The model with every head exchanged."""
        known = self.exchange.known
        if "everything" not in known:
            every = dict.fromkeys(self.exchange.heads, WHOLE_HEAD)
            (known["everything"],) = self.after([Change(every)])
        return known["everything"]

    @property
    def rise_of_everything(self) -> list[float]:
        """The rise of every hop's loss when every head is exchanged."""
        rise = self.everything.losses - self.intact.losses
        return rise.tolist()

    def measured(self, outputs: Tensor) -> Measured:
        """Answers and losses of some outputs, of the hops that count."""
        targets = self.exchange.task.targets
        wanted = self.exchange.batch.targets
        same = targets.same(outputs, self.exchange.outputs_of[OWN], wanted)
        asked = targets.asked(wanted)
        losses = targets.partial_losses(outputs, wanted)
        judged = self._judged
        return Measured(same[..., judged], asked[..., judged], losses[judged])

    def after(self, changes: Sequence[Change]) -> list[Measured]:
        """The model after each of some changes, which share what they have in
        common.
        """
        return [self.measured(outputs) for outputs in self.exchange.outputs(changes)]

    def of(self, changes: Sequence[Change], before: Change | None = None) -> list[Cost]:
        """The costs of changes, against the model as it is or after a change before."""
        if before is None:
            after = self.after(changes)
            return [self.between(self.intact, each) for each in after]
        known, *after = self.after([before, *changes])
        return [self.between(known, each) for each in after]

    def between(self, before: Measured, after: Measured) -> Cost:
        """The cost of a change, by what is measured before and after it.

        A hop counts as far as exchanging every head changes its answers, or raises its
        loss.
        """
        changed = after.changed - before.changed
        sequences = after.sequences - before.sequences
        most_changed = self.everything.changed
        changed_of_most = changed / most_changed.clamp(min=FEW)
        rise = after.losses - before.losses
        most_rise = self.everything.losses - self.intact.losses
        rise_of_most = (rise / most_rise).where(most_rise > 0, 0.0)
        return Cost(
            answers=_worst(changed),
            sequences=_worst(sequences),
            changed=_worst(changed_of_most),
            rise=_worst(rise_of_most.nan_to_num(math.inf)),
        )

    def once(
        self, changes: Mapping[K, Change], key: Callable[[K], Hashable]
    ) -> dict[K, Cost]:
        """The costs of changes by name; a change with a key is measured once."""
        known = self.exchange.known
        new = [name for name in changes if key(name) not in known]
        costs = self.of([changes[name] for name in new])
        known.update(zip(map(key, new), costs, strict=True))
        return {name: known[key(name)] for name in changes}

    def each(self, what: str, heads: Collection[Head], swap: Swap) -> dict[Head, Cost]:
        """The cost of the same swap, which has a name, of each head alone."""
        changes = {head: Change({head: swap}) for head in heads}
        return self.once(changes, lambda head: (what, head))


def _worst(by_hop: Float[Tensor, " hop"]) -> float:
    """The number of the hop that suffers most."""
    return by_hop.max().item()
