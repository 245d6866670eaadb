"""Ground truth: discovery scored on transformers whose circuit is known by construction."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

from headway.circuits import Circuit, Discovery, Path, WrittenPath, discover
from headway.errors import require
from headway.fields import to_json
from headway_experiments.arena.assembly import Known
from headway_experiments.arena.compiled import compiled
from headway_experiments.arena.planted import planted


@dataclass(frozen=True)
class Hits:
    """How many things were found, how many there are, and how many of those found are right."""

    found: int
    true: int
    right: int

    @property
    def precision(self) -> float:
        """right / found; 1 if nothing was found."""
        return self.right / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        """right / true; 1 if there is nothing to find."""
        return self.right / self.true if self.true else 1.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        both = self.found + self.true
        return 2 * self.right / both if both else 1.0


@dataclass(frozen=True)
class Score:
    """How well the circuit of one model was found.

    Attributes:
        name: of the model.
        paths: (layer, head, relation) found, true and right.
        heads: useful heads found, true and right.
        missing: paths that should have been found.
        extra: paths that should not.
        decoys: how many of those are decoys.
        intact_loss: the model's own loss.
        replaced_loss: with every head replaced by the mechanism found.
        candidates: candidate circuits judged.
        forwards: their cost in forward passes.
        seconds: wall time.
    """

    name: str
    paths: Hits
    heads: Hits
    missing: list[WrittenPath]
    extra: list[WrittenPath]
    decoys: int
    intact_loss: float
    replaced_loss: float
    candidates: int
    forwards: float
    seconds: float

    @property
    def exact(self) -> bool:
        """Whether the circuit is the true one."""
        return not self.missing and not self.extra

    def to_json(self) -> dict[str, Any]:
        """The score as JSON data."""
        return {**to_json(self), "exact": self.exact}


def expected(circuit: Circuit, known: Known) -> frozenset[Path]:
    """The true paths; of equivalent alternatives, the one nearest to the circuit."""
    found, true = set(circuit.paths), set(known.required)
    for options in known.alternatives:
        true |= max(options, key=lambda option: len(option & found) - len(option - found))
    return frozenset(true)


def score(name: str, found: Discovery, known: Known) -> Score:
    """Compares what was found in a model with what is in it."""
    paths, true = set(found.circuit.paths), expected(found.circuit, known)
    heads, true_heads = set(found.circuit.useful_heads), {path.at for path in true}
    return Score(
        name=name,
        paths=Hits(len(paths), len(true), len(paths & true)),
        heads=Hits(len(heads), len(true_heads), len(heads & true_heads)),
        missing=sorted(true - paths),
        extra=sorted(paths - true),
        decoys=len((paths - true) & known.decoys),
        intact_loss=found.intact_loss,
        replaced_loss=found.replaced_loss,
        candidates=found.candidates,
        forwards=found.forwards,
        seconds=found.seconds,
    )


def total(hits: Iterable[Hits]) -> Hits:
    """The sum over models."""
    hits = list(hits)
    return Hits(sum(h.found for h in hits), sum(h.true for h in hits), sum(h.right for h in hits))


def scored(seeds: Sequence[int], depths: Sequence[int] = ()) -> Iterator[Score]:
    """Discovery on compiled transformers of both constructions, then on planted circuits.

    Raises:
        HeadwayError: if there is nothing to score, or a seed or depth is out of range.
    """
    require(len(seeds) + len(depths) > 0, "planted", len(seeds), "at least 1, or depth at least 1")
    require(not seeds or seeds[0] >= 0, "first", seeds[0] if seeds else 0, "0 or more")
    both = product(("doubling", "sequential"), depths)
    compilers = {f"{how} D={depth}": partial(compiled, depth, how) for how, depth in both}
    for name, make in (compilers | {f"planted {n}": partial(planted, n) for n in seeds}).items():
        known = make()
        yield score(name, discover(known.model, known.task, trials=False), known)
