"""Ablation: the losses of a model under mechanisms put in the place of its heads."""

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import CancelledError
from dataclasses import replace
from itertools import pairwise
from typing import TypeVar

import torch
from jaxtyping import Float
from torch import Tensor

from headway.circuits.mechanism import Circuit, Head, Mechanism
from headway.circuits.patterns import Patterns
from headway.circuits.streams import MOST_VECTORS, Streams
from headway.errors import require
from headway.models import Tap, Transformer
from headway.tasks import Batch, Task
from headway.training.losses import errors, how_often

Replaced = Circuit | Mapping[Head, Mechanism]
"""Mechanisms for all heads, or for some while the others are as they are."""

LOOKS = (0.125, 0.25, 0.5, 1.0)
"""The parts of the sequences after which it is asked which candidates are already too bad."""

LEAST = 8
"""Fewer sequences than this are not worth a look of their own."""

TOGETHER = 48
"""At most so many candidates are computed at once."""

T = TypeVar("T")


class Bench:
    """A model, and sequences to judge it on under mechanisms in the place of its heads.

    All losses are mean squared errors, or cross-entropies in nats; those of different candidates
    share what they have in common (see `streams`).

    Attributes:
        model: the model under study.
        task: what it was trained on.
        hops: those of the task that count.
        batch: the sequences; targets are of these hops.
        patterns: the patterns of mechanisms on them.
        candidates: how many candidates were judged so far. One at a time, each would be a forward
            pass over all the sequences.
        given_up: set from another thread, it ends whatever the bench is doing.
    """

    def __init__(self, model: Transformer, task: Task, batch: Batch, rows: str = "zero"):
        require(
            model.d_input == task.d_input
            and model.unembed.out_features == task.d_target
            and model.n_read == task.n_read,
            "task",
            type(task).__name__.lower(),
            f"the one the model was built for: it reads {model.d_input} numbers and"
            f" writes {model.unembed.out_features} at {model.n_read} positions",
        )
        require(
            model.mask is None or len(model.mask) == task.length,
            "task: sequence length",
            task.length,
            f"that of the model, {0 if model.mask is None else len(model.mask)}",
        )
        self.hops = task.judged
        columns = [task.hop_names.index(hop) for hop in self.hops]
        batch = replace(batch, targets=batch.targets[:, :, columns])
        self.model, self.task, self.batch = model, task, batch
        self._asked = how_often(batch.targets)
        self.patterns = Patterns(model, batch, task.paths(batch), rows)
        self._streams = Streams(model, batch.inputs, self.patterns)
        self._known: dict[frozenset[tuple[Head, Mechanism]], tuple[float, bool]] = {}
        self.candidates, self.given_up = 0, False
        looks = sorted({math.ceil(look * self.sequences) for look in LOOKS})
        ends = [end for end in looks if end >= LEAST or end == self.sequences]
        self._parts = [slice(start, end) for start, end in pairwise([0, *ends])]

    @property
    def heads(self) -> list[Head]:
        """Every head of the model."""
        config = self.model.config
        return [(layer, h) for layer in range(config.n_layers) for h in range(config.n_heads)]

    @property
    def sequences(self) -> int:
        """How many sequences losses are over."""
        return len(self.batch.inputs)

    @property
    def forwards(self) -> float:
        """What was computed so far, in forward passes of the whole model over all sequences."""
        whole = self.batch.inputs.shape[:2].numel() * self.model.config.n_layers
        return self._streams.computed / whole

    @torch.no_grad()
    def errors(self, candidates: Sequence[Replaced]) -> Float[Tensor, "candidate sequence hop"]:
        """The error of every candidate in every sequence, hop by hop (see `losses.errors`).

        Raises:
            HeadwayError: if a candidate replaces a head that the model does not have, or uses a
                path that the task does not have.
        """
        chosen = [self._checked(candidate) for candidate in candidates]
        self.candidates += len(candidates)
        parts = [
            torch.cat([self._errors(group, part) for group in self._groups(chosen, part)])
            for part in self._parts
        ]
        return torch.cat(parts, dim=1)

    def _errors(self, chosen: Sequence[Mapping[Head, Mechanism]], part: slice) -> Tensor:
        if self.given_up:
            raise CancelledError
        x = self._streams.outputs(chosen, part)
        predicted = self.model.unembed(self.model.ln_final(x))
        targets = self.batch.targets[part]
        return torch.stack([errors(one, targets, self._asked) for one in predicted])

    @torch.no_grad()
    def losses(self, candidates: Sequence[Replaced], limit: float = math.inf) -> list[float]:
        """The loss of every candidate; infinity where it is known not to be below the limit.

        Squared errors only add up. So a candidate whose errors in the first few sequences alone
        are more than the limit allows for all of them need not be followed further.
        """
        found: dict[frozenset[tuple[Head, Mechanism]], float] = {}
        chosen = [self._checked(candidate) for candidate in candidates]
        names = [frozenset(candidate.items()) for candidate in chosen]
        open_ = dict(zip(names, chosen, strict=True))
        for name in list(open_):
            loss, whole = self._known.get(name, (-math.inf, False))
            if whole or loss >= limit:
                found[name] = loss if loss < limit or limit == math.inf else math.inf
                del open_[name]
        self.candidates += len(open_)
        total = dict.fromkeys(open_, 0.0)
        for part in self._parts:
            rest = list(open_)
            for group in self._groups(rest, part):
                found_here = self._errors([open_[name] for name in group], part)
                for name, error in zip(group, found_here.mean(-1).sum(-1).tolist(), strict=True):
                    total[name] += error / self.sequences
                    seen_whole = part.stop == self.sequences
                    self._known[name] = total[name], seen_whole
                    if not total[name] < limit:
                        found[name] = total[name] if limit == math.inf else math.inf
                        del open_[name]
        found |= {name: total[name] for name in open_}
        return [found[name] for name in names]

    def _groups(self, things: Sequence[T], part: slice) -> list[Sequence[T]]:
        """As many at once as may be kept."""
        each = (part.stop - part.start) * self.batch.inputs.shape[1] * self.model.config.n_layers
        size = max(1, min(TOGETHER, MOST_VECTORS // each))
        return [things[i : i + size] for i in range(0, len(things), size)]

    def partial(self, candidate: Replaced | None = None) -> Float[Tensor, " hop"]:
        """The partial losses with these heads replaced."""
        return self.errors([candidate or {}])[0].mean(0)

    def loss(self, candidate: Replaced | None = None) -> float:
        """The mean of the partial losses with these heads replaced."""
        return self.losses([candidate or {}])[0]

    def tap(self, candidate: Replaced) -> Tap:
        """The tap that puts the mechanisms' patterns in place of the heads' own, for `model`."""
        chosen = self._checked(candidate)

        def replace(layer: int, pattern: Tensor) -> Tensor:
            own = list(pattern.unbind(1))
            for (at, head), mechanism in chosen.items():
                if at == layer:
                    own[head] = self.patterns.edit((at, head), mechanism, own[head])
            return torch.stack(own, dim=1)

        return replace

    def _checked(self, candidate: Replaced) -> Mapping[Head, Mechanism]:
        chosen = candidate.mechanisms if isinstance(candidate, Circuit) else candidate
        config = self.model.config
        for head, mechanism in chosen.items():
            fits = 0 <= head[0] < config.n_layers and 0 <= head[1] < config.n_heads
            require(
                fits,
                "circuit: (layer, head)",
                head,
                f"a head of this model, which has {config.n_layers} layers of {config.n_heads}",
            )
            for name in getattr(mechanism, "relations", ()):
                self.patterns.relation(name)
        return chosen
