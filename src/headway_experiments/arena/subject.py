"""A model as methods of the arena see it: attention, losses, gradients, and a count of
passes.
"""

from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Literal

import torch
from torch import Tensor, nn

from headway.models import Tapped, attention_patterns, tapped
from headway.relations import AttentionPath
from headway.replace import Bench
from headway.training import held_out
from headway_experiments.arena.case import Known
from headway_experiments.arena.gentle import FrozenNorms, Tempered, halved

SEQUENCES = 128
"""Held-out sequences that every method sees; the search sees the same."""

FEW = slice(32)
"""The sequences that edges are tried on where that takes many passes; the first of
all.
"""


class Whole(nn.Module):
    """A model that attends at every position in its last layer, too, as a tap makes
    it.
    """

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, inputs: Tensor) -> Tensor:
        """The outputs of the model."""
        return self.model(inputs, lambda layer, pattern: pattern)


Scores = dict[AttentionPath, float]
"""A method's belief in every path."""

Keep = Callable[[int], Tensor]
"""For a layer, the share of every head's attention that is kept, broadcast to
[head, sequence, query, key]."""

Instead = Literal["nothing", "message", "values"]
"""Contents in the place of attention that is not kept: nothing; the pattern and the
values of the corrupted sequence; or its values alone."""


@dataclass(frozen=True)
class Answer:
    """A method's answer about a model.

    Attributes:
        paths: how much it believes in every path.
        chosen: the paths that it picks itself; None if it only ranks.
        passes: forward and backward passes over all sequences, if it counted them
            itself.
        pairs: the pairs of positions that each head is said to attend along, [sequence,
            layer, head, query, key]; None if they are those of its paths.
    """

    paths: Scores
    chosen: frozenset[AttentionPath] | None = None
    passes: float | None = None
    pairs: Tensor | None = None


class Subject:
    """A model on the sequences that methods see.

    Attention that is cut is zero, unless a method is one of corrupted sequences. (Even
    attention in its place was tried on planted models that are not in the arena; most
    methods do better with zero.)

    Attributes:
        known: the model, its task and its circuit, at which no method may look.
        relations: those that paths may use, by name.
        heads: every head.
        paths: every head along every relation: what methods rank.
        passes: forward and backward passes over all sequences so far.
    """

    def __init__(self, known: Known, sequences: int = SEQUENCES):
        self.known = known
        self.model = known.model
        self.task = known.task
        self.batch = held_out(self.task, sequences, 0, "cpu", "circuit")
        self.bench = Bench(self.model, self.task, self.batch)
        every_relation = self.bench.patterns.relations.items()
        self.relations = {
            name: edges for name, edges in every_relation if edges.use == "path"
        }
        self.heads = self.bench.heads
        self.paths: list[AttentionPath] = []
        for layer, head in self.heads:
            self.paths += [
                AttentionPath.of(layer, head, name) for name in self.relations
            ]
        self.passes = 0.0

    @cached_property
    def cells(self) -> Tensor:
        """The pairs of positions that every relation relates, [relation, sequence,
        query, key].
        """
        length = self.batch.inputs.shape[1]
        masks = [edges.mask(length) for edges in self.relations.values()]
        return torch.stack(masks).float()

    @cached_property
    def sizes(self) -> dict[str, float]:
        """The number of pairs of positions that every relation relates in a
        sequence.
        """
        totals = self.cells.sum((1, 2, 3))
        counts = (totals / len(self.batch.inputs)).tolist()
        return dict(zip(self.relations, counts, strict=True))

    @torch.no_grad()
    def attention(self) -> Tensor:
        """Every head's attention, [sequence, layer, head, query, key]. One pass."""
        self.passes += 1
        return attention_patterns(self.model, self.batch.inputs)

    def along(self, values: Tensor) -> Scores:
        """The sum of values over every path's pairs of positions.

        Args:
            values: [sequence, layer, head, query, key].
        """
        sums = torch.einsum("blhqk,rbqk->lhr", values, self.cells)
        return dict(zip(self.paths, sums.flatten().tolist(), strict=True))

    def pairs(self, paths: Iterable[AttentionPath]) -> Tensor:
        """The pairs of positions of paths, [sequence, layer, head, query, key]."""
        cells = dict(zip(self.relations, self.cells, strict=True))
        _, size, length, _ = self.cells.shape
        counts = torch.zeros(
            size, self.model.n_layers, self.model.n_heads, length, length
        )
        for path in paths:
            counts[:, path.layer, path.head] += cells[str(path.relation)]
        return counts.clamp(max=1)

    @cached_property
    def covered(self) -> Tensor:
        """The number of relations that relate a pair of positions, [sequence, query,
        key].
        """
        return self.cells.sum(0)

    def only(self, paths: Iterable[AttentionPath], part: slice) -> Keep:
        """Keeps attention along some paths, and where no relation leads, in some
        sequences.
        """
        uncovered = (self.covered == 0).float()
        everywhere = torch.maximum(self.pairs(paths), uncovered[:, None, None])
        kept = everywhere[part]
        return lambda layer: kept[:, layer].movedim(1, 0)

    def outputs(
        self,
        keep: Keep | None = None,
        instead: Instead = "nothing",
        gentle: bool = False,
        part: slice = slice(None),
    ) -> Tensor:
        """The model's outputs at queries, of all sequences or a part of them.

        One pass over those, with gradients where `keep` has some: those of GIM if they
        are gentle.
        """
        inputs = self.batch.inputs[part]
        self.passes += len(inputs) / len(self.batch.inputs)
        if instead == "nothing" and not gentle:
            outputs = self.model(inputs, partial(self._cut, keep))
        else:
            assert keep is not None
            read = partial(self._read, keep, instead, gentle, part)
            seen = Tempered.apply if gentle else lambda pattern: pattern
            with FrozenNorms() if gentle else nullcontext():
                outputs = self._watched(
                    inputs, lambda layer, pattern: seen(pattern), read
                )
        return outputs[:, -self.task.n_read :]

    def _cut(self, keep: Keep | None, layer: int, pattern: Tensor) -> Tensor:
        """A layer's attention, with nothing in the place of what is not kept."""
        if keep is None:
            return pattern
        kept = keep(layer).movedim(0, 1)
        return pattern * kept

    def _read(
        self, keep: Keep, instead: Instead, gentle: bool, part: slice, at: Any
    ) -> Tensor:
        """The values that a layer's heads read, with something in the place of what is
        not kept.
        """
        # The last queries may be all that there are.
        rows = slice(-at.pattern.shape[-2], None)
        share = keep(at.layer).movedim(0, 1)[..., rows, :]
        values = halved(at.values) if gentle else at.values
        kept = at.product(at.pattern * share, values)
        if instead == "nothing":
            return kept
        corrupted_pattern, corrupted_values = self._corrupted[at.layer]
        pattern = at.pattern if instead == "values" else corrupted_pattern[part]
        return kept + at.product(pattern * (1 - share), corrupted_values[part])

    @cached_property
    def _watched(self) -> Tapped:
        """The model, with what its heads read as well."""
        if isinstance(self.model, Tapped):
            return self.model
        assert isinstance(self.model, nn.Module)
        return tapped(Whole(self.model), self.batch.inputs[:2])

    @cached_property
    def _corrupted(self) -> dict[int, tuple[Tensor, Tensor]]:
        """The pattern and the values of every layer on corrupted sequences.

        They are those that the task lays out; of others, the sequence that is next in
        the batch.
        """
        met: dict[int, tuple[Tensor, Tensor]] = {}

        def see(at: Any) -> Tensor:
            met[at.layer] = at.pattern, at.values
            return at.product(at.pattern, at.values)

        own = self.batch.corrupted
        with torch.no_grad():
            inputs = self.batch.inputs.roll(1, 0) if own is None else own
            self._watched(inputs, lambda layer, pattern: pattern, see)
        return met

    @cached_property
    def _intact(self) -> Tensor:
        """The model's own outputs, not counted as a pass."""
        with torch.no_grad():
            return self.model(self.batch.inputs)[:, -self.task.n_read :]

    def divergence(self, keep: Keep, part: slice, instead: Instead) -> Tensor:
        """The distance from the model's own outputs. One pass over these sequences."""
        outputs = self.outputs(keep, instead, part=part)
        targets = self.batch.targets[part]
        return self.task.targets.divergence(self._intact[part], outputs, targets)

    def loss(self, keep: Keep | None = None, part: slice = slice(None)) -> Tensor:
        """The task's loss. One pass over these sequences."""
        outputs = self.outputs(keep, part=part)
        return self.task.targets.loss(outputs, self.batch.targets[part])

    def agreement(self, keep: Keep, part: slice) -> float:
        """The share of answers that are the model's own. One pass over these
        sequences.
        """
        targets = self.task.targets
        wanted = self.batch.targets[part]
        outputs = self.outputs(keep, part=part)
        same = targets.same(outputs, self._intact[part], wanted)
        return float(same.sum() / targets.asked(wanted).sum())

    def margin(self, said: Tensor, part: slice = slice(None)) -> Tensor:
        """The distance of outputs from right ones, by a measure whose gradient never
        vanishes.

        The mean over what is asked of minus the right token's logit less the mean
        logit, or of minus the product of vector and target, less the mean target.
        """
        targets = self.batch.targets[part]
        numbers = self.task.targets.numbers(said, targets)
        asked = self.task.targets.asked(targets)
        if numbers.shape == targets.shape:  # vectors
            wanted = targets[asked] - targets[asked].mean(0)
            products = (numbers[asked] * wanted).sum(-1)
            return -products.mean()
        right = targets.clamp(min=0)[..., None]
        logits = numbers.gather(-1, right)[..., 0]
        return -logits[asked].mean()

    def gradients(
        self, of: Tensor, at: list[Tensor], share: float = 1.0
    ) -> list[Tensor]:
        """The derivatives of a loss. One pass, or a share of one."""
        self.passes += share
        return list(torch.autograd.grad(of, at))

    def whole(self) -> list[Tensor]:
        """Shares of 1 in every layer, [head, sequence, query, key]: all is kept."""
        size, n = self.batch.inputs.shape[:2]
        layers = []
        for _ in range(self.model.n_layers):
            layers.append(
                torch.ones(self.model.n_heads, size, n, n, requires_grad=True)
            )
        return layers
