"""Weights written by hand: a transformer put together from named registers of its residual stream.

A register is a named slice of the residual stream. Heads match and move registers, hidden units of
the MLPs read and write them; what is not mentioned is 0. The result is an ordinary `Transformer`.

The LayerNorms are made to scale by a known constant. Two dimensions hold +C and -C, and one more,
the balance, holds minus the sum of all registers, because whatever writes to the stream also
writes minus its sum there. So the mean is 0 and the standard deviation is C · sqrt(2 / d_model) up
to a relative error of (|registers|² + balance²) / 4C², and all maps that read the stream undo it.
With C = 4096 and a squared norm of 500 that error is 8e-6; float32 itself adds rounding errors of
about C · 6e-8 / d_model to every dimension.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor, nn

from headway.models.config import TransformerConfig
from headway.models.transformer import Transformer
from headway.tasks import Task

ONE = "one"
"""A register that always holds 1: the dimension that holds +C, read as 1."""
CONSTANT = 4096.0
BALANCE = 2


@dataclass(frozen=True)
class Match:
    """A term query · weight · key of a head's score, in nats.

    Attributes:
        query: the register read at the position that asks.
        key: the register read at the position that answers.
        weight: a matrix [query, key], or a number if both registers are of one width.
    """

    query: str
    key: str
    weight: float | Tensor


@dataclass(frozen=True)
class _Head:
    layer: int
    head: int
    matches: Sequence[Match]
    moves: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class _Units:
    layer: int
    reads: Mapping[str, Tensor]
    bias: Tensor
    writes: Mapping[str, Tensor]


@dataclass
class Assembly:
    """A transformer being put together; `build` makes it.

    Attributes:
        widths: the dimensions of every register, by name, in the order of the stream.
    """

    widths: Mapping[str, int]
    _embeds: list[tuple[str, int]] = field(default_factory=list)
    _starts: dict[str, float] = field(default_factory=dict)
    _heads: list[_Head] = field(default_factory=list)
    _units: list[_Units] = field(default_factory=list)

    def embed(self, name: str, first: int) -> None:
        """A register starts with the numbers of the input from `first` on."""
        self._embeds.append((name, first))

    def start(self, name: str, value: float) -> None:
        """Every number of a register starts at `value`."""
        self._starts[name] = value

    def head(
        self, layer: int, head: int, matches: Sequence[Match], moves: Sequence[tuple[str, str]]
    ) -> None:
        """A head with the sum of `matches` as its score, which adds one register to another.

        Args:
            layer: the head's layer.
            head: its number in the layer.
            matches: the terms of its score.
            moves: (register of the key, register of the query that it is added to), of one width.
        """
        self._heads.append(_Head(layer, head, matches, moves))

    def units(
        self,
        layer: int,
        reads: Mapping[str, Float[Tensor, "unit _"]],
        bias: Float[Tensor, " unit"],
        writes: Mapping[str, Float[Tensor, "_ unit"]],
    ) -> None:
        """Hidden units of a layer's MLP: relu(Σ reads · register + bias), added by `writes`."""
        self._units.append(_Units(layer, reads, bias, writes))

    def build(
        self, task: Task, targets: Sequence[str], n_layers: int, n_heads: int = 1
    ) -> Transformer:
        """The transformer for a task, which predicts the `targets` registers side by side.

        Heads and layers that were not mentioned do nothing: they attend uniformly and write 0.
        """
        counts = [
            sum(len(u.bias) for u in self._units if u.layer == layer) for layer in range(n_layers)
        ]
        config = TransformerConfig(
            n_layers=n_layers,
            d_model=BALANCE + 1 + sum(self.widths.values()),
            n_heads=n_heads,
            d_head=max([1, *(self._head_width(head) for head in self._heads)]),
            d_mlp=max(counts),
            act_fn="relu",
        )
        model = Transformer(config, task.d_input, task.d_target, task.length, task.n_read)
        with torch.no_grad():
            for name, weight in model.named_parameters():
                if not (".ln" in f".{name}" and name.endswith("weight")):
                    weight.zero_()
            self._write_ends(model, targets)
            for head in self._heads:
                self._write_head(model, head)
            filled = [0] * n_layers
            for units in self._units:
                self._write_units(model, units, filled[units.layer])
                filled[units.layer] += len(units.bias)
        return model.eval().requires_grad_(False)

    def _head_width(self, head: _Head) -> int:
        matched = sum(self._width(match.key) for match in head.matches)
        return max(matched, sum(self._width(source) for source, _ in head.moves))

    def _width(self, name: str) -> int:
        return 1 if name == ONE else self.widths[name]

    def _slice(self, name: str) -> slice:
        if name == ONE:
            return slice(0, 1)
        names = list(self.widths)
        first = BALANCE + 1 + sum(self.widths[n] for n in names[: names.index(name)])
        return slice(first, first + self.widths[name])

    def _scale(self, name: str) -> float:
        """What a register, read after a LayerNorm, must be multiplied with."""
        width = BALANCE + 1 + sum(self.widths.values())
        return (2 / width) ** 0.5 * (1 if name == ONE else CONSTANT)

    def _write_ends(self, model: Transformer, targets: Sequence[str]) -> None:
        embed = model.embed
        assert isinstance(embed, nn.Linear)
        embed.bias[:BALANCE] = torch.tensor([CONSTANT, -CONSTANT])
        for name, first in self._embeds:
            columns = slice(first, first + self._width(name))
            embed.weight[self._slice(name), columns] = torch.eye(self._width(name))
        for name, value in self._starts.items():
            embed.bias[self._slice(name)] = value
        _balance(embed.weight)
        _balance(embed.bias)
        ends = [0]
        for name in targets:
            ends.append(ends[-1] + self._width(name))
        for name, (first, last) in zip(targets, pairwise(ends), strict=True):
            eye = torch.eye(last - first) * self._scale(name)
            model.unembed.weight[first:last, self._slice(name)] = eye

    def _write_head(self, model: Transformer, head: _Head) -> None:
        attention = model.layers[head.layer].attn
        n_heads, d_head = attention.n_heads, attention.d_head
        queries, keys, values = attention.qkv.weight.view(3, n_heads, d_head, -1)[:, head.head]
        first = 0
        for match in head.matches:
            rows = slice(first, first := first + self._width(match.key))
            weight = torch.as_tensor(match.weight, dtype=torch.float32)
            if weight.ndim == 0:
                weight = weight * torch.eye(self._width(match.key))
            scale = self._scale(match.query) * d_head**0.5
            queries[rows, self._slice(match.query)] = weight.T * scale
            key_scale = self._scale(match.key)
            keys[rows, self._slice(match.key)] = torch.eye(self._width(match.key)) * key_scale
        out = attention.out.weight.view(-1, n_heads, d_head)[:, head.head]
        first = 0
        for source, target in head.moves:
            rows = slice(first, first := first + self._width(source))
            eye = torch.eye(self._width(source))
            values[rows, self._slice(source)] = eye * self._scale(source)
            out[self._slice(target), rows] = eye
        _balance(out)

    def _write_units(self, model: Transformer, units: _Units, first: int) -> None:
        mlp = model.layers[units.layer].mlp
        assert mlp is not None
        rows = slice(first, first + len(units.bias))
        for name, weight in units.reads.items():
            mlp.up.weight[rows, self._slice(name)] = weight * self._scale(name)
        mlp.up.bias[rows] = units.bias
        for name, weight in units.writes.items():
            mlp.down.weight[self._slice(name), rows] = weight
        _balance(mlp.down.weight[:, rows])


def _balance(written: Tensor) -> None:
    """Sets the balance of a map that writes to the stream to minus the sum of the registers."""
    written[BALANCE] = -written[BALANCE + 1 :].sum(0)
