"""Every method of the arena. One is a function from a subject and a budget of passes to an answer.

Edges are attention paths here: a head along a relation. To cut one is to set the head's attention
to zero there. Methods of the literature are written after their papers, for such edges.
"""

import random
from collections.abc import Callable
from dataclasses import fields

import torch
from torch import Tensor

from headway.circuits import (
    DRAFT,
    THRESHOLD,
    AttentionPath,
    Bench,
    Paths,
    Sample,
    discover,
    necessity,
    relation_attention,
)
from headway.tasks import Task
from headway.training import held_out
from headway_experiments.arena.acdc import acdc, acdc_corrupted
from headway_experiments.arena.attribution import (
    eap,
    eap_corrupted,
    eap_ig,
    eap_ig_corrupted,
    gim,
    peap,
)
from headway_experiments.arena.subject import Answer, Subject

Method = Callable[[Subject, int], Answer]
"""Given a subject and how many passes may be made; only EAP-IG and ACDC, which can do with fewer,
heed that."""

SEEN = 0.05
"""The share of a table's row from which on a key counts as looked at."""


def headway(subject: Subject, budget: int) -> Answer:
    """The search of this package as `discover` makes it. In the circuit or not, then by necessity.

    How necessary a path is, is measured on as many other sequences. The search takes the passes
    that it takes.
    """
    model, task, batch = subject.model, subject.task, subject.batch
    count = len(batch.inputs)
    bench = Bench(model, task, batch, ends=(DRAFT,))
    sample = Sample(bench)
    sample.require_learnt(THRESHOLD)
    circuit = sample.search(THRESHOLD)
    fresh = Bench(model, task, held_out(task, count, 0, "cpu", "certificate"))
    paths = dict.fromkeys(subject.paths, 0.0)
    for one in necessity(fresh, circuit, sample.attention):
        if one.path in paths:
            paths[one.path] = 1 + one.worst / (1 + one.worst)
    passes = bench.forwards + fresh.forwards
    return Answer(subject.best_of(paths), paths, frozenset(circuit.paths), passes)


def blind(subject: Subject, budget: int) -> Answer:
    """`headway.discover`, told no relation of the task but its roles.

    Its paths get the names of the relations that share most pairs of positions with them (F1). Of a
    head that is read by a table, pairs are those with a share of `SEEN` or more.
    """
    cls = type(subject.task)
    own = {"relations": Task.relations, "__module__": cls.__module__}
    untold = type(cls.__name__, (cls,), own, registered=False)
    task = untold(**{one.name: getattr(subject.task, one.name) for one in fields(cls)})
    found = discover(subject.model, task, seed=0, trials=False, workers=1)
    circuit = found.circuit
    patterns = Bench(subject.model, task, subject.batch).patterns
    pairs, chosen = torch.zeros_like(subject.pairs([])), set[AttentionPath]()
    for layer, head in circuit.useful_heads:
        mechanism = circuit.mechanisms[layer, head]
        names = mechanism.relations if isinstance(mechanism, Paths) else ()
        looks = [patterns.alone(name) > 0 for name in names]
        for look in looks or [patterns.dense(mechanism, (layer, head)) >= SEEN]:
            pairs[:, layer, head] += look
            alike = (look * subject.cells).sum((1, 2, 3)) / (look + subject.cells).sum((1, 2, 3))
            nearest = list(subject.relations)[int(alike.argmax())]
            chosen.add(AttentionPath.of(layer, head, nearest))
    heads = {head: float(head in circuit.useful_heads) for head in subject.heads}
    paths = {path: float(path in chosen) for path in subject.paths}
    return Answer(heads, paths, frozenset(chosen), found.forwards, pairs.clamp(max=1))


def head_ablation(subject: Subject, budget: int) -> Answer:
    """Every head ablated alone. A path counts by its head's loss and its share of attention."""
    shares, own = attention(subject, budget).paths, subject.loss().item()
    heads = {}
    for layer, head in subject.heads:
        keep = torch.ones(subject.model.n_layers, subject.model.n_heads, 1, 1, 1)
        keep[layer, head] = 0
        with torch.no_grad():
            heads[layer, head] = subject.loss(lambda at, keep=keep: keep[at]).item() - own
    return Answer(heads, {path: heads[path.at] * share for path, share in shares.items()})


def naming(subject: Subject, budget: int) -> Answer:
    """No search: every head that ablation misses, by the one relation that it attends most like.

    A head is missed if the model's loss without it is not below the threshold.
    """
    heads, own = head_ablation(subject, budget).heads, subject.loss().item()
    like = relation_attention(subject.model, subject.task, subject.batch, shared=True)
    names = [max(subject.relations, key=lambda name: like[name][at][h]) for at, h in heads]
    nearest = dict(zip(heads, names, strict=True))
    paths = {p: heads[p.at] * (p.relation == nearest[p.at]) for p in subject.paths}
    missed = [head for head, rise in heads.items() if own + rise >= THRESHOLD]
    return Answer(heads, paths, frozenset(AttentionPath.of(*h, nearest[h]) for h in missed))


def attention(subject: Subject, budget: int) -> Answer:
    """Attention alone: along a relation where it applies; of a head, how far it is from even."""
    patterns = subject.attention()
    rows = subject.cells.amax(-1).sum((1, 2)).clamp(min=1).tolist()
    count = dict(zip(subject.relations, rows, strict=True))
    paths = {path: one / count[path.relation] for path, one in subject.along(patterns).items()}
    visible = subject.bench.patterns.visible.float()
    even = (visible / visible.sum(-1, keepdim=True))[:, None]
    apart = (patterns - even).abs().sum(-1).mean((0, 3)).flatten().tolist()
    return Answer(dict(zip(subject.heads, apart, strict=True)), paths)


def chance(subject: Subject, budget: int) -> Answer:
    """Random scores: what no method may be worse than."""
    rng = random.Random(subject.known.name)
    paths = {path: rng.random() for path in subject.paths}
    return Answer({head: rng.random() for head in subject.heads}, paths)


METHODS: dict[str, Method] = {
    "headway": headway,
    "blind": blind,
    "EAP": eap,
    "EAP corrupted": eap_corrupted,
    "EAP-IG": eap_ig,
    "EAP-IG corrupted": eap_ig_corrupted,
    "GIM": gim,
    "PEAP": peap,
    "ACDC": acdc,
    "ACDC corrupted": acdc_corrupted,
    "head ablation": head_ablation,
    "naming": naming,
    "attention": attention,
    "random": chance,
}
"""All methods by name. To add one, write a function as above and enter it here."""
