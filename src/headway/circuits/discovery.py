"""Discovery: from a trained model to its circuit, and the evidence for it.

The search (`search`) sees one held-out sample, the evidence (`certificate`) is measured on another.
To be quick the search is made on a few sequences first; what it finds there is settled on all.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

from headway.circuits.ablation import Bench
from headway.circuits.certificate import Certificate, Trial, certify
from headway.circuits.mechanism import Circuit
from headway.circuits.patterns import ABLATIONS
from headway.circuits.search import (
    CANDIDATE_ATTENTION,
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
from headway.training.files import clear_content_errors, read_json
from headway.training.run import Run

THRESHOLD = 0.05
"""The loss below which a circuit must stay with every head replaced (appendix E)."""

DRAFT = 0.125
"""The part of the sequences on which a first circuit is drafted."""

DRAFT_MARGIN = 0.9
"""A draft must stay below so much of the threshold, so that it seldom fails on all sequences."""


@dataclass(frozen=True)
class Discovery:
    """A circuit and the evidence for it. All losses are mean squared errors on held-out data.

    Attributes:
        circuit: a mechanism for every head.
        threshold: the loss that the circuit was to stay below.
        ablation: what stands in rows without a path (`patterns.ABLATIONS`).
        certificate: the evidence, on sequences that the search did not see.
        attention: mean attention along every relation, [layer][head], by relation.
        candidates: how many candidate circuits were judged, all in all.
        forwards: what that cost, in forward passes of the model over `sequences` sequences.
        seconds: wall time that search and certificate took.
    """

    circuit: Circuit
    threshold: float
    ablation: str
    certificate: Certificate
    attention: Attention
    candidates: int
    forwards: float
    seconds: float

    @property
    def intact_loss(self) -> float:
        """The loss of the model as it is."""
        return self.certificate.intact_loss

    @property
    def replaced_loss(self) -> float:
        """The loss with every head replaced."""
        return self.certificate.replaced_loss

    @property
    def faithful(self) -> bool:
        """Whether the circuit alone does what the model does, at the threshold."""
        return self.replaced_loss < self.threshold

    @property
    def necessary(self) -> bool | None:
        """Whether no single path can be dropped below the threshold; none if not faithful."""
        if not self.faithful:
            return None
        return all(n.worst >= self.threshold for n in self.certificate.necessity)

    @property
    def minimal(self) -> bool | None:
        """Whether neither one path nor two can be dropped below it; none if not faithful."""
        return self.necessary and not self.certificate.droppable

    @property
    def feasible(self) -> bool | None:
        """Whether every path is one that information can flow along; none if nobody knows."""
        infeasible = self.certificate.infeasible
        return None if infeasible is None else not infeasible

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON data, as in `circuit.json`."""
        return {
            "threshold": self.threshold,
            "ablation": self.ablation,
            "loss": {"intact": self.intact_loss, "replaced": self.replaced_loss},
            "verdicts": {
                "faithful": self.faithful,
                "necessary": self.necessary,
                "minimal": self.minimal,
                "feasible": self.feasible,
            },
            "useful_heads": len(self.circuit.useful_heads),
            "useful_layers": len(self.circuit.useful_layers),
            "heads": self.circuit.to_json(),
            "certificate": self.certificate.to_json(),
            "attention": self.attention,
            "candidates": self.candidates,
            "forwards": self.forwards,
            "seconds": self.seconds,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Discovery":
        """What `to_json` wrote.

        Raises:
            HeadwayError: if a field is missing or not what it should be.
        """
        with clear_content_errors("circuit.json"):
            certificate = Certificate.from_json(data["certificate"])
            if not data["heads"] or not certificate.intact:
                raise ValueError("no heads or no losses")
            if data["ablation"] not in ABLATIONS:
                raise ValueError(f"an unknown ablation: {data['ablation']}")
            return cls(
                circuit=Circuit.from_json(data["heads"]),
                threshold=data["threshold"],
                ablation=data["ablation"],
                certificate=certificate,
                attention=data["attention"],
                candidates=data["candidates"],
                forwards=data["forwards"],
                seconds=data["seconds"],
            )


def discover(
    run: Run | Transformer,
    task: Task | None = None,
    *,
    circuit: Circuit | None = None,
    step: int | None = None,
    threshold: float = THRESHOLD,
    sequences: int = 128,
    ablation: str = "zero",
    candidate_attention: Sequence[float] = CANDIDATE_ATTENTION,
    trials: bool = True,
    seed: int | None = None,
) -> Discovery:
    """Finds a mechanism for every head of a trained model, and certifies the circuit they make.

    Given a run, takes its last checkpoint and leaves the findings in its `circuit.json`; of
    another checkpoint, in `circuit_STEP.json`.

    Args:
        run: a run, or a model together with its task.
        task: the model's task, if a model is given.
        circuit: to be certified as it is, instead of searching for one.
        step: the checkpoint to study, if a run is given; none means the last.
        threshold: the loss that the model must stay below with every head replaced (the paper's
            0.05).
        sequences: how many held-out sequences to search on, and as many others to judge on.
        ablation: what stands in rows without a path, of heads that have paths (`ABLATIONS`).
        candidate_attention: a head may use the paths along which it sends at least this much of
            its attention on average; tried in order until a circuit stays below the threshold,
            else the one with the least loss is taken.
        trials: whether to search again on other samples and at other thresholds, to see how
            stable the circuit is.
        seed: of the held-out sequences; none means the run's, or 0.

    Raises:
        HeadwayError: if the model's own loss is not below the threshold: then it has not learnt
            the task well enough for there to be a circuit to find; or if an argument is out of
            range or does not fit the model.
    """
    require(0 < threshold < math.inf, "threshold", threshold, "a positive number")
    require(sequences >= 8, "sequences", sequences, "a whole number of at least 8")
    study = _Study(threshold, sequences, ablation, candidate_attention, trials)
    if isinstance(run, Run):
        require(task is None, "task", task, "none, as the run has its own")
        seed = run.config.seed if seed is None else seed
        with run.writing(), run.computing():
            steps = run.checkpoint_steps()
            if step is not None:
                require(
                    step in steps, "step", step, f"one of the run's checkpoints: {listed(steps)}"
                )
            found = study.of(run.model(step), run.task, seed, circuit)
            last = step is None or step == steps[-1]
            if last:
                # What was dated before may not be this circuit.
                run.remove("emergence.json")
            about = {"step": steps[-1] if step is None else step, "seed": seed}
            name = "circuit.json" if last else f"circuit_{step:07d}.json"
            run.write(name, {**about, **found.to_json()})
        return found
    require(step is None, "step", step, "none, as a model has no checkpoints")
    if task is None:
        raise HeadwayError("task = None is not allowed: a model is studied together with its task")
    return study.of(run, task, seed or 0, circuit)


def listed(steps: Sequence[int]) -> str:
    """Steps in a line, the middle left out if there are many."""
    shown = [str(step) for step in steps]
    return ", ".join(shown if len(shown) < 8 else [*shown[:3], "…", *shown[-2:]])


def saved_discovery(run: Run) -> Discovery:
    """The discovery that was left in a run's `circuit.json`.

    Raises:
        HeadwayError: if there is none.
    """
    data = run.read("circuit.json")
    if data is None:
        raise HeadwayError(
            f"{run.folder}: no circuit yet; find it with: headway circuit {run.folder}"
        )
    return Discovery.from_json(data)


def read_circuit(path: FilePath) -> Circuit:
    """The circuit in a file: a `circuit.json`, or its list of heads alone.

    Raises:
        HeadwayError: if the file cannot be read or holds no circuit.
    """
    data = read_json(path)
    heads = data.get("heads") if isinstance(data, dict) else data
    if not isinstance(heads, list):
        raise HeadwayError(f"{path}: no circuit: it must have heads, a list of mechanisms")
    return Circuit.from_json(heads)


@dataclass(frozen=True)
class _Study:
    """How to look for a circuit."""

    threshold: float
    sequences: int
    ablation: str
    candidate_attention: Sequence[float]
    trials: bool

    def of(
        self, model: Transformer, task: Task, seed: int, circuit: Circuit | None = None
    ) -> Discovery:
        """Finds a model's circuit, or takes the one given, and certifies it."""
        started = time.perf_counter()
        device = str(next(model.parameters()).device)

        def sample(purpose: str, count: int) -> Batch:
            return held_out(task, count, seed, device, purpose)

        sampled = _Sample(model, task, sample("circuit", self.sequences), self.ablation)
        sampled.require_learnt(self.threshold)
        given = circuit
        if circuit is None:
            circuit = sampled.search(self.threshold, self.candidate_attention)
        else:
            require_fits(circuit, model)
        others: list[tuple[str, _Sample, float]] = []
        if self.trials and given is None:
            own = sampled.all.loss()
            for part in (0.75, 1.5):
                at = own + (self.threshold - own) * part
                others.append(("circuit", sampled, at))
            for name in ("stability 1", "stability 2"):
                batch = sample(name, max(8, self.sequences // 2))
                others.append((name, _Sample(model, task, batch, self.ablation), self.threshold))
        trials = []
        for name, where, at in others:
            paths = where.search(at, self.candidate_attention).paths
            trials.append(Trial(name, at, paths, jaccard(paths, circuit.paths)))
        bench = Bench(model, task, sample("certificate", self.sequences), self.ablation)
        certificate = certify(bench, circuit, sampled.attention, self.threshold, trials)
        benches = {id(b): b for _, s, _ in others for b in (s.few, s.all)}
        benches |= {id(b): b for b in (sampled.few, sampled.all, bench)}
        return Discovery(
            circuit=circuit,
            threshold=self.threshold,
            ablation=self.ablation,
            certificate=certificate,
            attention=sampled.attention,
            candidates=sum(b.candidates for b in benches.values()),
            forwards=sum(b.forwards * b.sequences for b in benches.values()) / self.sequences,
            seconds=round(time.perf_counter() - started, 3),
        )


class _Sample:
    """Sequences to search on, all of them and the first few."""

    def __init__(self, model: Transformer, task: Task, batch: Batch, rows: str):
        count = max(1, math.ceil(DRAFT * len(batch.inputs)))
        first = Batch(batch.inputs[:count], batch.targets[:count], batch.roles[:count])
        self.all, self.few = Bench(model, task, batch, rows), Bench(model, task, first, rows)
        self.attention = relation_attention(model, task, batch)
        self.paths = visible_paths(self.all.patterns, task)

    def require_learnt(self, threshold: float) -> None:
        """Raises unless the model itself is below the threshold."""
        partial = self.all.partial()
        if not partial.mean() < threshold:
            names = self.all.task.hop_names
            hops = ", ".join(f"{h} {x:.3f}" for h, x in zip(names, partial.tolist(), strict=True))
            raise HeadwayError(
                f"there is no circuit to find at threshold {threshold:g}: the model's own loss is"
                f" {partial.mean():.3f} ({hops})"
            )

    def search(self, threshold: float, candidate_attention: Sequence[float]) -> Circuit:
        """A circuit: drafted on a few sequences, settled on all of them.

        If the draft fails on all of them, the search is made on all of them.
        """
        how = (self.attention, self.paths)
        few = max(DRAFT_MARGIN * threshold, (self.few.loss() + threshold) / 2)
        stays = self.all.task.stay_names
        draft = search(self.few, *how, few, candidate_attention, pairs=False, stays=stays)
        if self.all.losses([draft], threshold)[0] < math.inf:
            return simplify(self.all, draft, threshold)
        return search(self.all, *how, threshold, candidate_attention, stays=stays)


def require_fits(circuit: Circuit, model: Transformer) -> None:
    """Checks that a circuit has a mechanism for every head of a model and no others.

    Raises:
        HeadwayError: if not.
    """
    config = model.config
    heads = {(layer, h) for layer in range(config.n_layers) for h in range(config.n_heads)}
    odd = sorted(set(circuit.mechanisms) ^ heads)
    require(
        not odd,
        "circuit: (layer, head)",
        odd[0] if odd else None,
        f"given just once for every head of the model, which has {config.n_layers} layers of"
        f" {config.n_heads}",
    )


def jaccard(first: Sequence[Any], second: Sequence[Any]) -> float:
    """What two collections have in common: the size of their intersection over their union's."""
    both = set(first) | set(second)
    return len(set(first) & set(second)) / len(both) if both else 1.0
