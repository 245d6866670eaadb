"""Fresh sequences that nothing else draws: as many as one likes, for intervals and certificates."""

import hashlib
import json
from collections.abc import Iterator

import torch
from jaxtyping import Float
from torch import Tensor

from headway.circuits.ablation import Bench
from headway.circuits.mechanism import Circuit
from headway.circuits.subject import device_of
from headway.models import Tappable
from headway.tasks import Task
from headway.training.data import held_out

CHUNK = 512
"""Sequences that are drawn and judged at once."""

MEAN_OVER = 128
"""Sequences over which heads' patterns are averaged, where a circuit uses mean patterns."""

RESAMPLES = 1_000
INTERVAL = 0.95


class Fresh:
    """A model and its circuit on the sequences of a stream of their own.

    Args:
        model: with a tap.
        task: what it was trained on.
        circuit: a mechanism for every head.
        rows: what stands in rows without a path (`patterns.ABLATIONS`).
        seed: of the sequences.
        purpose: of the stream.
    """

    def __init__(
        self, model: Tappable, task: Task, circuit: Circuit, rows: str, seed: int, purpose: str
    ):
        self.model, self.task, self.circuit, self.rows, self.seed = model, task, circuit, rows, seed
        self.stream = stream_of(purpose, circuit, rows)

    def bench(self, count: int, part: str) -> Bench:
        """The first sequences of a part of the stream, computed by whole forward passes."""
        name = f"{self.stream}, {part}"
        batch = held_out(self.task, CHUNK, self.seed, device_of(self.model), name)
        return Bench(self.model, self.task, batch.part(slice(count)), self.rows, shared=False)

    def benches(self, count: int) -> Iterator[Bench]:
        """So many sequences, a bench for every few of them."""
        means: Tensor | None = None
        if self.rows == "mean":  # of a sample of its own, so that sequences stay independent
            means = self.bench(MEAN_OVER, "mean").patterns.means
        for start in range(0, count, CHUNK):
            bench = self.bench(min(CHUNK, count - start), f"{start // CHUNK}")
            if means is not None:
                bench.patterns.means = means
            if self.rows == "resample":
                others = self.bench(bench.sequences, f"others {start // CHUNK}")
                bench.patterns.own = others.patterns.own
            yield bench

    def intervals(self, count: int) -> list[tuple[float, float]]:
        """Intervals of the model's own loss and of the circuit's, from so many sequences."""
        pair = [{}, self.circuit]
        errors = [bench.errors(pair).mean(2).cpu() for bench in self.benches(count)]
        return [bootstrap_t(losses) for losses in torch.cat(errors, 1)]


def stream_of(purpose: str, circuit: Circuit, rows: str) -> str:
    """The name of a stream of sequences that only this purpose and this circuit draw from."""
    about = json.dumps([circuit.to_json(), rows]).encode()
    return f"{purpose} of {hashlib.blake2b(about, digest_size=8).hexdigest()}"


def bootstrap_t(losses: Float[Tensor, " sequence"]) -> tuple[float, float]:
    """The 95 % interval of the mean over sequences (Efron 1981); the same draws every time.

    Resampled means are told in their own standard errors, so that the interval reaches farther on
    the side of a long tail, where a few sequences carry much of the loss.
    """
    generator, count = torch.Generator().manual_seed(0), len(losses)
    drawn = losses[torch.randint(count, (RESAMPLES, count), generator=generator)]
    mean, error = losses.mean(), losses.std() / count**0.5
    errors = (drawn.std(1) / count**0.5).clamp(min=1e-12)
    tail = (1 - INTERVAL) / 2
    low, high = ((drawn.mean(1) - mean) / errors).quantile(losses.new_tensor([tail, 1 - tail]))
    return (mean - high * error).clamp(min=0).item(), (mean - low * error).item()
