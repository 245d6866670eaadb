"""Tables of attention, for heads that no relation explains.

A table tells attention by tokens and places. Log-weights are added, one for every pair
of what stands at the query and what stands at the key: their tokens, their places, and
tokens and places that heads of the layers below bring there. Tables say no more than
that nothing else counts much.
"""

from collections.abc import Callable
from functools import cached_property

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

SEQUENCES = 512
"""Sequences to fit tables on."""

LARGEST = 400
"""The most numbers that describe a position. Where what all heads below bring is more,
it is what those of the layer below bring; and where that is more, there are no
tables."""

AT_ONCE = 32
"""Sequences of one step."""

STEPS, RATE, RIDGE = 240, 0.3, 1e-5

HIDDEN = -1e9


class Tables:
    """Tables of all heads of a model; they are fitted when they are first asked for.

    Args:
        inputs: [sequence, position], tokens by number; of vectors there are no tables.
        attention: the heads' own in these sequences, [sequence, layer, head, query,
            key].
    """

    def __init__(self, inputs: Tensor, attention: Callable[[], Tensor]):
        self.inputs, self._attention = inputs, attention

    @cached_property
    def _own(self) -> Float[Tensor, "sequence layer head query key"]:
        return self._attention().float()[..., : self.inputs.shape[1]]

    @cached_property
    def are_possible(self) -> bool:
        """True if inputs are tokens, and so few that tables of all heads can be
        fitted.
        """
        if self.inputs.is_floating_point() or len(self._known) > LARGEST:
            return False
        layers = min(2, self._own.shape[1])
        return self._numbers(layers) <= LARGEST

    def _numbers(self, layers: int) -> int:
        """The numbers that describe a position in the last of so many layers."""
        of_position = len(self._known) + self.inputs.shape[1]
        n_heads_below = (layers - 1) * self._own.shape[2]
        return (1 + n_heads_below) * of_position

    def patterns(
        self, inputs: Int[Tensor, "sequence position"]
    ) -> Float[Tensor, "sequence layer head query key"]:
        """The attention that the tables tell in some sequences."""
        length = inputs.shape[1]
        told = list[Tensor]()
        for table, seen in zip(self._fitted, self._seen, strict=True):
            described = self._described(inputs, told)
            scores = _scores(described, table, seen[:length, :length])
            told.append(scores.softmax(-1))
        return torch.stack(told, 1)

    @cached_property
    def _known(self) -> Int[Tensor, " token"]:
        return self.inputs.unique()

    @cached_property
    def _seen(self) -> Bool[Tensor, "layer query key"]:
        return (self._own > 0).any(0).any(1)

    @cached_property
    def _fitted(self) -> list[Float[Tensor, "head of_query of_key"]]:
        """The tables, from the first layer up: what a layer brings is told by its
        own.
        """
        fitted, brought = list[Tensor](), list[Tensor]()
        for own, seen in zip(self._own.unbind(1), self._seen, strict=True):
            described = self._described(self.inputs, brought)
            table = _fit(described, own, seen)
            fitted.append(table)
            scores = _scores(described, table, seen)
            brought.append(scores.softmax(-1))
        return fitted

    def _described(
        self, inputs: Tensor, below: list[Tensor]
    ) -> Float[Tensor, "sequence position number"]:
        """The content of every position, with what heads below bring there."""
        if self._numbers(len(below) + 1) > LARGEST:
            below = below[-1:]
        is_token = inputs[..., None] == self._known
        longest = self.inputs.shape[1]
        places = torch.eye(longest, dtype=torch.float32, device=inputs.device)
        is_place = places[: inputs.shape[1]].expand(len(inputs), -1, -1)
        own = torch.cat([is_token.float(), is_place], -1)
        described = [own]
        for layer in below:
            described += [head @ own for head in layer.unbind(1)]
        return torch.cat(described, -1)


def _scores(described: Tensor, table: Tensor, seen: Tensor) -> Tensor:
    by_head = described[:, None]
    scores = (by_head @ table) @ by_head.mT
    return scores.masked_fill(~seen, HIDDEN)


@torch.enable_grad()
def _fit(described: Tensor, own: Tensor, seen: Tensor) -> Tensor:
    """The tables of one layer's heads that are most like their attention."""
    size = described.shape[-1]
    table = described.new_zeros(own.shape[1], size, size, requires_grad=True)
    optimizer = torch.optim.Adam([table], RATE)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=STEPS)
    parts = [slice(start, start + AT_ONCE) for start in range(0, len(own), AT_ONCE)]
    for step in range(STEPS):
        part = parts[step % len(parts)]
        loss = _loss(described[part], own[part], table, seen)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return table.detach()


def _loss(described: Tensor, own: Tensor, table: Tensor, seen: Tensor) -> Tensor:
    """The cross-entropy of the heads' attention under that of a table, and a penalty
    on large entries of the table.
    """
    scores = _scores(described, table, seen)
    apart = F.cross_entropy(scores.flatten(0, 2), own.flatten(0, 2))
    ridge = RIDGE * table.square().sum()
    return apart + ridge
