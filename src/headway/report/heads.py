"""Heads: the mechanism of each, what finds its key (QK), and what it moves (OV)."""

from collections.abc import Sequence
from itertools import product

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headway.models import Transformer
from headway.replace.heads import Head, name_of
from headway.report.curves import short
from headway.report.findings import Findings
from headway.report.labels import typeset
from headway.report.schema import Cell, Table
from headway.tasks import Batch
from headway.text import rounded

SEQUENCES = 128
"""Held-out sequences over which queries, keys and values are parted into place and
symbol.
"""

PARTS = ("place", "symbol")
Parts = list[Float[Tensor, "batch position d_head"]]
"""The parts of queries, keys or values from their place and from their symbol, as in
`PARTS`.
"""

QK = [f"QK: {query}, {key}" for query in PARTS for key in PARTS]

LOSS_NOTE = (
    "Loss so: of the model with this head alone replaced by what it does; as it is:"
)
PARTS_NOTE = (
    "QK: by how much a path's key scores above the other keys, parted by what "
    "query and key have"
    " from their place (their mean over sequences) and from their symbol (the "
    "rest). OV: which"
    " share of what the head moves, squared, is the symbol."
)


def heads(findings: Findings) -> Table | None:
    """The mechanism of every head; None if that is not known."""
    discovery = findings.discovery
    if discovery is None:
        return None
    columns = ["head", "what it does", "loss so"]
    note = f"{LOSS_NOTE} {rounded(discovery.intact_loss)}."
    parts = parted(findings)
    if parts:
        columns += [*QK, "OV: symbol"]
        note += f" {PARTS_NOTE}"
    rows = list[list[Cell]]()
    shares = list[list[float]]()
    for head, mechanism in sorted(discovery.circuit.mechanisms.items()):
        row = [
            name_of(head),
            typeset(str(mechanism)),
            discovery.evidence.alone.get(head),
        ]
        if parts:
            scores, moved = parts.get(head, ([None] * len(QK), None))
            row += [*scores, moved]
            shares.append([0, 0, 0, *_tints(scores), moved or 0])
        rows.append(row)
    return Table("", columns, rows, note=note, shares=shares)


def _tints(scores: Sequence[float | None]) -> list[float]:
    """The shares of positive scores in their sum."""
    sizes = [max(0.0, score or 0.0) for score in scores]
    total = max(1e-9, sum(sizes))
    return [size / total for size in sizes]


@torch.no_grad()
def parted(findings: Findings) -> dict[Head, tuple[list[float], float]]:
    """The four parts of the scores of every head's paths, as in `QK`, and the symbol's
    share of what the head moves along them; empty for models of others, or without a
    checkpoint.

    Queries, keys and values are linear in what is read, so their parts add up to them.
    """
    if findings.no_maps is not None or not findings.paths:
        return {}
    model = findings.run.model(findings.checkpoints[-1])
    if not isinstance(model, Transformer):
        return {}
    batch = findings.held_out(SEQUENCES)
    wanted = ("hook_q", "hook_k", "hook_v")
    _, cache = model.run_with_cache(batch.inputs, lambda name: name.endswith(wanted))
    length = findings.task.length
    visible = torch.ones(length, length, dtype=torch.bool, device=batch.inputs.device)
    if findings.causal:
        visible = visible.tril()
    parts = {}
    for (layer, number), along in _along_paths(findings, batch).items():
        along = along & visible
        q, k, v = (_parts(cache[what, layer][:, :, number].float()) for what in "qkv")
        out = model.layers[layer].attn.out.weight.view(
            -1, model.n_heads, v[0].shape[-1]
        )
        moved = _share_of_symbol(v, out[:, number], along)
        parts[layer, number] = _score_parts(q, k, along, visible), moved
    return parts


def _along_paths(findings: Findings, batch: Batch) -> dict[Head, Tensor]:
    """For every head with paths where these lead, in every sequence."""
    edges = findings.task.edges(batch, not findings.causal)
    along: dict[Head, Tensor] = {}
    for path in findings.paths:
        mask = edges[path.relation].mask(findings.task.length)
        if path.at in along:
            mask = mask | along[path.at]
        along[path.at] = mask
    return along


def _score_parts(
    queries: Parts,
    keys: Parts,
    along: Bool[Tensor, "..."],
    visible: Bool[Tensor, "..."],
) -> list[float]:
    """By how much the keys that paths lead to score above the others, by `QK`."""
    rows = along.any(-1, keepdim=True) & visible
    scale = queries[0].shape[-1] ** -0.5
    scores = list[float]()
    for query, key in product(queries, keys):
        term = (query @ key.mT) * scale
        above = _mean(term, along) - _mean(term, rows & ~along)
        scores.append(round(float(above), 3) + 0.0)  # no -0.0
    return scores


def _share_of_symbol(
    values: Parts, out: Float[Tensor, "d_model d_head"], along: Bool[Tensor, "..."]
) -> float:
    """The symbol's share of what is moved from the keys that paths lead to."""
    is_read = along.any(1)[..., None]
    place, symbol = (((part @ out.T) * is_read).square().sum() for part in values)
    return short(float(symbol / (place + symbol)))


def _parts(values: Float[Tensor, "batch position d_head"]) -> Parts:
    """The part that is due to the place, and the rest."""
    place = values.mean(0, keepdim=True).expand_as(values)
    return [place, values - place]


def _mean(values: Tensor, where: Tensor) -> Tensor:
    """The mean over rows of the mean in each row, where there is something."""
    counts = where.sum(-1)
    rows = (values * where).sum(-1) / counts.clamp(min=1)
    return rows[counts > 0].mean().nan_to_num()
