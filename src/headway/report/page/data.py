"""What the page's script works on: the run, step by step, as one JSON object."""

import base64
import gzip
import json
import math
from bisect import bisect_right
from typing import Any

import torch

from headway.circuits.agreement import lost_without
from headway.circuits.emergence import MATTERS
from headway.circuits.mechanism import name_of
from headway.circuits.roles import places, position_labels
from headway.circuits.strays import STRONG
from headway.report.findings import Findings
from headway.report.history import History, thinned
from headway.report.page.html import path_key
from headway.report.page.looks import path_looks, symbol_colours
from headway.report.page.maps import cost
from headway.tasks import Edges

MOST_STEPS = 1000
"""The most checkpoints at which a run without attention is shown; of more, evenly many."""


def page_data(findings: Findings, seen: History | None) -> dict[str, Any]:
    """All that changes as time moves, at every checkpoint that the page shows.

    Args:
        findings: of the run.
        seen: attention through training; None if the run has no checkpoint.

    Returns: `steps`; for each of them the evaluation that was last made (`evaluations`: step,
        losses); for each path its attention and the loss of the model without it (`paths`); the
        heads whose attention is followed, and that attention (`between roles`, a byte per value in
        hundredths, by step, head, query, key, as base64; the example's likewise, packed by gzip).
    """
    steps = thinned(findings.checkpoints, MOST_STEPS) if seen is None else seen.steps
    return {
        "steps": steps,
        "evaluations": _evaluations(findings, steps),
        "paths": _paths(findings, steps),
        "threshold": None if findings.discovery is None else findings.discovery.threshold,
        "circuitLoss": None if findings.discovery is None else findings.discovery.replaced_loss,
        **({} if seen is None else _attention(findings, seen)),
    }


def as_script(data: dict[str, Any]) -> str:
    """The data as JSON that can stand in a `<script>`."""
    text = json.dumps(_finite(data), separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.replace("<", "\\u003c")


def _finite(data: Any) -> Any:
    """The data with None in the place of numbers that are not finite, which a page could not
    read."""
    if isinstance(data, float):
        return data if math.isfinite(data) else None
    if isinstance(data, dict):
        return {key: _finite(value) for key, value in data.items()}
    return [_finite(value) for value in data] if isinstance(data, list | tuple) else data


def _evaluations(findings: Findings, steps: list[int]) -> list[dict[str, Any] | None]:
    at = [line["step"] for line in findings.metrics]
    found: list[dict[str, Any] | None] = []
    for step in steps:
        number = bisect_right(at, step)
        if number == 0:
            found.append(None)
            continue
        line = findings.metrics[number - 1]
        names = ("step", "val_loss", "train_loss", "partial")
        found.append({name: line[name] for name in names})
    return found


def _paths(findings: Findings, steps: list[int]) -> list[dict[str, Any]]:
    discovery, timeline = findings.discovery, findings.timeline
    if discovery is None:
        return []
    task, batch = findings.task, findings.example
    looks = path_looks(task, discovery.circuit.paths)
    necessity = {n.path: n for n in discovery.evidence.necessity}
    histories = {} if timeline is None else {h.path: h for h in timeline.paths}
    when = {} if timeline is None else {step: i for i, step in enumerate(timeline.steps)}
    index = [when.get(step) for step in steps]
    standing = [place.role for place in places(task)]
    relations = task.edges(batch)
    lost = lost_without(task, discovery.circuit.paths, findings.causal) or {}
    data = []
    for path in discovery.circuit.paths:
        query, key = path.relation.ends or ("", "")
        between = query in standing and key in standing
        entry: dict[str, Any] = {
            "key": path_key(path),
            "name": name_of(path.at),
            "relation": path.relation,
            "head": findings.followed_heads.index(path.at),
            "query": standing.index(query) if between else None,
            "attended": standing.index(key) if between else None,
            "cells": _cells(relations.get(path.relation), findings.shown),
            "colour": looks[path].colour,
        }
        if (n := necessity.get(path)) is not None:
            entry |= {"cut": n.loss, "cutFree": n.free}
        if (rest := lost.get(path)) is not None:
            entry |= {"lost": [path_key(other) for other in rest.paths], "answers": rest.answers}
        if (h := histories.get(path)) is not None:
            entry["born"] = h.born
            entry["attention"] = [None if i is None else h.attention[i] for i in index]
            entry["without"] = [None if i is None else h.loss_without[i] for i in index]
        data.append(entry)
    if timeline is not None:
        for entry in data:
            entry["model"] = [None if i is None else timeline.loss[i] for i in index]
    return data


def _cells(edges: Edges | None, shown: range) -> list[tuple[int, int]]:
    """Where a relation leads in the example: queries and keys, as far as they are shown."""
    if edges is None:
        return []
    queries = edges.queries[0, :, None].expand_as(edges.keys[0])
    cells = torch.stack([queries, edges.keys[0]], dim=-1)[edges.there[0]].tolist()
    return [(q - shown.start, k - shown.start) for q, k in cells if q in shown and k in shown]


def _strays(findings: Findings, standing: list[str]) -> list[dict[str, Any]]:
    """What is known of strong attention between roles that is no path; see `maps`."""
    return [
        {
            "head": findings.followed_heads.index(stray.path.at),
            "query": standing.index(ends[0]),
            "attended": standing.index(ends[1]),
            "needed": stray.rise >= MATTERS,
            "cost": cost(stray),
        }
        for stray in findings.strays
        if (ends := stray.path.relation.ends) is not None
        and {*ends} <= {*standing}
        and stray.path.at in findings.followed_heads
    ]


def _attention(findings: Findings, seen: History) -> dict[str, Any]:
    task, batch, shown = findings.task, findings.example, findings.shown
    standing, colours = places(task), symbol_colours(task)
    useful = set(findings.useful_heads)
    mechanisms = findings.discovery.circuit.mechanisms if findings.discovery else {}
    owner: dict[int, tuple[int, int]] = {}
    for number, place in enumerate(standing):
        row = batch.roles[0, task.roles.index(place.role)].tolist()
        owner |= {position: (number, chain) for chain, position in enumerate(row)}
    packed = gzip.compress(seen.example.numpy().tobytes(), 6, mtime=0)
    return {
        "roles": [place.role for place in standing],
        "symbols": [place.symbol for place in standing],
        "colours": [colours.get(place.symbol, "") for place in standing],
        "heads": [
            {
                "layer": layer,
                "head": head,
                "useful": findings.discovery is None or (layer, head) in useful,
                "does": str(mechanisms.get((layer, head), "")),
            }
            for layer, head in findings.followed_heads
        ],
        "strong": STRONG,
        "strays": _strays(findings, [place.role for place in standing]),
        "betweenRoles": base64.b64encode(seen.roles.numpy().tobytes()).decode(),
        "example": {
            "kept": seen.example_steps,
            "first": shown.start,
            "labels": position_labels(task, batch)[shown.start :],
            "owners": [owner.get(position, (None, None)) for position in shown],
            "chains": batch.roles.shape[2],
            "packed": base64.b64encode(packed).decode(),
        },
    }
