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


def fresh(
    model: Tappable, task: Task, circuit: Circuit, rows: str, seed: int, purpose: str, count: int
) -> Iterator[Bench]:
    """Sequences that only this purpose and this circuit draw, a bench for every few of them.

    The benches compute by whole forward passes.

    Args:
        model: with a tap.
        task: what it was trained on.
        circuit: a mechanism for every head.
        rows: what stands in rows without a path (`patterns.ABLATIONS`).
        seed: of the sequences.
        purpose: a word for what they are drawn for.
        count: how many sequences in all.
    """
    about = json.dumps([circuit.to_json(), rows]).encode()
    stream = f"{purpose} of {hashlib.blake2b(about, digest_size=8).hexdigest()}"

    def drawn(size: int, part: str) -> Bench:
        batch = held_out(task, CHUNK, seed, device_of(model), f"{stream}, {part}")
        return Bench(model, task, batch.part(slice(size)), rows, shared=False)

    # Means are of a sample of its own, so that sequences stay independent.
    means = drawn(MEAN_OVER, "mean").patterns.means if rows == "mean" else None
    for start in range(0, count, CHUNK):
        bench = drawn(min(CHUNK, count - start), f"{start // CHUNK}")
        if means is not None:
            bench.patterns.means = means
        if rows == "resample":
            others = drawn(bench.sequences, f"others {start // CHUNK}")
            bench.patterns.own = others.patterns.own
        yield bench


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
