"""A RASP program as a task: its sequences, its answers, and the relations to choose from."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import torch
from torch import Tensor

from headway.tasks import IGNORE_INDEX, Batch, Edges, Targets, Task, Tokens, Vectors
from headway_experiments.arena.tracr_model import Compiled
from headway_experiments.arena.tracr_programs import DRAWN, Program, compiled_program, programs

Rows = list[list[int]]
"""For every position of a sequence, BOS first, the positions that it attends to."""


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
        own = [[[place] for place in range(len(one["BOS"]))] for one in guesses]
        return {
            **{name: edges_of([one[name] for one in guesses], batch.inputs) for name in self.names},
            "own position": edges_of(own, batch.inputs, "stay"),
        }

    @cached_property
    def names(self) -> list[str]:
        """Every relation's name, in a random order, without those that lead where others do."""
        kept: dict[str, str] = {}
        for name, leads in self._leads.items():  # selectors come first, and so are those that stay
            if any(any(rows) for rows in leads):
                kept.setdefault(str(leads), name)
        names = sorted(kept.values())
        random.Random(self.program).shuffle(names)
        return names

    @cached_property
    def _leads(self) -> dict[str, list[Rows]]:
        """The positions that every guess leads to, in each of 256 sequences."""
        (inputs,) = self.draw(256, torch.Generator().manual_seed(1))
        guesses = [self._guesses(self.read(row)) for row in inputs.tolist()]
        return {name: [one[name] for one in guesses] for name in guesses[0]}

    @cached_property
    def _selectors(self) -> dict[str, Any]:
        """The program's selectors by name, numbered where names are alike."""
        found: dict[str, Any] = {}
        for head in self.compiled.heads:
            if head.selector not in found.values():
                name = f"selector {head.selector.name}"
                found[name if name not in found else f"{name} {len(found)}"] = head.selector
        return found

    def _guesses(self, said: list[Any]) -> dict[str, Rows]:
        found: dict[str, Rows] = {}
        for name, selector in self._selectors.items():
            rows = [[k + 1 for k, on in enumerate(row) if on] for row in selector(said)]
            found[name] = [[], *rows]
            found[f"{name} and BOS"] = [[0], *([0, *row] for row in rows)]
        n = len(said)
        for name, keys in dictionary(said, self.its.tokens):
            found[name] = [[], *(sorted(keys(q)) for q in range(1, n + 1))]
        found["all and BOS"] = [[0], *[[*range(n + 1)]] * n]
        found["BOS"] = [[0]] * (n + 1)
        return found

    @cached_property
    def truth(self) -> frozenset[tuple[int, int, str]]:
        """The layer, head and relation of every selector that the compiler uses."""
        kept = {str(self._leads[name]): name for name in self.names}
        found: set[tuple[int, int, str]] = set()
        for head in self.compiled.heads:
            (name,) = (n for n, s in self._selectors.items() if s is head.selector)
            name = f"{name} and BOS" if head.counts else name
            found.add((head.layer, head.head, kept[str(self._leads[name])]))
        return frozenset(found)


def dictionary(said: list[Any], tokens: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """The guesses that are the same for all programs; positions from 1.

    Args:
        said: the tokens of the sequence.
        tokens: all that there are.
    """
    n, places = len(said), range(1, len(said) + 1)

    def token(place: int) -> Any:
        return said[place - 1]

    def those(holds: Any) -> Any:
        return lambda q: {k for k in places if holds(q, k)}

    for offset in (-3, -2, -1, 1, 2):
        yield f"offset {offset:+d}", those(lambda q, k, offset=offset: k - q == offset)
    yield "first", those(lambda q, k: k == 1)
    yield "last", those(lambda q, k: k == n)
    yield "mirror", those(lambda q, k: k == n + 1 - q)
    yield "earlier", those(lambda q, k: k < q)
    yield "up to here", those(lambda q, k: k <= q)
    yield "later", those(lambda q, k: k > q)
    yield "all", those(lambda q, k: True)
    yield "same token", those(lambda q, k: token(k) == token(q))
    yield "same token, earlier", those(lambda q, k: token(k) == token(q) and k < q)
    yield "after same token", those(lambda q, k: k > 1 and token(k - 1) == token(q))
    yield "other tokens", those(lambda q, k: token(k) != token(q))
    for one in tokens:
        yield f"token {one}", those(lambda q, k, one=one: token(k) == one)


def edges_of(rows: list[Rows], inputs: Tensor, use: Literal["path", "stay"] = "path") -> Edges:
    """A relation's edges: every position is a query where it has keys."""
    mask = torch.zeros(*inputs.shape, inputs.shape[1], dtype=torch.bool)
    for i, one in enumerate(rows):
        for q, attended in enumerate(one):
            mask[i, q, attended] = True
    return Edges.where(mask.to(inputs.device), use)
