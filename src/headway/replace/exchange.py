"""Exchange: parts of a model carry what they carry in another sequence.

At a query a head reads a sum over keys, each key's value times the attention to it. An
exchange replaces some of these products by those of another run; all else is computed
from it as the model
does (interchange intervention: Geiger et al. 2021; resample ablation: Chan et al.
2022). Other than zeros or means, what is put in has been carried by the same part: the
model is shown nothing that it never sees.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from headway.errors import HeadwayError, require
from headway.models import Tappable, Tapped, Transformer, attention_patterns, tapped
from headway.models.interception import Read
from headway.models.trial import tried
from headway.replace.ablation import Candidate, at_once, heads_of
from headway.replace.changed import ChangedStreams
from headway.replace.heads import Head
from headway.replace.partners import Partners, partners
from headway.replace.patterns import Patterns, as_it_is, edges_of, tap_of
from headway.tasks import Batch, Task

OWN: Literal["own"] = "own"
PARTNER: Literal["partner"] = "partner"
ELSEWHERE: Literal["elsewhere"] = "elsewhere"
Source = Literal["own", "partner", "elsewhere"]
"""The run that attention or values are of: that of the sequences, after all changes in
the layers below; or one of other sequences, as the model is (see `Partners`)."""

Share = Float[Tensor, "#sequence query key"] | float


class Term(NamedTuple):
    """Products of attention and values.

    Attributes:
        share: the part of each cell of attention that counts, [sequence or 1, query,
            key].
        attends: the run whose attention it is.
        reads: the run whose values are read.
    """

    share: Share
    attends: Source
    reads: Source


Swap = Sequence[Term]
"""A sum of terms that a head reads."""

WHOLE_HEAD: Swap = (Term(1.0, PARTNER, PARTNER),)
"""The head carries all that it carries in the partner."""


class Change(NamedTuple):
    """Changes of a model that are made together.

    Attributes:
        swaps: by head, what it reads.
        mechanisms: by head, what stands in its place; swaps then are of the mechanism's
            attention.
    """

    swaps: Mapping[Head, Swap]
    mechanisms: Candidate = MappingProxyType({})


@dataclass
class Carried:
    """Attention and values of a run.

    Attributes:
        patterns: by layer, [sequence, head, query, key].
        values: by layer, the operand of every product with its pattern, as the module
            lays it out.
    """

    patterns: dict[int, Tensor] = field(default_factory=dict)
    values: dict[int, list[Tensor]] = field(default_factory=lambda: defaultdict(list))


class Everywhere(nn.Module):
    """A `Transformer` that attends at all positions in its last layer, too."""

    def __init__(self, model: Transformer):
        super().__init__()
        self.model = model

    def forward(self, inputs: Tensor) -> Tensor:
        """Outputs at the read-out positions."""
        return self.model(inputs, as_it_is)


class Exchange:
    """A model on sequences, of which any part can carry what it carries in others.

    Args:
        model: with a tap, or any module whose attention can be tapped.
        task: that it was trained on.
        batch: the sequences.
        others: as many others each, by the name of their run.

    Attributes:
        patterns: of mechanisms, on the sequences.
        others: of mechanisms, on the others.
        outputs_of: by run, what the model as it is puts out, [sequence, query, output].
        passes: forward passes of all sequences so far, in whole ones.
        known: what judges have measured, by what was changed.

    Raises:
        HeadwayError: if the model's attention cannot be tapped, or its pattern is
            changed before it meets values.
    """

    def __init__(
        self,
        model: Tappable | nn.Module,
        task: Task,
        batch: Batch,
        others: Mapping[Source, Batch],
    ):
        self.task = task
        self.batch = batch
        self.model = _tapped_everywhere(model, batch.inputs)
        # Relations and masks are those of the model itself, whose config may tell them.
        self._own = model if isinstance(model, Transformer) else self.model
        self.patterns = self._patterns_on(batch)
        self.others = {
            source: self._patterns_on(other) for source, other in others.items()
        }
        self.passes = 0.0
        self.known = dict[Hashable, Any]()
        self.carried = dict[Source, Carried]()
        runs: dict[Source, Batch] = {OWN: batch, **others}
        self.outputs_of = {
            name: self._record(name, run.inputs) for name, run in runs.items()
        }
        self._streams: ChangedStreams | None = None
        if isinstance(model, Transformer):
            self._streams = ChangedStreams(model, self.patterns, self._read_under)
            self.passes += 1

    @classmethod
    def among(
        cls, model: Tappable | nn.Module, task: Task, given: Partners
    ) -> "Exchange":
        """A model on sequences, with their partners."""
        return cls(
            model,
            task,
            given.batch,
            {PARTNER: given.partner, ELSEWHERE: given.elsewhere},
        )

    @classmethod
    def drawn(
        cls,
        model: Tappable | nn.Module,
        task: Task,
        count: int,
        generator: torch.Generator,
    ) -> "Exchange":
        """A model on sequences that are drawn, each with partners (see `partners`)."""
        return cls.among(model, task, partners(task, count, generator))

    def _patterns_on(self, batch: Batch) -> Patterns:
        return Patterns(self._own, batch, edges_of(self.task, self._own, batch))

    @property
    def heads(self) -> list[Head]:
        """Every head of the model, layer by layer."""
        return heads_of(self.model)

    def outputs(
        self, changes: Sequence[Change]
    ) -> Iterator[Float[Tensor, "sequence query output"]]:
        """The outputs on the sequences under each of some changes, one after the other.

        As many as memory allows are computed side by side.

        Raises:
            HeadwayError: if a head is changed of which nothing meets values.
        """
        self._require_values(changes)
        for change in changes:
            for mechanism in change.mechanisms.values():
                self.patterns.prepare(mechanism)
        sequences, positions = self.batch.inputs.shape[:2]
        vectors = sequences * positions
        if self._streams is None:
            vectors *= self.model.n_layers
        numbers = self.outputs_of[OWN].numel()
        together = at_once(vectors, numbers)
        for start in range(0, len(changes), together):
            yield from self._outputs(changes[start : start + together])

    @torch.no_grad()
    def _outputs(
        self, changes: Sequence[Change]
    ) -> Float[Tensor, "change sequence query output"]:
        if self._streams is None:
            self.passes += len(changes)
            return self._by_whole_passes(changes)
        before = self._streams.computed
        outputs = self._streams.outputs(changes)
        whole = self.batch.inputs.shape[:2].numel() * self.model.n_layers
        self.passes += (self._streams.computed - before) / whole
        return outputs

    def _by_whole_passes(
        self, changes: Sequence[Change]
    ) -> Float[Tensor, "change sequence query output"]:
        """The outputs of a model of which nothing is known but where it attends."""
        inputs = self.batch.inputs
        n_read = self.batch.targets.shape[1]
        together = inputs.repeat(len(changes), *[1] * (inputs.ndim - 1))
        mechanisms = [change.mechanisms for change in changes]
        replaced = tap_of(self.patterns, mechanisms, slice(None))
        now: dict[int, Tensor] = {}
        products = Counter[int]()

        def tap(layer: int, pattern: Tensor) -> Tensor:
            now[layer] = replaced(layer, pattern) if any(mechanisms) else pattern
            return now[layer]

        def reads(read: Read) -> Tensor:
            number = products[read.layer]
            products[read.layer] += 1
            return self._exchanged(read, now[read.layer], number, changes)

        outputs = self.model(together, tap, reads)[:, -n_read:]
        return outputs.unflatten(0, (len(changes), len(inputs)))

    def _read_under(
        self,
        changes: Sequence[Change],
        layer: int,
        start: int,
        pattern: Tensor,
        values: Tensor,
    ) -> Tensor:
        """Values that a `Transformer`'s heads read under changes (see `ReadBy`)."""
        read = Read(layer, pattern, values, lambda weights: weights, torch.matmul)
        return self._exchanged(read, pattern, 0, changes, start)

    def _exchanged(
        self,
        read: Read,
        pattern: Tensor,
        number: int,
        changes: Sequence[Change],
        start: int = 0,
    ) -> Tensor:
        """The values read in a product of a layer, of all changes side by side.

        Args:
            read: the product.
            pattern: of the layer, [change * sequence, head, query, key].
            number: of the product among those of the layer.
            changes: that are made.
            start: the first query of the pattern.
        """
        layers = {layer for change in changes for layer, _ in change.swaps}
        if read.layer not in layers:
            return read.product(read.pattern, read.values)
        products = list[Tensor]()
        by_source = self._weights(read.layer, pattern, changes, start)
        for source, weights in by_source.items():
            values = read.values
            if source != OWN:
                theirs = self.carried[source].values[read.layer][number]
                values = theirs.repeat(len(changes), *[1] * (theirs.ndim - 1))
            products.append(read.product(read.laid(weights), values))
        return torch.stack(products).sum(0)

    def _weights(
        self, layer: int, pattern: Tensor, changes: Sequence[Change], start: int
    ) -> dict[Source, Float[Tensor, "row head query key"]]:
        """The weights with which a layer's heads read the values of every run."""
        by_change = pattern.unflatten(0, (len(changes), -1))
        weights: dict[Source, Tensor] = {OWN: by_change.clone()}
        for at, change in enumerate(changes):
            for head, swap in change.swaps.items():
                if head[0] == layer:
                    weights[OWN][at, :, head[1]] = 0.0
                    own = by_change[at, :, head[1]]
                    for source, attention in self._read_by(swap, head, own, start):
                        if source not in weights:
                            weights[source] = torch.zeros_like(by_change)
                        weights[source][at, :, head[1]] += attention
        return {source: each.flatten(0, 1) for source, each in weights.items()}

    def _read_by(
        self, swap: Swap, head: Head, own: Tensor, start: int
    ) -> Iterator[tuple[Source, Tensor]]:
        """The runs whose values a head reads, with its attention to them.

        Args:
            swap: what is exchanged of the head.
            head: its layer and number.
            own: its attention in the sequences.
            start: the first query of this attention.
        """
        layer, number = head
        for term in swap:
            attention = own
            if term.attends != OWN:
                theirs = self.carried[term.attends].patterns[layer]
                attention = theirs[:, number, start:]
            share = term.share
            if isinstance(share, Tensor):
                share = share[:, start:]
            yield term.reads, share * attention

    def _require_values(self, changes: Sequence[Change]) -> None:
        """Makes sure that heads which are to carry something else carry anything."""
        layers = set[int]()
        for change in changes:
            layers |= {layer for layer, _ in change.swaps}
        for layer in sorted(layers):
            is_read = layer in self.carried[OWN].values
            allowed = "one whose pattern is multiplied with values"
            require(is_read, "layer", layer, allowed)

    @torch.no_grad()
    def _record(self, source: Source, inputs: Tensor) -> Tensor:
        """Keeps attention and values of a run on some sequences; its outputs."""
        carried = self.carried[source] = Carried()

        def tap(layer: int, pattern: Tensor) -> Tensor:
            carried.patterns[layer] = pattern
            return pattern

        def reads(read: Read) -> Tensor:
            require_same(read, carried.patterns[read.layer])
            carried.values[read.layer].append(read.values)
            return read.product(read.pattern, read.values)

        outputs = self.model(inputs, tap, reads)
        self.passes += 1
        return outputs[:, -self.batch.targets.shape[1] :]


def _tapped_everywhere(model: Tappable | nn.Module, inputs: Tensor) -> Tapped:
    """A model with a tap that shows where patterns meet values, at all positions."""
    if isinstance(model, Tapped):
        return model
    if isinstance(model, Transformer):
        return tapped(Everywhere(model), inputs[:2])
    if isinstance(model, nn.Module) and isinstance(model, Tappable):
        return _seen_as_its_tap_says(model, inputs[:2])
    if isinstance(model, nn.Module):
        return tapped(model, inputs[:2])
    kind = type(model).__name__
    raise HeadwayError(f"model = {kind} is not allowed: it must be a torch.nn.Module")


def _seen_as_its_tap_says(model: Tappable, inputs: Tensor) -> Tapped:
    """A module with a tap of its own, and one where patterns meet values.

    Raises:
        HeadwayError: if the attention that is seen is laid out otherwise than its own
            tap says.
    """
    assert isinstance(model, nn.Module)
    shape = tried(model, inputs)
    seen = Tapped(model, shape=shape)
    if not _is_same_attention(model, seen, inputs):
        kind = type(model).__name__
        in_it = f"{seen.n_layers} layers of {seen.n_heads}"
        by_its_tap = f"{model.n_layers} of {model.n_heads}"
        raise HeadwayError(
            f"what heads of {kind} carry cannot be exchanged:"
            f" the attention that is seen in it ({in_it})"
            f" is not that of its own tap ({by_its_tap})"
        )
    return seen


def _is_same_attention(first: Tappable, second: Tappable, inputs: Tensor) -> bool:
    """True if two taps show the same heads with the same patterns."""
    if (first.n_layers, first.n_heads) != (second.n_layers, second.n_heads):
        return False
    own = attention_patterns(first, inputs)
    other = attention_patterns(second, inputs)
    return own.shape == other.shape and torch.allclose(own, other, atol=1e-3)


def require_same(read: Read, pattern: Tensor) -> None:
    """Makes sure that values meet the pattern as the tap saw it.

    Raises:
        HeadwayError: if not.
    """
    try:
        laid = read.laid(pattern)
        is_laid = read.laid(torch.ones_like(pattern)).bool()
        met = read.pattern.nan_to_num(0.0) * is_laid
        is_same = torch.allclose(met, laid, atol=1e-3)
    except RuntimeError:  # another layout
        is_same = False
    if not is_same:
        raise HeadwayError(
            f"what heads of layer {read.layer} read cannot be exchanged:"
            " their pattern is changed, or laid out anew, before it meets values"
        )
