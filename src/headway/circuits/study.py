"""A study: the search on one sample, the same search elsewhere, and the evidence on another."""

import math
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace

import torch

from headway.circuits.ablation import Bench
from headway.circuits.certificate import Certificate, Trial
from headway.circuits.comparison import jaccard
from headway.circuits.evidence import certify, necessity
from headway.circuits.mechanism import Circuit, KnockOut
from headway.circuits.search import (
    Attention,
    relation_attention,
    search,
    simplify,
    visible_paths,
)
from headway.errors import HeadwayError, require
from headway.models import Transformer
from headway.tasks import Batch, Task
from headway.training.data import held_out

DRAFT = 16
"""Sequences on which a first circuit is drafted."""

DRAFT_MARGIN = 0.9
"""A draft must stay below so much of the threshold, so that it seldom fails on all sequences."""

OTHER_THRESHOLDS = (0.75, 1.5)
"""Where else to search, in parts of the way from the model's own loss to the threshold."""


OTHER_SAMPLES = ("stability 1", "stability 2")
"""Names of samples to search on again, each half as large. (Other thresholds are tried on half of
the first sample.)"""

MARGIN = 0.97
"""A settled draft must stay below so much of the threshold on the sequences it was searched on, so
that it stays below the threshold on others."""


@contextmanager
def _pool(workers: int, benches: Sequence[Bench]) -> Iterator[ThreadPoolExecutor]:
    """Threads of one core each; if anything goes wrong, all that they do is given up at once."""
    with ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(1,)) as pool:
        try:
            yield pool
        except BaseException:
            for bench in benches:
                bench.given_up = True
            pool.shutdown(wait=False, cancel_futures=True)
            raise


@dataclass(frozen=True)
class Studied:
    """What a study found; see `Discovery` for the fields."""

    circuit: Circuit
    certificate: Certificate
    attention: Attention
    candidates: int
    forwards: float


@dataclass(frozen=True)
class Study:
    """How to study a model (see `discover` for the fields).

    Searches and measurements run side by side in `workers` threads, each of which computes on one
    core; none means as many as the machine has cores.
    """

    threshold: float
    sequences: int
    ablation: str
    candidate_attention: Sequence[float]
    trials: bool
    workers: int | None

    def of(
        self, model: Transformer, task: Task, seed: int, circuit: Circuit | None = None
    ) -> "Studied":
        """Finds a model's circuit, or takes the one given, and certifies it."""
        device = next(model.parameters()).device

        def sample(name: str, part: float = 1.0) -> Sample:
            batch = held_out(task, math.ceil(part * self.sequences), seed, str(device), name)
            return Sample(model, task, batch, self.ablation, self.candidate_attention)

        here = sample("circuit")
        own = here.require_learnt(self.threshold)
        again = self.trials and circuit is None
        half = here.part(math.ceil(0.5 * self.sequences)) if again else here
        others = {name: sample(name, 0.5) for name in OTHER_SAMPLES} if again else {}
        at = [own + (self.threshold - own) * part for part in OTHER_THRESHOLDS] if again else []
        batch = held_out(task, self.sequences, seed, str(device), "certificate")
        bench, cutting = (Bench(model, task, batch, self.ablation) for _ in range(2))
        if circuit is not None:
            require_fits(circuit, model)
            bench.loss(circuit)  # a path that there is not is refused here

        workers = (os.cpu_count() or 1) if self.workers is None else self.workers
        workers = workers if device.type == "cpu" else 1
        samples = dict.fromkeys((here, half, *others.values()))
        searched = [b for s in samples for b in (s.few, s.all)]
        benches = list(dict.fromkeys([bench, cutting, *searched]))
        with _pool(workers, benches) as pool:
            found = pool.submit(lambda: circuit or here.search(self.threshold))
            elsewhere = [pool.submit(other.search, self.threshold) for other in others.values()]
            chosen = found.result()
            cut = pool.submit(necessity, cutting, chosen, here.attention)
            about = (chosen, here.attention, self.threshold)
            evidence = pool.submit(certify, bench, *about, without_necessity=True)
            otherwise = pool.submit(lambda: [half.search(threshold) for threshold in at])
            trials = [
                Trial("circuit", threshold, trial.paths, jaccard(trial.paths, chosen.paths))
                for threshold, trial in zip(at, otherwise.result(), strict=True)
            ]
            for name, search_there in zip(others, elsewhere, strict=True):
                paths = search_there.result().paths
                trials.append(Trial(name, self.threshold, paths, jaccard(paths, chosen.paths)))
            certificate = replace(evidence.result(), necessity=cut.result(), trials=trials)
        return Studied(
            chosen,
            certificate,
            here.attention,
            candidates=sum(b.candidates for b in benches),
            forwards=sum(b.forwards * b.sequences for b in benches) / self.sequences,
        )


class Sample:
    """Sequences to search on, all of them and the first few."""

    def __init__(
        self,
        model: Transformer,
        task: Task,
        batch: Batch,
        rows: str,
        candidate_attention: Sequence[float],
    ):
        first = batch.part(slice(DRAFT))
        self.all, self.few = Bench(model, task, batch, rows), Bench(model, task, first, rows)
        self.attention = relation_attention(model, task, batch)
        self.paths = visible_paths(self.all.patterns, task)
        self.candidate_attention = candidate_attention

    def part(self, count: int) -> "Sample":
        """The first `count` sequences as a sample of their own."""
        bench, batch = self.all, self.all.batch
        first = batch.part(slice(count))
        rows = bench.patterns.rows
        return Sample(bench.model, bench.task, first, rows, self.candidate_attention)

    def require_learnt(self, threshold: float) -> float:
        """The model's own loss; raises unless it is below the threshold."""
        partial = self.all.partial()
        if not partial.mean() < threshold:
            names = self.all.hops
            hops = ", ".join(f"{h} {x:.3f}" for h, x in zip(names, partial.tolist(), strict=True))
            raise HeadwayError(
                f"there is no circuit to find at threshold {threshold:g}: the model's own loss is"
                f" {partial.mean():.3f} ({hops})"
            )
        return partial.mean().item()

    def search(self, threshold: float) -> Circuit:
        """A circuit: drafted on a few sequences, settled on all of them.

        If the draft fails on all of them, the search is made on all of them. If that fails too,
        heads may keep some of what stands at a position beside what they bring there: paths from
        roles to themselves.
        """
        limit = max(MARGIN * threshold, (self.all.loss() + threshold) / 2)
        few = max(DRAFT_MARGIN * threshold, (self.few.loss() + threshold) / 2)
        tried: list[tuple[float, int, Circuit]] = []
        for paths in (self.paths, [*self.paths, *self.all.task.stay_names]):
            how = (self.attention, paths)
            draft = search(self.few, *how, few, self.candidate_attention, pairs=False)
            if self.all.losses([draft], limit)[0] < math.inf:
                return simplify(self.all, draft, limit)
            circuit = search(self.all, *how, threshold, self.candidate_attention)
            tried.append((self.all.loss(circuit), len(tried), circuit))
            if tried[-1][0] < threshold:
                break
        return min(tried)[2]


def require_fits(circuit: Circuit, model: Transformer) -> None:
    """Checks that a circuit has a mechanism for every head of a model and no others.

    Raises:
        HeadwayError: if not.
    """
    config = model.config
    heads = {(layer, h) for layer in range(config.n_layers) for h in range(config.n_heads)}
    for head, mechanism in circuit.mechanisms.items():
        stands = not isinstance(mechanism, KnockOut)
        require(stands, f"circuit: {head}", str(mechanism), "uniform, identity or paths")
    odd = sorted(set(circuit.mechanisms) ^ heads)
    require(
        not odd,
        "circuit: (layer, head)",
        odd[0] if odd else None,
        f"given just once for every head of the model, which has {config.n_layers} layers of"
        f" {config.n_heads}",
    )
