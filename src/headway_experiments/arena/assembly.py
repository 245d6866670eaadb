"""Weights written by hand: a transformer put together from named registers of its
residual stream.

A register is a named slice of the residual stream. Heads match and move registers,
hidden units of the MLPs read and write them; what is not mentioned is 0. The result is
an ordinary `Transformer`.

The LayerNorms are made to scale by a known constant. Two dimensions hold +C and -C, and
one more, the balance, holds minus the sum of all registers, because whatever writes to
the stream also writes minus its sum there. So the mean is 0 and the standard deviation
is C · sqrt(2 / d_model) up to a relative error of (|registers|² + balance²) / 4C², and
all maps that read the stream undo it. With C = 4096 and a squared norm of 500 that
error is 8e-6; float32 itself adds rounding errors of about C · 6e-8 / d_model to every
dimension.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor, nn

from headway.models import Transformer, TransformerConfig
from headway.replace import Head
from headway.tasks import Task

ONE = "one"
"""A register that always holds 1: the dimension that holds +C, read as 1."""
Registers = Mapping[str, Float[Tensor, "_ _"]]
"""Linear maps by the register that they read or write."""
CONSTANT = 4096.0
BALANCE = 2


@dataclass(frozen=True)
class Match:
    """A term query · weight · key of a head's score, in nats.

    Attributes:
        query: the register read at the position that attends.
        key: the register read at the position attended to.
        weight: a matrix [query, key], or a number if both registers are of one width.
    """

    query: str
    key: str
    weight: float | Tensor


Moves = Sequence[tuple[str, str]]
"""Registers of the key, each with the register of the query that it is added to, of one
width.
"""


@dataclass
class Assembly:
    """A transformer being put together; `build` makes it.

    Attributes:
        widths: the dimensions of every register, by name, in the order of the stream.
        embeds: the registers that start with numbers of the input, and from which on.
        starts: those all of whose numbers start at a value.
        heads: by layer and number. The sum of the matches is the score; the moves are
            added.
    """

    widths: Mapping[str, int]
    embeds: Mapping[str, int] = field(default_factory=dict)
    starts: Mapping[str, float] = field(default_factory=dict)
    heads: dict[Head, tuple[Sequence[Match], Moves]] = field(default_factory=dict)
    _units: list[tuple[int, Registers, Tensor, Registers]] = field(default_factory=list)

    def units(
        self,
        layer: int,
        reads: Registers,
        bias: Float[Tensor, " unit"],
        writes: Registers,
    ) -> None:
        """Hidden units of a layer's MLP: relu(Σ reads · register + bias), added by
        `writes`.

        Maps are [unit, number] by the register read, and [number, unit] by the one
        written.
        """
        self._units.append((layer, reads, bias, writes))

    def build(
        self, task: Task, targets: Sequence[str], n_layers: int, n_heads: int = 1
    ) -> Transformer:
        """The transformer for a task, which predicts the `targets` registers side by
        side.

        Heads and layers that were not mentioned do nothing: they attend uniformly and
        write 0.
        """
        registers = sum(self.widths.values())
        config = TransformerConfig(
            n_layers=n_layers,
            d_model=BALANCE + 1 + registers,
            n_heads=n_heads,
            d_head=self._widest_head(),
            d_mlp=self._most_units(n_layers),
            act_fn="relu",
        )
        model = Transformer(
            config, task.d_input, task.d_target, task.length, task.n_read
        )
        with torch.no_grad():
            for name, weight in model.named_parameters():
                is_of_norm = ".ln" in f".{name}"
                if not (is_of_norm and name.endswith("weight")):
                    weight.zero_()
            self._write_ends(model, targets)
            for (layer, head), (matches, moves) in self.heads.items():
                self._write_head(model, layer, head, matches, moves)
            self._write_hidden(model)
        return model.eval().requires_grad_(False)

    def _write_hidden(self, model: Transformer) -> None:
        filled = [0] * len(model.layers)
        for layer, reads, bias, writes in self._units:
            units = slice(filled[layer], filled[layer] + len(bias))
            self._write_units(model, layer, units, reads, bias, writes)
            filled[layer] = units.stop

    def _widest_head(self) -> int:
        """The most dimensions that a head matches or moves."""
        widest = 1
        for matches, moves in self.heads.values():
            matched = sum(self._width(match.key) for match in matches)
            moved = sum(self._width(source) for source, _ in moves)
            widest = max(widest, matched, moved)
        return widest

    def _most_units(self, n_layers: int) -> int:
        """The most hidden units of a layer."""
        counts = [0] * n_layers
        for layer, _, bias, _ in self._units:
            counts[layer] += len(bias)
        return max(counts)

    def _width(self, name: str) -> int:
        return 1 if name == ONE else self.widths[name]

    def _slice(self, name: str) -> slice:
        if name == ONE:
            return slice(0, 1)
        names = list(self.widths)
        before = names[: names.index(name)]
        first = BALANCE + 1 + sum(self.widths[other] for other in before)
        return slice(first, first + self.widths[name])

    def _scale(self, name: str) -> float:
        """The factor on a register that is read after a LayerNorm."""
        width = BALANCE + 1 + sum(self.widths.values())
        return (2 / width) ** 0.5 * (1 if name == ONE else CONSTANT)

    def _write_ends(self, model: Transformer, targets: Sequence[str]) -> None:
        embed = model.embed
        assert isinstance(embed, nn.Linear)
        embed.bias[:BALANCE] = torch.tensor([CONSTANT, -CONSTANT])
        for name, first in self.embeds.items():
            width = self._width(name)
            columns = slice(first, first + width)
            embed.weight[self._slice(name), columns] = torch.eye(width)
        for name, value in self.starts.items():
            embed.bias[self._slice(name)] = value
        _balance(embed.weight)
        _balance(embed.bias)
        first = 0
        for name in targets:
            width = self._width(name)
            rows = slice(first, first + width)
            eye = torch.eye(width)
            model.unembed.weight[rows, self._slice(name)] = eye * self._scale(name)
            first += width

    def _write_head(
        self,
        model: Transformer,
        layer: int,
        head: int,
        matches: Sequence[Match],
        moves: Moves,
    ) -> None:
        attention = model.layers[layer].attn
        weights = attention.qkv.weight.view(3, attention.n_heads, attention.d_head, -1)
        queries, keys, values = weights[:, head]
        self._write_matches(queries, keys, matches)
        out = attention.out.weight.view(-1, attention.n_heads, attention.d_head)[
            :, head
        ]
        self._write_moves(values, out, moves)
        _balance(out)

    def _write_matches(
        self, queries: Tensor, keys: Tensor, matches: Sequence[Match]
    ) -> None:
        """A head's queries read what matches ask with, and its keys what they are
        compared to.
        """
        d_head = len(queries)
        first = 0
        for match in matches:
            width = self._width(match.key)
            rows = slice(first, first + width)
            eye = torch.eye(width)
            weight = torch.as_tensor(match.weight, dtype=torch.float32)
            if weight.ndim == 0:
                weight = weight * eye
            scale = self._scale(match.query) * d_head**0.5
            queries[rows, self._slice(match.query)] = weight.T * scale
            keys[rows, self._slice(match.key)] = eye * self._scale(match.key)
            first += width

    def _write_moves(self, values: Tensor, out: Tensor, moves: Moves) -> None:
        """A head's values read the sources, and its output is added to the targets."""
        first = 0
        for source, target in moves:
            width = self._width(source)
            rows = slice(first, first + width)
            eye = torch.eye(width)
            values[rows, self._slice(source)] = eye * self._scale(source)
            out[self._slice(target), rows] = eye
            first += width

    def _write_units(
        self,
        model: Transformer,
        layer: int,
        units: slice,
        reads: Registers,
        bias: Tensor,
        writes: Registers,
    ) -> None:
        mlp = model.layers[layer].mlp
        assert mlp is not None
        for name, weight in reads.items():
            mlp.up.weight[units, self._slice(name)] = weight * self._scale(name)
        mlp.up.bias[units] = bias
        for name, weight in writes.items():
            mlp.down.weight[self._slice(name), units] = weight
        _balance(mlp.down.weight[:, units])


def _balance(written: Tensor) -> None:
    """Sets the balance of a map that writes to the stream to minus the sum of the
    registers.
    """
    written[BALANCE] = -written[BALANCE + 1 :].sum(0)
