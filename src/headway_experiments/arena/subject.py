"""A model as methods of the arena see it: attention, losses, gradients, and a count of passes."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import torch
from torch import Tensor

from headway.circuits import AttentionPath, Bench, Head
from headway.models import attention_patterns
from headway.training import held_out
from headway_experiments.arena.case import Known
from headway_experiments.arena.messages import Gentle, Product, Reading

SEQUENCES = 128
"""Held-out sequences that every method sees; the search sees the same."""

Scores = dict[AttentionPath, float]
"""A method's belief in every path."""

Keep = Callable[[int], Tensor]
"""For a layer, the share of every head's attention that is kept, broadcast to
[head, sequence, query, key]."""

Instead = Literal["nothing", "message", "values"]
"""What stands in the place of attention that is not kept: nothing; the pattern and the values of
the corrupted sequence; or its values alone."""


@dataclass(frozen=True)
class Answer:
    """A method's answer about a model.

    Attributes:
        heads: how much it believes in every head.
        paths: how much it believes in every path.
        chosen: the paths that it picks itself; None if it only ranks.
        passes: forward and backward passes over all sequences, if it counted them itself.
        pairs: the pairs of positions that each head is said to attend along, [sequence, layer,
            head, query, key]; None if they are those of its paths.
    """

    heads: dict[Head, float]
    paths: Scores
    chosen: frozenset[AttentionPath] | None = None
    passes: float | None = None
    pairs: Tensor | None = None


class Subject:
    """A model on the sequences that methods see.

    Attention that is cut is zero, unless a method is one of corrupted sequences. (Even attention in
    its place was tried on planted models that are not in the arena; most methods do better with
    zero.)

    Attributes:
        known: the model, its task and its circuit, at which no method may look.
        relations: those that paths may use, by name.
        heads: every head.
        paths: every head along every relation: what methods rank.
        passes: forward and backward passes over all sequences so far.
    """

    def __init__(self, known: Known, sequences: int = SEQUENCES):
        self.known, self.model, self.task = known, known.model, known.task
        self.batch = held_out(self.task, sequences, 0, "cpu", "circuit")
        self.bench = Bench(self.model, self.task, self.batch)
        there = self.bench.patterns.relations.items()
        self.relations = {name: edges for name, edges in there if edges.use == "path"}
        self.heads = self.bench.heads
        self.paths = [
            AttentionPath.of(*head, name) for head in self.heads for name in self.relations
        ]
        self.passes = 0.0

    @cached_property
    def cells(self) -> Tensor:
        """The pairs of positions that every relation relates, [relation, sequence, query, key]."""
        length = self.batch.inputs.shape[1]
        return torch.stack([edges.mask(length) for edges in self.relations.values()]).float()

    @cached_property
    def sizes(self) -> dict[str, float]:
        """The number of pairs of positions that every relation relates in a sequence."""
        counts = self.cells.sum((1, 2, 3)) / len(self.batch.inputs)
        return dict(zip(self.relations, counts.tolist(), strict=True))

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
        sums = torch.einsum("blhqk,rbqk->lhr", values, self.cells).flatten().tolist()
        return dict(zip(self.paths, sums, strict=True))

    def pairs(self, paths: Iterable[AttentionPath]) -> Tensor:
        """The pairs of positions of paths, [sequence, layer, head, query, key]."""
        names, n = list(self.relations), self.batch.inputs.shape[1]
        found = torch.zeros(self.cells.shape[1], self.model.n_layers, self.model.n_heads, n, n)
        for path in paths:
            found[:, path.layer, path.head] += self.cells[names.index(str(path.relation))]
        return found.clamp(max=1)

    @cached_property
    def covered(self) -> Tensor:
        """How many relations relate a pair of positions, [sequence, query, key]."""
        return self.cells.sum(0)

    def only(self, paths: Iterable[AttentionPath]) -> Keep:
        """Keeps attention along some paths, and where no relation leads."""
        kept = torch.maximum(self.pairs(paths), (self.covered == 0)[:, None, None].float())
        return lambda layer: kept[:, layer].movedim(1, 0)

    def outputs(
        self,
        keep: Keep | None = None,
        part: slice = slice(None),
        instead: Instead = "nothing",
        gentle: bool = False,
    ) -> Tensor:
        """The model's outputs at queries, of all sequences or a part of them.

        One pass over those, with gradients where `keep` has some: those of GIM if they are gentle.
        """
        inputs = self.batch.inputs[part]
        self.passes += len(inputs) / len(self.batch.inputs)

        def cut(layer: int, pattern: Tensor) -> Tensor:
            return pattern if keep is None else pattern * keep(layer).movedim(0, 1)

        def read(layer: int, pattern: Tensor, values: Tensor, product: Product) -> Tensor:
            kept = product(cut(layer, pattern), values)
            if keep is None or instead == "nothing":
                return kept
            there, brought = (one[part] for one in self._corrupted[layer])
            lost = (pattern if instead == "values" else there) * (1 - keep(layer).movedim(0, 1))
            return kept + product(lost, brought)

        if instead == "nothing" and not gentle:
            said = self.model(inputs, cut)
        else:
            said = (Gentle if gentle else Reading)(read).run(self.model, inputs)
        return said[:, -self.task.n_read :]

    @cached_property
    def _corrupted(self) -> dict[int, tuple[Tensor, Tensor]]:
        """The pattern and the values of every layer on corrupted sequences. One pass, not counted.

        They are those that the task lays out; of others, the sequence that is next in the batch.
        """
        found: dict[int, tuple[Tensor, Tensor]] = {}

        def see(layer: int, pattern: Tensor, values: Tensor, product: Product) -> Tensor:
            found[layer] = pattern, values
            return product(pattern, values)

        own = self.batch.corrupted
        with torch.no_grad():
            Reading(see).run(self.model, self.batch.inputs.roll(1, 0) if own is None else own)
        return found

    @cached_property
    def _intact(self) -> Tensor:
        """The model's own outputs, not counted as a pass."""
        with torch.no_grad():
            return self.model(self.batch.inputs)[:, -self.task.n_read :]

    def divergence(self, keep: Keep, part: slice, instead: Instead) -> Tensor:
        """The distance from the model's own outputs. One pass over these sequences."""
        said = self.outputs(keep, part, instead)
        return self.task.targets.divergence(self._intact[part], said, self.batch.targets[part])

    def loss(self, keep: Keep | None = None, part: slice = slice(None)) -> Tensor:
        """The task's loss. One pass over these sequences."""
        return self.task.targets.loss(self.outputs(keep, part), self.batch.targets[part])

    def agreement(self, keep: Keep) -> float:
        """The share of answers that are the model's own. One pass."""
        targets, wanted = self.task.targets, self.batch.targets
        same = targets.same(self.outputs(keep), self._intact, wanted)
        return float(same.sum() / targets.asked(wanted).sum())

    def margin(
        self, keep: Keep | None = None, instead: Instead = "nothing", gentle: bool = False
    ) -> Tensor:
        """The distance of outputs from right ones, by a measure whose gradient never vanishes.

        The mean over what is asked of minus the right token's logit less the mean logit, or of
        minus the product of vector and target, less the mean target. One pass.
        """
        said = self.outputs(keep, instead=instead, gentle=gentle)
        targets = self.batch.targets
        numbers = self.task.targets.numbers(said, targets)
        asked = self.task.targets.asked(targets)
        if numbers.shape == targets.shape:  # vectors
            wanted = targets[asked] - targets[asked].mean(0)
            return -(numbers[asked] * wanted).sum(-1).mean()
        return -numbers.gather(-1, targets.clamp(min=0)[..., None])[..., 0][asked].mean()

    def gradients(self, of: Tensor, at: list[Tensor], share: float = 1.0) -> list[Tensor]:
        """The derivatives of a loss. One pass, or a share of one."""
        self.passes += share
        return list(torch.autograd.grad(of, at))

    def whole(self) -> list[Tensor]:
        """For every layer, that all attention is kept, [head, sequence, query, key]."""
        size, n = self.batch.inputs.shape[:2]
        shape = (self.model.n_heads, size, n, n)
        return [torch.ones(shape, requires_grad=True) for _ in range(self.model.n_layers)]

    def best_of(self, scores: Scores) -> dict[Head, float]:
        """For every head the best of its paths."""
        best = dict.fromkeys(self.heads, float("-inf"))
        for path, score in scores.items():
            best[path.at] = max(best[path.at], score)
        return best
