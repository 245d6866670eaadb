"""A RASP program as a task: its sequences, its answers, and the relations to choose
from.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Bool
from torch import Tensor

from headway.tasks import IGNORE_INDEX, Batch, Edges, Targets, Task, Tokens, Vectors
from headway_experiments.arena.tracr_model import Compiled
from headway_experiments.arena.tracr_programs import (
    DRAWN,
    Program,
    compiled_program,
    programs,
)

Looks = Bool[np.ndarray, "query key"]
"""The positions that every position of a sequence attends to."""


@dataclass(frozen=True)
class RaspTask(Task, registered=False):
    """The answers of a program in RASP at every position of a sequence.

    Sequences start with BOS and end in padding. What the program gives is read off a
    one-hot stream, None being no value at all; or it is a number, in standard
    deviations.

    Relations are guesses of where a head may attend. There are the program's own
    selectors, each with BOS and without, and a dictionary that is the same for all
    programs: places relative to one's own, the ends, the same token, every token of a
    kind, all. One that leads to the same positions as another is left out. Their order
    is drawn at random.
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
    def tokens_are(self) -> Literal["symbols", "numbers"]:
        return "numbers" if isinstance(self.its.tokens[0], int) else "symbols"

    @property
    def targets(self) -> Targets:
        values = self.compiled.values
        if values is None:
            return Vectors(1)
        return Tokens(len(values) + 1)

    @property
    def looks_ahead(self) -> bool:
        return True

    def draw(self, count: int, generator: torch.Generator) -> tuple[Tensor, ...]:
        its = self.its
        seed = torch.randint(2**62, (), generator=generator, device=generator.device)
        rng = random.Random(int(seed))
        drawn = torch.full((count, its.length + 1), self.compiled.module.pad)
        drawn[:, 0] = self.compiled.assembled.input_encoder.bos_encoding
        for row in drawn:
            said = DRAWN[its.style](rng, its.tokens, its.length)
            numbers = [self._numbers[token] for token in said]
            row[1 : len(said) + 1] = torch.tensor(numbers)
        return (drawn.to(generator.device),)

    @cached_property
    def _numbers(self) -> dict[Any, int]:
        """The number of every token."""
        return {token: number for number, token in enumerate(self.compiled.tokens)}

    def assemble(self, draws: tuple[Tensor, ...]) -> Batch:
        (inputs,) = draws
        texts = [tuple(self.read(row)) for row in inputs.tolist()]
        said = [self.answers(text) for text in texts]
        length = inputs.shape[1] - 1
        by_number = self.compiled.values is not None
        targets = (
            self._numbered(said, length) if by_number else self._scaled(said, length)
        )
        return Batch(inputs, targets.to(inputs.device))

    def _scaled(self, said: list[list[Any]], length: int) -> Tensor:
        """Answers that are numbers, [sequence, query, 1, 1]; NaN at padding."""
        targets = torch.full((len(said), length, 1, 1), torch.nan)
        scale = self.compiled.module.scale
        for row, answers in zip(targets, said, strict=True):
            numbers = torch.tensor(answers, dtype=torch.float32)
            row[: len(answers), 0, 0] = numbers * scale
        return targets

    def _numbered(self, said: list[list[Any]], length: int) -> Tensor:
        """Answers of a few values by number, [sequence, query, 1]; no value at all is
        the last.
        """
        values = self.compiled.values or ()
        numbers = {value: i for i, value in enumerate((*values, None))}
        targets = torch.full((len(said), length, 1), IGNORE_INDEX)
        for row, answers in zip(targets, said, strict=True):
            told = [numbers[answer] for answer in answers]
            row[: len(answers), 0] = torch.tensor(told)
        return targets

    def read(self, row: list[int]) -> list[Any]:
        """The tokens of a sequence, without BOS and padding."""
        tokens = self.compiled.tokens
        pad = self.compiled.module.pad
        return [tokens[number] for number in row[1:] if number != pad]

    def answers(self, said: tuple[Any, ...]) -> list[Any]:
        """The program's outputs by RASP's own interpreter."""
        return self.its.program(list(said))

    def relations(self, batch: Batch) -> dict[str, Edges]:
        inputs = batch.inputs
        guesses = self._all_guesses(inputs)
        edges: dict[str, Edges] = {}
        for name in self.names:
            of_name = [guess[name] for guess in guesses]
            edges[name] = edges_of(of_name, inputs)
        own = [np.eye(len(guess["BOS"]), dtype=bool) for guess in guesses]
        own_position = edges_of(own, inputs)
        edges["own position"] = replace(own_position, use="stay")
        return edges

    def _all_guesses(self, inputs: Tensor) -> list[dict[str, Looks]]:
        """The guesses for every sequence."""
        texts = [self.read(row) for row in inputs.tolist()]
        return [self._guesses(text) for text in texts]

    @cached_property
    def names(self) -> list[str]:
        """Every relation's name, in a random order, without those that lead where
        others do.
        """
        names = sorted({*self._first.values()})
        random.Random(self.program).shuffle(names)
        return names

    @cached_property
    def _first(self) -> dict[str, str]:
        """By guess, the first that leads to the same positions in each of 256
        sequences. What leads nowhere is left out."""
        generator = torch.Generator().manual_seed(1)
        (inputs,) = self.draw(256, generator)
        guesses = self._all_guesses(inputs)
        by_looks: dict[bytes, str] = {}
        first: dict[str, str] = {}
        for name in guesses[0]:  # selectors come first, and so are those that stay
            looks = np.concatenate([guess[name].ravel() for guess in guesses])
            if looks.any():
                first[name] = by_looks.setdefault(looks.tobytes(), name)
        return first

    @cached_property
    def _selectors(self) -> dict[str, Any]:
        """The program's selectors by name, numbered where names are alike."""
        selectors: dict[str, Any] = {}
        for head in self.compiled.heads:
            if head.selector not in selectors.values():
                name = f"selector {head.selector.name}"
                key = name if name not in selectors else f"{name} {len(selectors)}"
                selectors[key] = head.selector
        return selectors

    def _guesses(self, said: list[Any]) -> dict[str, Looks]:
        """All guesses for a sequence; BOS is its first position."""
        length = len(said) + 1
        bos = np.zeros((length, length), bool)
        bos[:, 0] = True
        guesses: dict[str, Looks] = {}
        for name, selector in self._selectors.items():
            looks = _after_bos(np.array(selector(said), bool))
            guesses[name] = looks
            guesses[f"{name} and BOS"] = looks | bos
        for name, looks in dictionary(said, self.its.tokens).items():
            guesses[name] = _after_bos(looks)
        guesses["all and BOS"] = guesses["all"] | bos
        guesses["BOS"] = bos
        return guesses

    @cached_property
    def truth(self) -> frozenset[tuple[int, int, str]]:
        """The layer, head and relation of every selector that the compiler uses."""
        names = {id(selector): name for name, selector in self._selectors.items()}
        truth: set[tuple[int, int, str]] = set()
        for head in self.compiled.heads:
            name = names[id(head.selector)]
            guess = f"{name} and BOS" if head.counts else name
            truth.add((head.layer, head.head, self._first[guess]))
        return frozenset(truth)


def _after_bos(looks: Looks) -> Looks:
    """The attention of positions, with BOS put before them, which nobody looks at."""
    return np.pad(looks, ((1, 0), (1, 0)))


def dictionary(said: Sequence[Any], tokens: Sequence[Any]) -> dict[str, Looks]:
    """The guesses that are the same for all programs.

    Args:
        said: the tokens of the sequence.
        tokens: all that there are.
    """
    q, k = np.indices((len(said), len(said)))
    last = len(said) - 1
    token = np.array([tokens.index(word) for word in said])
    same = token[q] == token[k]
    looks: dict[str, Looks] = {}
    for offset in (-3, -2, -1, 1, 2):
        looks[f"offset {offset:+d}"] = k - q == offset
    looks["first"] = k == 0
    looks["last"] = k == last
    looks["mirror"] = k == last - q
    looks["earlier"] = k < q
    looks["up to here"] = k <= q
    looks["later"] = k > q
    looks["all"] = k >= 0
    looks["same token"] = same
    looks["same token, earlier"] = same & (k < q)
    looks["after same token"] = (k > 0) & (token[q] == token[k - 1])
    looks["other tokens"] = ~same
    for number, name in enumerate(tokens):
        looks[f"token {name}"] = token[k] == number
    return looks


def edges_of(looks: Sequence[Looks], inputs: Tensor) -> Edges:
    """A relation's edges in some sequences: every position is a query where it has
    keys.
    """
    length = inputs.shape[1]
    mask = torch.zeros(*inputs.shape, length, dtype=torch.bool)
    for row, its_looks in zip(mask, looks, strict=True):
        size = len(its_looks)
        row[:size, :size] = torch.from_numpy(its_looks)
    return Edges.where(mask.to(inputs.device))
