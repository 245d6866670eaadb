"""A part of the evidence: which MLPs the circuit needs."""

from headway.circuits import MLPs
from headway.circuits.text import said_of_mlps
from headway.report.page.html import escape, number, table, whole


def mlps(found: MLPs | None) -> str:
    """What replacing each MLP costs, and which have to stay; nothing if there are none."""
    if found is None:
        return ""
    rows = [
        (
            str(mlp.layer),
            *map(number, (mlp.mean, mlp.mean_free, mlp.resampled, mlp.resampled_free)),
            "yes" if mlp.layer in found.needed else "no",
        )
        for mlp in found.each
    ]
    said = said_of_mlps(found)
    under = (
        f"{escape(said[:1].upper() + said[1:])}. Losses with one MLP's output put to what the"
        " model's own writes there on average, or in another sequence; with every head replaced,"
        f" and with every head as it is (free). Over {whole(found.sequences)} sequences."
    )
    mean, other = "at its mean", "from another sequence"
    head = ("layer", mean, f"{mean}, free", other, f"{other}, free", "needed")
    return (
        "<h3>Which MLPs does it need?</h3>"
        + table(head, rows, "losses with one MLP replaced")
        + f'<p class="under">{under}</p>'
    )
