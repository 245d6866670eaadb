"""Fresh sequences on which a circuit and its model are compared for a certificate."""

import hashlib
import json
from collections.abc import Iterator

import torch
from torch import Tensor

from headway.circuits.ablation import Bench
from headway.circuits.given import device_of
from headway.circuits.likeness import Spread, ablated, agreeing
from headway.circuits.mechanism import Circuit
from headway.circuits.study import require_fits
from headway.errors import HeadwayError
from headway.models import Tappable
from headway.tasks import Task
from headway.training.data import held_out

CHUNK = 512
"""Sequences that are drawn and judged at once."""

MEAN_OVER = 128
"""Sequences over which heads' patterns are averaged, where a circuit uses mean patterns."""

LOOKED_AT = 32
"""Sequences on which it is checked that a model's outputs vary at all."""


class Judge:
    """A circuit and its model, on as many fresh sequences as one likes.

    Args:
        model: with a tap.
        task: what it was trained on.
        circuit: a mechanism for every head.
        rows: what stands in rows without a path (`patterns.ABLATIONS`).
        seed: of the sequences.

    Raises:
        HeadwayError: if the circuit does not fit the model.
    """

    def __init__(self, model: Tappable, task: Task, circuit: Circuit, rows: str, seed: int):
        require_fits(circuit, model)
        self.model, self.task, self.circuit, self.rows, self.seed = model, task, circuit, rows, seed
        self.stream = stream_of("certificate", circuit, rows)
        self.means: Tensor | None = None

    def bench(self, count: int, purpose: str) -> Bench:
        """The first sequences of a stream, and the model as a whole forward pass computes it."""
        batch = held_out(self.task, CHUNK, self.seed, device_of(self.model), purpose)
        part = batch.part(slice(count))
        return Bench(self.model, self.task, part, self.rows, shared=False)

    def agreements(self, count: int) -> Iterator[tuple[Tensor, Tensor]]:
        """In which sequences the circuit agrees with the model, and in which the ablated model
        does, [sequence]; a few sequences at a time, and so many in all.

        Raises:
            HeadwayError: if the model has nothing to agree on.
        """
        require_choice(self.bench(LOOKED_AT, f"{self.stream}, choice"))
        if self.rows == "mean":  # of a sample of its own, so that sequences stay independent
            self.means = self.bench(MEAN_OVER, f"{self.stream}, mean").patterns.means
        for start in range(0, count, CHUNK):
            bench = self.bench(min(CHUNK, count - start), f"{self.stream}, {start // CHUNK}")
            if self.means is not None:
                bench.patterns.means = self.means
            if self.rows == "resample":
                others = self.bench(bench.sequences, f"{self.stream}, others {start // CHUNK}")
                bench.patterns.own = others.patterns.own
            pairs = [self._pair(bench, part) for part in bench.parts]
            yield torch.cat([own for own, _ in pairs]), torch.cat([by for _, by in pairs])

    def count(self, sequences: int) -> tuple[int, int]:
        """In how many of the first `sequences` the circuit, and the ablated model, agrees."""
        pairs = list(self.agreements(sequences))
        own, by_chance = (torch.cat(all_of) for all_of in zip(*pairs, strict=True))
        return int(own.sum()), int(by_chance.sum())

    def _pair(self, bench: Bench, part: slice) -> tuple[Tensor, Tensor]:
        intact, *both = bench.outputs([{}, self.circuit, ablated(bench)], part)
        own, by = (agreeing(bench, said, intact, part).cpu() for said in both)
        return own, by


def stream_of(purpose: str, circuit: Circuit, rows: str) -> str:
    """The name of a stream of sequences that only this purpose and this circuit draw from."""
    said = json.dumps([circuit.to_json(), rows]).encode()
    return f"{purpose} of {hashlib.blake2b(said, digest_size=8).hexdigest()}"


def require_choice(bench: Bench) -> None:
    """Makes sure that a model could have answered otherwise, and that its outputs vary.

    Raises:
        HeadwayError: if not, as everything would agree with it.
    """
    if bench.task.targets.choices(bench.batch.targets) < 2:
        raise HeadwayError(
            f"task = {bench.task.kind!r}: a sequence has one query, so there is one answer to"
            " choose from, and everything agrees: agreement says nothing here"
        )
    spread = Spread(bench)
    for part in bench.parts:
        spread.add(bench.outputs([{}], part)[0], part)
    if spread.total is None:
        raise HeadwayError(
            "model: its outputs are the same for all sequences, so any circuit that is constant"
            " agrees with it: there is nothing to certify"
        )
