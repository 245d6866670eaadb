"""A part of the evidence: how like the model the circuit is, and what is guaranteed."""

from headway.circuits import Certificate, Guarantee, Likeness
from headway.circuits.guarantee_text import percent, sentences
from headway.report.page.html import escape, named, number, table, whole


def likeness(found: Certificate, guarantee: Guarantee | None) -> str:
    """The model as it is, circuit, complement and ablated model side by side; the certificate."""
    return _table(found) + _certificate(guarantee)


def _table(found: Certificate) -> str:
    like = found.likeness
    rows = [("model as it is", number(found.intact_loss), *map(_share, (1.0, 1.0)), "1", "1")]
    rows += [
        (f"<b>{name}</b>" if name == "circuit" else name, *_row(one))
        for name, one in (
            ("circuit", like.circuit),
            ("complement", like.complement),
            ("ablated", like.ablated),
        )
    ]
    head = ("what answers", "loss", "answers alike", "sequences alike", "R²", "faithfulness")
    by_hop = ", ".join(
        f"{named(hop)} {_share(part)}" for hop, part in like.circuit.agreement_by_hop.items()
    )
    under = (
        "<b>complement</b>: attention along each of the circuit's paths is zero, all else is as it"
        " is. <b>ablated</b>: every head uniform. <b>answers alike</b>: the share that is the"
        " model's own, right or wrong. <b>sequences alike</b>: the share of which all answers are."
        " <b>R²</b>: of the outputs, against those of the model as it is. <b>faithfulness</b>: how"
        " much of the way from the ablated model's loss to the model's own. Over"
        f" {whole(found.sequences)} sequences. The circuit's answers hop by hop: {by_hop}."
    )
    if like.handover:
        under += (
            " With the circuit in the lower layers alone, and the model as it is above,"
            f" {_share(like.least_handover)} of the answers are alike at worst."
        )
    label = "circuit, complement and ablated model against the model as it is"
    return table(head, rows, label) + f'<p class="under">{under}</p>'


def _row(one: Likeness) -> tuple[str, ...]:
    shares = map(_share, (one.agreement, one.sequence_agreement))
    return number(one.loss), *shares, number(one.r2), number(one.faithfulness)


def _share(part: float) -> str:
    return f'<data value="{part!r}">{percent(part)}</data>'


def _certificate(found: Guarantee | None) -> str:
    if found is None:
        return ""
    mark = "✓" if found.holds else "✗"
    said = ". ".join(part[:1].upper() + part[1:] for part in sentences(found))
    return f"<p><b>{mark} Certificate.</b> {escape(said)}.</p>"
