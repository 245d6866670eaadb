"""A certificate: a bound for all sequences on agreement of circuit and model.

Sequences are drawn independently, after the circuit was chosen. A sequence agrees if
all its answers do. So the number that agree is binomial, and its exact bound holds for
a finite sample.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import torch
from annotated_types import Ge, Gt, Le, Lt
from jaxtyping import Bool
from torch import Tensor

from headway.errors import HeadwayError, require
from headway.fields import Finding, require_allowed
from headway.intervals import clopper_pearson_low, draws_for
from headway.judge.discovery import Discovery, given_or_own
from headway.judge.yardstick import Outputs, agreeing, r2
from headway.replace.ablation import Bench
from headway.replace.circuit import Circuit, WrittenCircuit
from headway.replace.mechanism import Uniform, require_fill
from headway.replace.subject import MOST, require_fits, studied
from headway.settings import computes_as_usual
from headway.tasks import Task
from headway.text import wrapped
from headway.training.run import Run

Share = Annotated[float, Gt(0), Lt(1)]


@dataclass(frozen=True)
class Certificate(Finding):
    """Fresh sequences' word on a circuit and its model.

    Attributes:
        circuit: a mechanism for every head.
        ablation: what stands in rows without a path (`mechanism.ABLATIONS`).
        step: of the checkpoint; None if a model was given.
        seed: of the sequences.
        agreement: the least share of all sequences on which circuit and model are to
            agree.
        confidence: of the bound: it is above the true share in at most 1 - `confidence`
            of all samples.
        sequences: how many were drawn.
        agreeing: in how many all answers of the circuit are the model's own, right or
            wrong.
        ablated_agreeing: the same of the model with every head uniform, which shows how
            much of the agreement comes about by chance.
    """

    FILE: ClassVar[str] = "certificate.json"

    circuit: WrittenCircuit
    ablation: str
    step: int | None
    seed: int
    agreement: Share
    confidence: Share
    sequences: Annotated[int, Ge(1), Le(MOST)]
    agreeing: int
    ablated_agreeing: int

    def is_of(self, discovery: Discovery) -> bool:
        """True if it is about the circuit that was discovered."""
        return (self.circuit, self.ablation) == (discovery.circuit, discovery.ablation)

    @property
    def bound(self) -> float:
        """The least share of all sequences on which they agree, at that confidence."""
        return clopper_pearson_low(self.agreeing, self.sequences, self.confidence)

    @property
    def holds(self) -> bool:
        """True if the bound is as large as asked for, and not trivial (`trivial`)."""
        return self.bound >= self.agreement and not self.trivial

    @property
    def trivial(self) -> bool:
        """True if the model without attention agrees as often as was asked for, too."""
        low = clopper_pearson_low(
            self.ablated_agreeing, self.sequences, self.confidence
        )
        return low >= self.agreement

    def __str__(self):
        number = f"{self.sequences:,} fresh sequences"
        ablated = f"of the model with every head uniform, {self.ablated_agreeing:,} do"
        lines = wrapped(
            f"{self.agreeing:,} of {number} agree in all answers; {ablated}"
        )
        # Rounded down, so that no more is said than holds.
        least = f"at least {math.floor(self.bound * 1e5) / 1e5:.5f} of all sequences"
        agree = f"circuit and model agree on {least} (exact binomial bound)"
        lines += wrapped(f"with confidence {self.confidence:.4g}, {agree}")
        certified = f"certified: agreement {self.agreement:g}"
        if not self.holds:
            certified = f"NOT {certified}"
        if self.trivial:
            certified += "; a model without attention agrees as often"
        lines += wrapped(certified)
        return "\n".join(lines)

    def __post_init__(self):
        require_fill(self.ablation, "ablation")
        for name in ("agreeing", "ablated_agreeing"):
            count = getattr(self, name)
            fits = 0 <= count <= self.sequences
            require(fits, name, count, "from 0 to the number of sequences")


def agreements(
    circuit: Circuit, benches: Iterable[Bench]
) -> Iterator[Bool[Tensor, "two sequence"]]:
    """The sequences that circuit and ablated model answer as the model does.

    Raises:
        HeadwayError: if the model could not have answered otherwise, or its outputs do
            not vary, as then everything would agree with it.
    """
    for i, bench in enumerate(benches):
        uniform = dict.fromkeys(bench.heads, Uniform())
        intact, *altered = bench.outputs([{}, circuit, uniform])
        if i == 0:
            _require_choice(bench, intact)
        alike = [agreeing(bench, outputs, intact).cpu() for outputs in altered]
        yield torch.stack(alike)


def _require_choice(bench: Bench, intact: Outputs) -> None:
    """Makes sure that a model could have answered otherwise, and its outputs vary."""
    if bench.task.targets.choices(bench.batch.targets) < 2:
        raise HeadwayError(
            f"task = {bench.task.kind!r}: a sequence has one query,"
            " so there is one answer to choose from, and everything agrees:"
            " agreement says nothing here"
        )
    if r2(bench, intact, intact) is None:
        raise HeadwayError(
            "model: its outputs are the same for all sequences,"
            " so any circuit that is constant agrees with it:"
            " there is nothing to certify"
        )


def require_sequences(
    agreement: float, confidence: float, sequences: int | None = None
) -> int:
    """The number of sequences to draw; by default half the allowed share may fail.

    Raises:
        HeadwayError: if they are too few for the confidence or more than 1,000,000, or
            an argument is out of range.
    """
    require_allowed("agreement", agreement, Share)
    require_allowed("confidence", confidence, Share)
    about = f"agreement {agreement:g} with confidence {confidence:g}"
    count = draws_for(agreement, confidence)
    if sequences is not None:
        allowed = f"a whole number from {count:,} (for {about}) to {MOST:,}"
        fits = isinstance(sequences, int) and count <= sequences <= MOST
        require(fits, "sequences", sequences, allowed)
        return sequences
    failures = 0
    while count <= MOST and failures < count * (1 - agreement) / 2:
        failures += 1
        count = draws_for(agreement, confidence, failures)
    if count > MOST:
        raise HeadwayError(
            f"{about} takes more than {MOST:,} sequences: ask for less of either"
        )
    return count


@computes_as_usual
def certify(
    model: Run | str | Path | Any,
    task: Task | None = None,
    circuit: Circuit | Discovery | Path | str | None = None,
    *,
    agreement: float = 0.99,
    sequences: int | None = None,
    confidence: float = 0.95,
    ablation: str | None = None,
    step: int | None = None,
    seed: int | None = None,
) -> Certificate:
    """Bounds the share of all sequences on which circuit and model agree.

    Nothing is taken on trust but the weights, the task and the circuit: both models run
    whole, on sequences of a stream that depends on the circuit, and that nothing else
    draws from. Of a run's own circuit (`circuit.json`), the certificate is left in its
    `certificate.json`.

    Args:
        model: a run or its folder; or a model together with its task and a circuit.
        task: the model's task, if a model is given.
        circuit: or what `discover` returned, or a file that holds it; by default the
            run's own.
        agreement: the least share of all sequences on which they are to agree.
        sequences: how many to draw, at least as many as certify if all agree: 299 for
            an agreement of 0.99 with a confidence of 0.95; by default so many that the
            bound holds if half of the allowed share disagree.
        confidence: of the bound.
        ablation: what stands in rows without a path; by default as in the search for
            the circuit, or zero.
        step: the checkpoint, if a run is given; by default the last.
        seed: of the sequences; by default the run's, or 0.

    Raises:
        HeadwayError: if an argument is out of range, there are too few sequences for
            any bound, the circuit is of another model or task, or the model has nothing
            to agree on.
    """
    count = require_sequences(agreement, confidence, sequences)
    with studied(model, task, step, seed, writes=circuit is None) as subject:
        if circuit is None:
            allowed = "None for the run's own circuit, which is of the last step"
            require(step is None, "step", step, allowed)
        its, known = given_or_own(circuit, subject.run)
        rows = ablation or known or "zero"
        require_fits(its, subject.model)
        benches = subject.fresh(its, rows, "certificate", count)
        circuits, ablated = torch.cat([*agreements(its, benches)], 1).sum(1).tolist()
        certificate = Certificate(
            its,
            rows,
            subject.step,
            subject.seed,
            agreement=agreement,
            confidence=confidence,
            sequences=count,
            agreeing=circuits,
            ablated_agreeing=ablated,
        )
        if subject.run and circuit is None and rows == known:
            subject.run.save(certificate)
    return certificate
