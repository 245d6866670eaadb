"""A RASP program as a task: its sequences, its answers, and the relations to choose from."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool
from torch import Tensor

from headway.tasks import IGNORE_INDEX, Batch, Edges, Targets, Task, Tokens, Vectors
from headway_experiments.arena.tracr_model import Compiled
from headway_experiments.arena.tracr_programs import DRAWN, Program, compiled_program, programs

Looks = Bool[np.ndarray, "query key"]
"""The positions that every position of a sequence attends to."""


@dataclass(frozen=True)
class RaspTask(Task, registered=False):
    """The answers of a program in RASP at every position of a sequence.

    Sequences start with BOS and end in padding. What the program gives is read off a one-hot
    stream, None being no value at all; or it is a number, in standard deviations.

    Relations are guesses of where a head may attend. There are the program's own selectors, each
    with BOS and without, and a dictionary that is the same for all programs: places relative to
    one's own, the ends, the same token, every token of a kind, all. One that leads to the same
    positions as another is left out. Their order is drawn at random.
    """

    program: str = "reverse_1"

    @cached_property
    def its(self) -> Program:
        """The program."""
        return programs()[self.program]

    @cached_property
    def compiled(self) -> Compiled:
        """The program as Tracr compiles it."""
        return compiled_program(self.program)

    @property
    def vocabulary(self) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        return len(self.compiled.tokens)

    @property
    def targets(self) -> Targets:
        values = self.compiled.values
        return Vectors(1) if values is None else Tokens(len(values) + 1)

    @property
    def looks_ahead(self) -> bool:
        return True

    def draw(self, count: int, generator: torch.Generator) -> tuple[Tensor, ...]:
        seed = int(torch.randint(2**62, (), generator=generator, device=generator.device))
        rng, its = random.Random(seed), self.its
        numbers = {token: i for i, token in enumerate(self.compiled.tokens)}
        rows = [DRAWN[its.style](rng, its.tokens, its.length) for _ in range(count)]
        drawn = torch.full((count, its.length + 1), self.compiled.module.pad)
        drawn[:, 0] = self.compiled.assembled.input_encoder.bos_encoding
        for row, said in zip(drawn, rows, strict=True):
            row[1 : len(said) + 1] = torch.tensor([numbers[token] for token in said])
        return (drawn.to(generator.device),)

    def assemble(self, draws: tuple[Tensor, ...]) -> Batch:
        (inputs,) = draws
        said = [self.answers(tuple(self.read(row))) for row in inputs.tolist()]
        values = self.compiled.values
        if values is None:
            targets = torch.full((*inputs[:, 1:].shape, 1, 1), torch.nan)
            scale = self.compiled.module.scale
            for row, answers in zip(targets, said, strict=True):
                row[: len(answers), 0, 0] = torch.tensor(answers, dtype=torch.float32) * scale
            return Batch(inputs, targets.to(inputs.device))
        numbers = {value: i for i, value in enumerate(values)} | {None: len(values)}
        targets = torch.full((*inputs[:, 1:].shape, 1), IGNORE_INDEX)
        for row, answers in zip(targets, said, strict=True):
            row[: len(answers), 0] = torch.tensor([numbers[answer] for answer in answers])
        return Batch(inputs, targets.to(inputs.device))

    def read(self, row: list[int]) -> list[Any]:
        """The tokens of a sequence, without BOS and padding."""
        return [self.compiled.tokens[one] for one in row[1:] if one != self.compiled.module.pad]

    def answers(self, said: tuple[Any, ...]) -> list[Any]:
        """The program's outputs by RASP's own interpreter."""
        return self.its.program(list(said))

    def relations(self, batch: Batch) -> dict[str, Edges]:
        guesses = [self._guesses(self.read(row)) for row in batch.inputs.tolist()]
        own = [np.eye(len(one["BOS"]), dtype=bool) for one in guesses]
        found = {
            name: edges_of([one[name] for one in guesses], batch.inputs) for name in self.names
        }
        return {**found, "own position": replace(edges_of(own, batch.inputs), use="stay")}

    @cached_property
    def names(self) -> list[str]:
        """Every relation's name, in a random order, without those that lead where others do."""
        names = sorted({*self._first.values()})
        random.Random(self.program).shuffle(names)
        return names

    @cached_property
    def _first(self) -> dict[str, str]:
        """By guess, the first that leads to the same positions in each of 256 sequences. What leads
        nowhere is left out."""
        (inputs,) = self.draw(256, torch.Generator().manual_seed(1))
        guesses = [self._guesses(self.read(row)) for row in inputs.tolist()]
        first, found = dict[bytes, str](), dict[str, str]()
        for name in guesses[0]:  # selectors come first, and so are those that stay
            looks = np.concatenate([one[name].ravel() for one in guesses])
            if looks.any():
                found[name] = first.setdefault(looks.tobytes(), name)
        return found

    @cached_property
    def _selectors(self) -> dict[str, Any]:
        """The program's selectors by name, numbered where names are alike."""
        found: dict[str, Any] = {}
        for head in self.compiled.heads:
            if head.selector not in found.values():
                name = f"selector {head.selector.name}"
                found[name if name not in found else f"{name} {len(found)}"] = head.selector
        return found

    def _guesses(self, said: list[Any]) -> dict[str, Looks]:
        """All guesses for a sequence; BOS is its first position."""
        found, (_, key) = dict[str, Looks](), np.indices((len(said) + 1, len(said) + 1))
        bos = key == 0
        for name, selector in self._selectors.items():
            found[name] = np.pad(np.array(selector(said), bool), ((1, 0), (1, 0)))
            found[f"{name} and BOS"] = found[name] | bos
        for name, looks in dictionary(said, self.its.tokens).items():
            found[name] = np.pad(looks, ((1, 0), (1, 0)))
        return {**found, "all and BOS": found["all"] | bos, "BOS": bos}

    @cached_property
    def truth(self) -> frozenset[tuple[int, int, str]]:
        """The layer, head and relation of every selector that the compiler uses."""
        found: set[tuple[int, int, str]] = set()
        for head in self.compiled.heads:
            (name,) = (n for n, s in self._selectors.items() if s is head.selector)
            name = f"{name} and BOS" if head.counts else name
            found.add((head.layer, head.head, self._first[name]))
        return frozenset(found)


def dictionary(said: Sequence[Any], tokens: Sequence[Any]) -> dict[str, Looks]:
    """The guesses that are the same for all programs.

    Args:
        said: the tokens of the sequence.
        tokens: all that there are.
    """
    q, k = np.indices((len(said), len(said)))
    token = np.array([tokens.index(one) for one in said])
    same, last = token[q] == token[k], len(said) - 1
    return {
        **{f"offset {offset:+d}": k - q == offset for offset in (-3, -2, -1, 1, 2)},
        "first": k == 0,
        "last": k == last,
        "mirror": k == last - q,
        "earlier": k < q,
        "up to here": k <= q,
        "later": k > q,
        "all": k >= 0,
        "same token": same,
        "same token, earlier": same & (k < q),
        "after same token": (k > 0) & (token[q] == token[k - 1]),
        "other tokens": ~same,
        **{f"token {one}": token[k] == i for i, one in enumerate(tokens)},
    }


def edges_of(looks: Sequence[Looks], inputs: Tensor) -> Edges:
    """A relation's edges in some sequences: every position is a query where it has keys."""
    mask = torch.zeros(*inputs.shape, inputs.shape[1], dtype=torch.bool)
    for here, one in zip(mask, looks, strict=True):
        here[: len(one), : len(one)] = torch.from_numpy(one)
    return Edges.where(mask.to(inputs.device))
