"""Heads: the mechanism of each, what finds its key (QK), and what it moves (OV)."""

import torch
from jaxtyping import Float
from torch import Tensor

from headway.models import Transformer
from headway.replace.heads import Head, name_of
from headway.report import schema
from headway.report.curves import short
from headway.report.findings import Findings
from headway.report.labels import typeset
from headway.text import rounded

SEQUENCES = 128
"""Held-out sequences over which queries, keys and values are parted into place and symbol."""

PARTS = ("place", "symbol")
QK = [f"QK: {query}, {key}" for query in PARTS for key in PARTS]


def heads(findings: Findings) -> schema.Table | None:
    """The mechanism of every head; None if that is not known."""
    if (found := findings.discovery) is None:
        return None
    parts = parted(findings)
    rows, shares = list[list[schema.Cell]](), list[list[float]]()
    for head, mechanism in sorted(found.circuit.mechanisms.items(), key=lambda one: one[0]):
        row = [name_of(head), typeset(str(mechanism)), found.evidence.alone.get(head)]
        scores, moved = parts.get(head, ([None] * len(QK), None))
        sizes = [max(0.0, score or 0.0) for score in scores]
        tints = [size / max(1e-9, sum(sizes)) for size in sizes]
        rows.append([*row, *scores, moved] if parts else row)
        shares.append([0, 0, 0, *tints, moved or 0] if parts else [])
    note = (
        "Loss so: of the model with this head alone replaced by what it does; as it is:"
        f" {rounded(found.intact_loss)}."
    )
    if parts:
        note += (
            " QK: by how much a path's key scores above the other keys, parted by what query and"
            " key have from their place (their mean over sequences) and from their symbol (the"
            " rest). OV: which share of what the head moves, squared, is the symbol."
        )
    head = ["head", "what it does", "loss so", *([*QK, "OV: symbol"] if parts else [])]
    return schema.Table("", head, rows, note=note, shares=shares if parts else [])


@torch.no_grad()
def parted(findings: Findings) -> dict[Head, tuple[list[float], float]]:
    """For every head with paths the four parts of its paths' scores, as in `QK`, and the symbol's
    share of what it moves along them; empty for models of others, or without a checkpoint.

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
    length, edges = findings.task.length, findings.task.edges(batch, not findings.causal)
    visible = torch.ones(length, length, dtype=torch.bool, device=batch.inputs.device)
    visible = visible.tril() if findings.causal else visible
    found = {}
    for layer, number in {path.at: None for path in findings.paths}:
        q, k, v = (_parts(cache[what, layer][:, :, number].float()) for what in "qkv")
        relations = [path.relation for path in findings.paths if path.at == (layer, number)]
        there = torch.stack([edges[one].mask(length) for one in relations]).any(0) & visible
        rows = there.any(-1, keepdim=True) & visible
        terms = [(one @ other.mT) * q[0].shape[-1] ** -0.5 for one in q for other in k]
        scores = [round(float(_mean(t, there) - _mean(t, rows & ~there)), 3) + 0.0 for t in terms]
        out = model.layers[layer].attn.out.weight.view(-1, model.n_heads, q[0].shape[-1])
        read = there.any(1)[..., None]
        place, symbol = (((one @ out[:, number].T) * read).square().sum() for one in v)
        found[layer, number] = scores, short(float(symbol / (place + symbol)))
    return found


def _parts(values: Float[Tensor, "batch position d_head"]) -> list[Tensor]:
    """The part that is due to the place, and the rest."""
    place = values.mean(0, keepdim=True).expand_as(values)
    return [place, values - place]


def _mean(values: Tensor, where: Tensor) -> Tensor:
    """The mean over rows of the mean in each row, where there is something."""
    counts = where.sum(-1)
    rows = (values * where).sum(-1) / counts.clamp(min=1)
    return rows[counts > 0].mean().nan_to_num()
