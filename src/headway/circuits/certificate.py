"""A certificate: on how many of all sequences circuit and model agree at least, guaranteed.

Sequences are drawn independently, after the circuit was chosen. A sequence agrees if all its
answers do. So the number that agree is binomial, and its exact bound holds for a finite sample.
"""

import time
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any, ClassVar

from headway.circuits.certificate_text import of_certificate
from headway.circuits.fresh import Judge
from headway.circuits.mechanism import Circuit
from headway.circuits.subject import Judgement, Subject, judged, judgement_in
from headway.errors import HeadwayError, require
from headway.intervals import clopper_pearson_low, draws_for, failures_allowed
from headway.tasks import Task
from headway.training.run import Run

"""Where `certify` leaves a certificate in a run's folder."""

MOST = 1_000_000
"""Sequences at most."""


@dataclass(frozen=True)
class Certificate(Judgement):
    """What fresh sequences say about a circuit and its model.

    Attributes:
        agreement: the least share of all sequences on which circuit and model are to agree.
        confidence: of the bound: it is above the true share in at most 1 - `confidence` of all
            samples.
        sequences: how many were drawn.
        agreeing: in how many all answers of the circuit are the model's own, right or wrong.
        ablated_agreeing: the same of the model with every head uniform, which shows how much of
            the agreement comes about by chance.
        seconds: wall time.
    """

    FILE: ClassVar[str] = "certificate.json"

    agreement: float
    confidence: float
    sequences: int
    agreeing: int
    ablated_agreeing: int
    seconds: float

    @property
    def bound(self) -> float:
        """The least share of all sequences on which they agree, with that confidence."""
        return clopper_pearson_low(self.agreeing, self.sequences, self.confidence)

    @property
    def holds(self) -> bool:
        """Whether the bound is as large as was asked for, and not trivial (see `trivial`)."""
        return self._enough(self.agreeing) and not self.trivial

    @property
    def trivial(self) -> bool:
        """Whether the model without attention agrees as often as was asked for, too."""
        return self._enough(self.ablated_agreeing)

    def _enough(self, agreeing: int) -> bool:
        allowed = self.allowed
        return allowed is not None and self.sequences - agreeing <= allowed

    @property
    def allowed(self) -> int | None:
        """How many of these sequences may disagree; None if they are too few for any bound."""
        return failures_allowed(self.agreement, self.confidence, self.sequences)

    def __str__(self):
        return of_certificate(self)

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON data, as in `certificate.json`."""
        return {**super().to_json(), "bound": self.bound, "holds": self.holds}

    @classmethod
    def from_json(cls, data: Any) -> "Certificate":
        """What `to_json` wrote.

        Raises:
            HeadwayError: if a field is missing or not what it should be.
        """
        found = judgement_in(cls, data, cls.FILE)
        count = found.sequences
        for name, fits, allowed in (
            ("agreement", 0 < found.agreement < 1, "above 0 and below 1"),
            ("confidence", 0 < found.confidence < 1, "above 0 and below 1"),
            ("sequences", 1 <= count <= MOST, f"from 1 to {MOST:,}"),
            ("agreeing", 0 <= found.agreeing <= count, "from 0 to the number of sequences"),
            ("ablated_agreeing", 0 <= found.ablated_agreeing <= count, "likewise"),
        ):
            require(fits, f"{cls.FILE}: {name}", getattr(found, name), allowed)
        return found


def sequences_for(agreement: float, confidence: float) -> int:
    """How many sequences to draw so that the bound holds if half of the allowed share disagree.

    Raises:
        HeadwayError: if it takes more than 1,000,000, or an argument is out of range.
    """
    require_shares(agreement, confidence)
    failures, count = 0, draws_for(agreement, confidence)
    while count <= MOST and failures < count * (1 - agreement) / 2:
        failures += 1
        count = draws_for(agreement, confidence, failures)
    if count > MOST:
        raise HeadwayError(
            f"agreement = {agreement:g} with confidence {confidence:g} takes more than {MOST:,}"
            " sequences: ask for less of either"
        )
    return count


def require_sequences(agreement: float, confidence: float, sequences: int | None = None) -> int:
    """How many sequences to draw: `sequences` if given, else as many as `sequences_for` says.

    Raises:
        HeadwayError: if they are too few for the confidence, or an argument is out of range.
    """
    if sequences is None:
        return sequences_for(agreement, confidence)
    require_shares(agreement, confidence)
    least = draws_for(agreement, confidence)
    allowed = f"from {least:,} (for agreement {agreement:g} with confidence {confidence:g})"
    fits = isinstance(sequences, int) and least <= sequences <= MOST
    require(fits, "sequences", sequences, f"a whole number {allowed} to {MOST:,}")
    return sequences


def require_shares(agreement: float, confidence: float) -> None:
    """Makes sure that an agreement can be asked for with a confidence."""
    for name, value in (("agreement", agreement), ("confidence", confidence)):
        require(0 < value < 1, name, value, "above 0 and below 1")


def certify(
    model: Run | str | FilePath | Any,
    task: Task | None = None,
    circuit: Circuit | FilePath | str | None = None,
    *,
    agreement: float = 0.99,
    sequences: int | None = None,
    confidence: float = 0.95,
    ablation: str | None = None,
    step: int | None = None,
    seed: int | None = None,
) -> Certificate:
    """Draws fresh sequences, and bounds the share of all on which circuit and model agree.

    Nothing is taken on trust but the weights, the task and the circuit: both models run whole, on
    sequences of a stream that depends on the circuit, and that nothing else draws from. Of a run's
    own circuit (`circuit.json`), the certificate is left in its `certificate.json`.

    Args:
        model: a run or its folder; or a model together with its task and a circuit.
        task: the model's task, if a model is given.
        circuit: or a file that holds one; by default the run's own.
        agreement: the least share of all sequences on which they are to agree.
        sequences: how many to draw; by default as many as `sequences_for` says.
        confidence: of the bound.
        ablation: what stands in rows without a path; by default what the file of the circuit says,
            or zero.
        step: the checkpoint, if a run is given; by default the last.
        seed: of the sequences; by default the run's, or 0.

    Raises:
        HeadwayError: if an argument is out of range, there are too few sequences for any bound, the
            circuit is of another model or task, or the model has nothing to agree on.
    """
    count = require_sequences(agreement, confidence, sequences)

    def guaranteed(subject: Subject) -> Certificate:
        started = time.perf_counter()
        judge = Judge(subject.model, subject.task, subject.circuit, subject.rows, subject.seed)
        agreeing, by_chance = judge.count(count)
        return Certificate(
            *subject.about,
            agreement=agreement,
            confidence=confidence,
            sequences=count,
            agreeing=agreeing,
            ablated_agreeing=by_chance,
            seconds=round(time.perf_counter() - started, 3),
        )

    return judged(Certificate.FILE, guaranteed, model, task, circuit, ablation, step, seed)
