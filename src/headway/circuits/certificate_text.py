"""A circuit's agreement with its model, as plain text of at most 80 columns."""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from headway.circuits.evidence_records import Evidence, Likeness
from headway.text import aligned, wrapped

if TYPE_CHECKING:
    from headway.circuits.certificate import Certificate


def percent(part: float) -> str:
    """A share in percent: rounded down, so that only what is whole says 100 %."""
    return f"{math.floor(part * 1000 + 1e-9) / 10:.1f} %"


def said_of_likeness(evidence: Evidence) -> list[str]:
    """A table: intact, circuit, complement and ablated, each with its loss and its agreement."""
    likeness = evidence.likeness
    rows = [["", "loss", "answers", "sequences", "R²", "faithfulness"]]
    rows.append(["intact", f"{evidence.intact_loss:.4f}", *["100.0 %"] * 2, "1.000", "1.000"])
    for name in ("circuit", "complement", "ablated"):
        rows.append([name, *_row(getattr(likeness, name))])
    hops = likeness.circuit.agreement_by_hop.items()
    by_hop = ", ".join(f"{hop} {percent(part)}" for hop, part in hops)
    lines = aligned(rows, "lrrrrr", gap=2)
    lines += wrapped(
        "answers: the share that is the intact model's own; sequences: the share of which all"
        " answers are"
    )
    lines += wrapped(f"the circuit's answers hop by hop: {by_hop}")
    if likeness.handover:
        lines += wrapped(
            "with the circuit in the lower layers alone, at worst"
            f" {percent(likeness.least_handover)} of the answers agree"
        )
    return lines


def _row(one: Likeness) -> Iterator[str]:
    yield f"{one.loss:.4f}"
    yield percent(one.agreement)
    yield percent(one.sequence_agreement)
    for value in (one.r2, one.faithfulness):
        yield "-" if value is None else f"{value:.3f}"


def sentences(found: "Certificate") -> Iterator[str]:
    """What was drawn and what follows, sentence by sentence."""
    count, agreed = found.sequences, found.agreeing
    yield (
        f"{agreed:,} of {count:,} fresh sequences agree in all answers; of the model with every"
        f" head uniform, {found.ablated_agreeing:,} do"
    )
    yield (
        f"with confidence {found.confidence:.4g}, circuit and model agree on at least"
        f" {math.floor(found.bound * 1e5) / 1e5:.5f} of all sequences (exact binomial bound)"
    )
    wanted, rest = f"agreement {found.agreement:g}", count - agreed
    if found.holds:
        yield f"certified: {wanted}"
    elif found.trivial:
        yield f"NOT certified: a model without attention has {wanted}, too, so it says nothing"
    else:
        yield f"NOT certified: {wanted}; {rest:,} disagree, and at most {found.allowed or 0:,} may"


def of_certificate(found: "Certificate") -> str:
    """The certificate as text."""
    return "\n".join(line for said in sentences(found) for line in wrapped(said))
